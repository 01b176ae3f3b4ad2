"""Starts wait for the preboot check of the boot; a rolling restart has each server ready before the next."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from evidence.collect.logs import LogEvent
from harness.conditions.answers import repairing
from harness.steps.faults import Roll, roll, start
from nemesis.nemesis import Nemesis
from nemesis.registry import FAULTS
from plans.grammar.steps import Start
from protocol.errors import FaultError, NotReadyError
from tests.unit.nemesis.fake_cluster import FakeCluster


@pytest.fixture
def context(cluster: Any, nemesis: Nemesis) -> Any:
    cluster.bookies = {name: cluster.process(name) for name in ("b1", "b2", "b3")}
    return SimpleNamespace(cluster=cluster, nemesis=nemesis, assert_alive=lambda: None, boot_log=lambda _: [])


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_each_is_ready_before_the_next_one_ends(context: Any, cluster: FakeCluster, how: str) -> None:
    done = roll(context, Roll(targets=("b2", "b1"), how=how))
    assert cluster.orders.given == [
        *(f"{how} b2", "start b2", "wait_ready b2"),
        *(f"{how} b1", "start b1", "wait_ready b1"),
    ]
    assert done.text == f"roll by {how}: b2 (boot 2), b1 (boot 2)"


def test_each_has_ended_its_preboot_check_before_the_next_one_ends(
    context: Any, cluster: FakeCluster
) -> None:
    looks: list[list[str]] = []

    def boot_log(name: str) -> list[LogEvent]:
        """The check of each boot has begun, and has ended when the log is looked at again."""
        looks.append([name, cluster.orders.given[-1]])
        events = ("preboot_start", "preboot_end")[: len(looks) % 2 or 2]
        return [LogEvent(name, 2, 0, 1, event) for event in events]

    context.boot_log = boot_log
    roll(context, Roll(targets=("b2", "b1"), how="kill"))
    assert looks == [["b2", "wait_ready b2"]] * 2 + [["b1", "wait_ready b1"]] * 2


def test_an_upgrade_gives_each_its_new_release_and_settings(context: Any, cluster: FakeCluster) -> None:
    roll(context, Roll(targets=("b1", "b2"), version="4.17.3", conf={"flushInterval": 100}))
    for name in ("b1", "b2"):
        assert cluster.process(name).settings == ({"flushInterval": "100"}, "4.17.3")
    assert cluster.process("b3").boot == 1


def test_each_end_is_a_fault_on_record(context: Any, lines: list[dict[str, Any]]) -> None:
    roll(context, Roll(targets=("b1", "b2")))
    healed = [(line["kind"], line["target"]) for line in lines if line["phase"] == "healed"]
    assert healed == [("stop", "b1"), ("stop", "b2")]


def test_one_that_does_not_come_back_ends_it(context: Any, cluster: FakeCluster) -> None:
    cluster.orders.fail["wait_ready b1"] = NotReadyError("stopped at listening")
    with pytest.raises(FaultError, match="stopped at listening"):
        roll(context, Roll(targets=("b1", "b2")))
    assert cluster.process("b2").boot == 1


BEGUN, ENDED, FAILED = "preboot_start", "preboot_end", "preboot_error"
INIT, CLEARED = "full_check_init", "clear_integcheck_flag"


class Written:
    """A log that is looked at again and again, and tells an event more each time."""

    def __init__(self, *events: str, at_first: int = 0) -> None:
        self._events = [LogEvent("b1", 1, 0, 1, event) for event in events]
        self.looks = at_first

    def __call__(self, name: str) -> list[LogEvent]:
        assert name == "b1"
        self.looks += 1
        return self._events[: self.looks]


def started(log: Written, **step: Any) -> Written:
    """``log`` after b1 was killed and started upon it."""
    cluster: Any = FakeCluster()
    cluster.bookies = {"b1": cluster.process("b1")}
    context: Any = SimpleNamespace(
        cluster=cluster, nemesis=Nemesis(cluster, lambda line: None), assert_alive=lambda: None, boot_log=log
    )
    context.nemesis.inject(FAULTS["kill"](target="b1"))
    start(context, Start(target="b1", **step))
    return log


@pytest.mark.parametrize("end", [ENDED, FAILED])
def test_it_waits_until_the_check_has_ended(end: str) -> None:
    assert started(Written(BEGUN, "mark_limbo", end, at_first=1)).looks == 3


def test_a_boot_without_a_check_is_not_waited_for() -> None:
    assert started(Written("dirty_created", "component_started", BEGUN)).looks == 1


@pytest.mark.parametrize("step", [{"checked": False}, {"wait": False}])
def test_a_plan_may_go_on_at_once(step: dict[str, bool]) -> None:
    assert started(Written(BEGUN), **step).looks == 0


def test_a_check_that_does_not_end_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(NotReadyError, match="b1's preboot check") as result:
        started(Written(BEGUN), timeout_s=0.05)
    assert "checked: false" in result.value.remedy


@pytest.mark.parametrize(
    ("events", "busy"),
    [((), False), ((BEGUN,), True), ((BEGUN, ENDED, INIT), True), ((BEGUN, INIT, CLEARED), False)],
)
def test_a_bookie_repairs_until_its_flag_is_cleared(events: tuple[str, ...], busy: bool) -> None:
    context: Any = SimpleNamespace(boot_log=Written(*events, at_first=len(events)))
    assert repairing(context, "b1") is busy
