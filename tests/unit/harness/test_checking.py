"""A start waits for the preboot check of the boot, which the bookie itself does not await."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import nemesis.processes  # noqa: F401  # registers its faults
from evidence.collect.logs import LogEvent
from harness.conditions.answers import repairing
from harness.steps.faults import start
from nemesis.active import Active
from nemesis.registry import FAULTS
from plans.steps import Start
from protocol.errors import NotReadyError
from tests.unit.nemesis.fake_cluster import FakeCluster

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
    stage: Any = SimpleNamespace(
        cluster=cluster, faults=Active(cluster, lambda line: None), assert_alive=lambda: None, boot_log=log
    )
    stage.faults.inject(FAULTS["kill"](target="b1"))
    start(stage, Start(target="b1", **step))
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
    with pytest.raises(NotReadyError, match="b1's preboot check") as told:
        started(Written(BEGUN), timeout_s=0.05)
    assert "checked: false" in told.value.remedy


@pytest.mark.parametrize(
    ("events", "busy"),
    [((), False), ((BEGUN,), True), ((BEGUN, ENDED, INIT), True), ((BEGUN, INIT, CLEARED), False)],
)
def test_a_bookie_repairs_until_its_flag_is_cleared(events: tuple[str, ...], busy: bool) -> None:
    stage: Any = SimpleNamespace(boot_log=Written(*events, at_first=len(events)))
    assert repairing(stage, "b1") is busy
