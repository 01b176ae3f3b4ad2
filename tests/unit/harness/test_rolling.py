"""A rolling restart: one server after the other, each ready before the next is touched."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import nemesis.processes  # noqa: F401  # registers its faults
from evidence.collect.logs import LogEvent
from harness.steps.faults import Roll, roll
from nemesis.active import Active
from protocol.errors import FaultError, NotReadyError
from tests.unit.nemesis.fake_cluster import FakeCluster


@pytest.fixture
def cluster() -> FakeCluster:
    return FakeCluster()


@pytest.fixture
def lines() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def stage(cluster: Any, lines: list[dict[str, Any]]) -> Any:
    faults = Active(cluster, lambda line: lines.append(dict(line)))
    cluster.bookies = {name: cluster.process(name) for name in ("b1", "b2", "b3")}
    return SimpleNamespace(cluster=cluster, faults=faults, assert_alive=lambda: None, boot_log=lambda _: [])


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_each_is_ready_before_the_next_one_ends(stage: Any, cluster: FakeCluster, how: str) -> None:
    done = roll(stage, Roll(targets=("b2", "b1"), how=how))
    assert cluster.orders.given == [
        *(f"{how} b2", "start b2", "wait_ready b2"),
        *(f"{how} b1", "start b1", "wait_ready b1"),
    ]
    assert done.text == f"roll by {how}: b2 (boot 2), b1 (boot 2)"


def test_each_has_ended_its_preboot_check_before_the_next_one_ends(stage: Any, cluster: FakeCluster) -> None:
    looks: list[list[str]] = []

    def boot_log(name: str) -> list[LogEvent]:
        """The check of each boot has begun, and has ended when the log is looked at again."""
        looks.append([name, cluster.orders.given[-1]])
        events = ("preboot_start", "preboot_end")[: len(looks) % 2 or 2]
        return [LogEvent(name, 2, 0, 1, event) for event in events]

    stage.boot_log = boot_log
    roll(stage, Roll(targets=("b2", "b1"), how="kill"))
    assert looks == [["b2", "wait_ready b2"]] * 2 + [["b1", "wait_ready b1"]] * 2


def test_an_upgrade_gives_each_its_new_release_and_settings(stage: Any, cluster: FakeCluster) -> None:
    roll(stage, Roll(targets=("b1", "b2"), version="4.17.3", conf={"flushInterval": 100}))
    for name in ("b1", "b2"):
        assert cluster.process(name).settings == ({"flushInterval": "100"}, "4.17.3")
    assert cluster.process("b3").boot == 1


def test_each_end_is_a_fault_on_record(stage: Any, lines: list[dict[str, Any]]) -> None:
    roll(stage, Roll(targets=("b1", "b2")))
    assert [(line["kind"], line["target"]) for line in lines if line["phase"] == "healed"] == [
        ("stop", "b1"),
        ("stop", "b2"),
    ]


def test_one_that_does_not_come_back_ends_it(stage: Any, cluster: FakeCluster) -> None:
    cluster.orders.fail["wait_ready b1"] = NotReadyError("stopped at listening")
    with pytest.raises(FaultError, match="stopped at listening"):
        roll(stage, Roll(targets=("b1", "b2")))
    assert cluster.process("b2").boot == 1
