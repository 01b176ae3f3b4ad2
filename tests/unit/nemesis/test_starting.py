"""Starting as a plan expects it (ready, refused, either, not waited for), and after a pause."""

from __future__ import annotations

import math
from typing import Any

import pytest

import nemesis.processes  # noqa: F401  # registers its faults
from cluster.interface import ProcessState
from nemesis.nemesis import Nemesis
from nemesis.registry import FAULTS, FaultContext
from protocol.errors import ContradictedError, FaultError, ServerError, UnplannedDeathError
from tests.nemesis_contract.fault_stories import Lines, inject, phases, proof, start


@pytest.fixture
def b1(cluster: Any, nemesis: Nemesis) -> Any:
    inject(nemesis, "kill", target="b1")
    return cluster.process("b1")


@pytest.mark.parametrize("expect", ["refuses", "any"])
def test_a_boot_that_was_to_refuse_leaves_the_kill_in_force(
    b1: Any, nemesis: Nemesis, lines: Lines, expect: str
) -> None:
    b1.refusing = True
    refusal = start(nemesis, target="b1", expect=expect)
    assert str(refusal) == "b1 (boot 2) refused with exit code 2: no cookie"
    assert b1.allowed == [2]
    assert phases(lines) == ["planned", "injected", "confirmed", "failed"]
    assert "refused with exit code 2" in proof(lines, "failed")["healing"]
    b1.refusing = False
    assert start(nemesis, target="b1") is None
    assert phases(lines)[-1] == "healed"


@pytest.mark.parametrize("expect", ["refuses", "any"])
def test_a_boot_that_something_else_killed_has_not_refused(b1: Any, nemesis: Nemesis, expect: str) -> None:
    b1.refusing, b1.refuses_by = True, (None, 9)
    with pytest.raises(FaultError, match="b1 ended on its own"):
        start(nemesis, target="b1", expect=expect)


def test_a_boot_that_gets_ready_against_the_plan_contradicts_it_and_heals_the_kill(
    b1: Any, nemesis: Nemesis, lines: Lines
) -> None:
    with pytest.raises(
        ContradictedError, match="b1 became ready in boot 2, but the plan expects it to refuse"
    ):
        start(nemesis, target="b1", expect="refuses")
    assert phases(lines)[-1] == "healed"


def test_a_boot_that_may_do_either_heals_when_it_is_ready(b1: Any, nemesis: Nemesis, lines: Lines) -> None:
    assert start(nemesis, target="b1", expect="any") is None
    assert phases(lines)[-1] == "healed"


def test_nobody_may_refuse_unasked(b1: Any, nemesis: Nemesis) -> None:
    b1.refusing = True
    with pytest.raises(FaultError, match="ended on its own"):
        start(nemesis, target="b1")
    assert b1.allowed == []


def test_a_refusal_is_told_where_nothing_was_to_be_healed(
    cluster: Any, nemesis: Nemesis, lines: Lines
) -> None:
    b2 = cluster.process("b2")
    b2.kill()
    b2.refusing = True
    assert start(nemesis, target="b2", expect="refuses") is not None
    assert lines == []
    with pytest.raises(ServerError):
        start(nemesis, target="b2")


def test_a_start_without_waiting_asks_for_no_readiness(
    cluster: Any, b1: Any, nemesis: Nemesis, lines: Lines
) -> None:
    assert start(nemesis, target="b1", wait=False) is None
    assert "wait_ready b1" not in cluster.orders.given
    assert (b1.state, proof(lines, "healed")["ready"]) == (ProcessState.RUNNING, False)
    inject(nemesis, "kill", target="b1")  # in the middle of its boot
    assert phases(lines, 2) == ["planned", "injected", "confirmed"]


@pytest.mark.parametrize(("wait", "may_s"), [(True, math.inf), (False, 7)])
def test_a_boot_that_is_not_waited_for_may_refuse_for_the_time_of_its_start(
    b1: Any, nemesis: Nemesis, wait: bool, may_s: float
) -> None:
    start(nemesis, target="b1", expect="any", wait=wait, timeout_s=7)
    assert b1.may_refuse_s == may_s


class Paused:
    """A process that stands still, ends as soon as it goes on, and reports why."""

    name = "ar1"

    def __init__(self, *, by_session: bool) -> None:
        self.boot, self.state = 1, ProcessState.PAUSED
        self._by_session = by_session

    def session_ended(self) -> bool:
        return self._by_session

    def resume(self) -> None:
        self.state = ProcessState.DOWN

    def start(self, *, conf: Any = None, version: str | None = None) -> None:
        self.boot, self.state = self.boot + 1, ProcessState.RUNNING

    def wait_ready(self, timeout_s: float) -> None:
        if self.state is ProcessState.DOWN:
            raise UnplannedDeathError(f"{self.name} ended on its own within {timeout_s} s")


class Cluster:
    def __init__(self, process: Paused) -> None:
        self._process = process

    def process(self, name: str) -> Paused:
        assert name == self._process.name
        return self._process


def heal(process: Paused) -> Any:
    cluster: Any = Cluster(process)
    return FAULTS["pause"](target="ar1").heal(FaultContext(cluster, injected={"boot": 1}))


def test_what_ended_with_its_session_is_started_again() -> None:
    assert heal(Paused(by_session=True)) == {"boot": 2, "ready": True}


def test_what_died_otherwise_has_died() -> None:
    with pytest.raises(UnplannedDeathError):
        heal(Paused(by_session=False))
