"""A start waits for the preboot check of the boot, which the bookie itself does not await."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import nemesis.processes  # noqa: F401  # registers its faults
from harness.acts.faults import start
from harness.checking import repairing
from nemesis.active import Active
from nemesis.registry import FAULTS
from plans.steps import Start
from protocol.errors import NotReadyError
from tests.unit.nemesis.fake_cluster import FakeCluster

BEGUN, ENDED, FAILED = ("event=PREBOOT_START", "event=PREBOOT_END", "event=PREBOOT_ERROR")
INIT, CLEARED = ("event=FULL_CHECK_INIT", "event=CLEAR_INTEGCHECK_FLAG")


class Written:
    """A log that is looked at again and again, and has a line more each time."""

    def __init__(self, *lines: str, at_first: int = 0) -> None:
        self._lines = lines
        self.looks = at_first

    def read_bytes(self) -> bytes:
        self.looks += 1
        return "\n".join(self._lines[: self.looks]).encode()


def started(log: Written, **step: Any) -> Written:
    """``log`` after b1 was killed and started upon it."""
    cluster: Any = FakeCluster()
    cluster.bookies = {"b1": cluster.process("b1")}
    cluster.log = lambda name: log
    stage: Any = SimpleNamespace(
        cluster=cluster, faults=Active(cluster, lambda line: None), assert_alive=lambda: None
    )
    stage.faults.inject("kill", FAULTS["kill"].params(target="b1"))
    start(stage, Start(target="b1", **step))
    return log


@pytest.mark.parametrize("end", [ENDED, FAILED])
def test_it_waits_until_the_check_has_ended(end: str) -> None:
    assert started(Written(BEGUN, "marks", end, at_first=1)).looks == 3


def test_a_boot_without_a_check_is_not_waited_for() -> None:
    assert started(Written("listens", "registers", BEGUN)).looks == 1


@pytest.mark.parametrize("step", [{"checked": False}, {"wait": False}])
def test_a_plan_may_go_on_at_once(step: dict[str, bool]) -> None:
    assert started(Written(BEGUN), **step).looks == 0


def test_a_check_that_does_not_end_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(NotReadyError, match="b1's preboot check") as told:
        started(Written(BEGUN), timeout_s=0.05)
    assert "checked: false" in told.value.remedy


@pytest.mark.parametrize(
    ("lines", "busy"),
    [((), False), ((BEGUN,), True), ((BEGUN, ENDED, INIT), True), ((BEGUN, INIT, CLEARED), False)],
)
def test_a_bookie_repairs_until_its_flag_is_cleared(lines: tuple[str, ...], busy: bool) -> None:
    log = Written(*lines, at_first=len(lines))
    stage: Any = SimpleNamespace(cluster=SimpleNamespace(log=lambda name: log))
    assert repairing(stage, "b1") is busy
