"""Conditions on repair: whether a ledger is marked, whether all is replicated, what the auditor counted.

An absence of marked ledgers alone proves nothing: the auditor may not have looked yet. So these wait for
an audit that began with the present set of registered bookies.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from cluster.interface import ProcessState
from cluster.operating import Repairs
from evidence.collect.logs import LogEvent
from evidence.collect.repairlogs import COUNTS
from harness.conditions import Condition, beginning, condition
from harness.stage import Stage
from protocol.errors import ContradictedError, UsageError

_AUDITS = {
    "bookies": ("audit_started", "audit_ended"),
    "ledgers": ("ledgers_check_started", "ledgers_check_ended"),
    "replicas": ("replicas_check_started", "replicas_check_ended"),
}
_ENOUGH_CHECKS = 5
"""A single check may meet a bookie that has just come back; this number of equal checks does not."""


@condition("marked")
def marked(stage: Stage, step: Any) -> tuple[bool, str]:
    """The ledger is marked as lacking copies, or is not."""
    found = stage.ledgers.id(step.ledger) in _repairs(stage).under_replicated()
    return found is step.wanted, f"{step.ledger} is {'' if found else 'not '}marked as lacking copies"


@beginning("replicated")
def replicated(stage: Stage, step: Any) -> Condition:  # noqa: ARG001  # takes no parameters
    """No ledger is marked, and an audit has ended that began with just those bookies that are there."""
    _repairs(stage)
    return _Replicated()


class _Replicated:
    """Remembers since when just the bookies that run have been registered."""

    def __init__(self) -> None:
        self._since: tuple[int, int] | None = None  # monotonic ns, wall ms

    def __call__(self, stage: Stage, step: Any) -> tuple[bool, str]:
        difference = _unsettled(stage)
        if difference is not None:
            self._since = None
            return False, difference
        if self._since is None:
            self._since = _now()
        repairs = _repairs(stage)
        if not any(_ended_since(stage, repairs, step.audit, *self._since)):
            return False, f"no audit of {step.audit} has ended that began since; {_auditor(repairs)}"
        # What the audit found is marked before it ends, so the marks are looked at after its end.
        lacking, busy = repairs.under_replicated(), repairs.under_repair()
        if lacking or busy:
            return False, f"ledgers marked as lacking copies: {list(lacking)}; under repair: {list(busy)}"
        return True, "an audit has ended, and no ledger is marked as lacking copies"


@beginning("replicas_counted")
def replicas_counted(stage: Stage, step: Any) -> Condition:  # noqa: ARG001  # asked for when it is looked at
    """A check of replicas that began since has ended and counted the expected numbers of ledgers.

    ``ContradictedError`` once enough consecutive checks agree on other numbers.
    """
    repairs = _repairs(stage)
    since = _now()

    def condition(stage: Stage, step: Any) -> tuple[bool, str]:
        ended = list(_ended_since(stage, repairs, "replicas", *since))
        if not ended:
            return False, f"no check of replicas has ended that began since; {_auditor(repairs)}"
        last = [{name: one.detail.get(name) for name in COUNTS.values()} for one in ended[-_ENOUGH_CHECKS:]]
        wanted = {name: getattr(step, name) for name in COUNTS.values()}
        told = "ledgers counted: " + ", ".join(f"{name} {count}" for name, count in last[-1].items())
        if last[-1] != wanted and last == [last[-1]] * _ENOUGH_CHECKS:
            checks = f"by each of {_ENOUGH_CHECKS} checks"
            raise ContradictedError(f"{told} {checks}, but the plan expects {wanted}")
        return last[-1] == wanted, told

    return condition


def _unsettled(stage: Stage) -> str | None:
    """How the registered bookies differ from the running bookies, None when they do not."""
    there = stage.cluster.metadata.registered()
    run = {name for name, one in stage.cluster.bookies.items() if one.state is ProcessState.RUNNING}
    if there == run:
        return None
    gone, late = sorted(there - run), sorted(run - there)
    return f"registered though not running: {gone}; running and not registered: {late}"


def _auditor(repairs: Repairs) -> str:
    """Who audits, or who would, and has ended: a process whose session has expired ends itself."""
    if found := repairs.auditor():
        return f"the auditor is {found}"
    ended = [name for name, one in repairs.autorecovery.items() if one.state is not ProcessState.RUNNING]
    return f"no auditor is elected; ended: {ended}"


def _now() -> tuple[int, int]:
    """The monotonic clock (ns) and the wall clock (ms): the release decides which of them a log contains."""
    return time.monotonic_ns(), time.time_ns() // 1_000_000


def _ended_since(
    stage: Stage, repairs: Repairs, audit: str, since_ns: int, since_ms: int
) -> Iterator[LogEvent]:
    """The ends of audits that began later, of each process in its order."""
    starts, ends = _AUDITS[audit]
    for name in repairs.autorecovery:
        began: LogEvent | None = None
        for event in stage.boot_log(name):
            if event.event == starts:
                began = event
            elif event.event == ends and _after(began, since_ns, since_ms):
                yield event


def _after(began: LogEvent | None, since_ns: int, since_ms: int) -> bool:
    """Whether an audit began later; 4.18 dates its lines in whole milliseconds of the wall clock."""
    if began is None:
        return False
    return began.at_ns > since_ns if began.at_ns else began.wall_ms > since_ms


def _repairs(stage: Stage) -> Repairs:
    cluster = stage.cluster
    if not isinstance(cluster, Repairs) or not cluster.autorecovery:
        raise UsageError(
            "this cluster has no autorecovery", remedy="write `autorecovery: 1` under `cluster` in the plan"
        )
    return cluster
