"""Conditions on repair: marks, locks and votes, whether all is replicated, what the auditor counted.

An absence of marked ledgers alone proves nothing: the auditor may not have looked yet. So these wait for
an audit that began with the present set of registered bookies.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from cluster.interface import ProcessState
from cluster.metadata import RepairRecords
from evidence.collect.logs import COUNTS, LogEvent
from harness.recording.context import RunContext
from harness.registry import Look, beginning, condition
from plans.grammar.names import LedgerName, ServerName
from plans.grammar.steps import Condition
from protocol.errors import ContradictedError, UsageError

_AUDITS = {
    "bookies": ("audit_started", "audit_ended"),
    "ledgers": ("ledgers_check_started", "ledgers_check_ended"),
    "replicas": ("replicas_check_started", "replicas_check_ended"),
}
_ENOUGH_CHECKS = 5
"""A single check may meet a bookie that has just come back; this number of equal checks does not."""


class Marked(Condition):
    """The ledger is marked as under-replicated, or (``is: false``) it is not."""

    ledger: LedgerName
    wanted: bool = Field(default=True, alias="is")


@condition(Marked)
def marked(context: RunContext, wanted: Marked) -> tuple[bool, str]:
    found = context.ledgers.id(wanted.ledger) in _repairs(context).under_replicated()
    return found is wanted.wanted, f"{wanted.ledger} is {'' if found else 'not '}marked as lacking copies"


class Locked(Condition):
    """A worker of autorecovery has locked the ledger, which it does before it looks at its copies."""

    ledger: LedgerName


@condition(Locked)
def locked(context: RunContext, wanted: Locked) -> tuple[bool, str]:
    found = context.ledgers.id(wanted.ledger) in _repairs(context).under_repair()
    return found, f"{wanted.ledger} is {'' if found else 'not '}locked by a worker"


class Candidate(Condition):
    """The process of autorecovery has cast a vote for the election of the auditor."""

    target: ServerName


@condition(Candidate)
def candidate(context: RunContext, wanted: Candidate) -> tuple[bool, str]:
    found = wanted.target in _repairs(context).votes().values()
    return found, f"{wanted.target} has {'cast a' if found else 'no'} vote"


class Replicated(Condition):
    """No ledger is marked as under-replicated, and an audit has ended that began late enough.

    It began after the start of the step, and after exactly the running bookies were registered. ``audit``
    ``bookies`` checks whether each bookie that a ledger names is registered, ``ledgers`` whether each bookie
    has its entries. Needs autorecovery.
    """

    audit: Literal["bookies", "ledgers"] = "bookies"


@beginning(Replicated)
def replicated(context: RunContext, wanted: Replicated) -> Look:
    repairs = _repairs(context)
    since: tuple[int, int] | None = None  # just the bookies that run are registered: monotonic ns, wall ms

    def look() -> tuple[bool, str]:
        nonlocal since
        difference = _unsettled(context)
        if difference is not None:
            since = None
            return False, difference
        since = since or _now()
        if not any(_ended_since(context, wanted.audit, *since)):
            return False, f"no audit of {wanted.audit} has ended that began since; {_auditor(context)}"
        # What the audit found is marked before it ends, so the marks are looked at after its end.
        lacking, busy = repairs.under_replicated(), repairs.under_repair()
        if lacking or busy:
            return False, f"ledgers marked as lacking copies: {list(lacking)}; under repair: {list(busy)}"
        return True, "an audit has ended, and no ledger is marked as lacking copies"

    return look


class ReplicasCounted(Condition):
    """A later replica check has ended and counted exactly these numbers of ledgers by their worst entry.

    That has no copy, fewer than the ack quorum, or fewer than the write quorum. The check is the auditor's
    own (``auditorReplicasCheckInterval``), of which BookKeeper makes its metrics. Needs autorecovery.
    """

    no_copy: int = Field(default=0, ge=0)
    below_ack_quorum: int = Field(default=0, ge=0)
    below_write_quorum: int = Field(default=0, ge=0)


@beginning(ReplicasCounted)
def replicas_counted(context: RunContext, wanted: ReplicasCounted) -> Look:
    """``ContradictedError`` once enough consecutive checks agree on other numbers."""
    _repairs(context)  # refuses a cluster without autorecovery
    since = _now()
    expected = {name: getattr(wanted, name) for name in COUNTS.values()}

    def look() -> tuple[bool, str]:
        ended = list(_ended_since(context, "replicas", *since))
        if not ended:
            return False, f"no check of replicas has ended that began since; {_auditor(context)}"
        last = [{name: one.detail.get(name) for name in COUNTS.values()} for one in ended[-_ENOUGH_CHECKS:]]
        text = "ledgers counted: " + ", ".join(f"{name} {count}" for name, count in last[-1].items())
        if last[-1] != expected and last == [last[-1]] * _ENOUGH_CHECKS:
            checks = f"by each of {_ENOUGH_CHECKS} checks"
            raise ContradictedError(f"{text} {checks}, but the plan expects {expected}")
        return last[-1] == expected, text

    return look


def _unsettled(context: RunContext) -> str | None:
    """How the registered bookies differ from the running bookies, None when they do not."""
    there = context.cluster.metadata.registered()
    run = {name for name, one in context.cluster.bookies.items() if one.state is ProcessState.RUNNING}
    if there == run:
        return None
    gone, late = sorted(there - run), sorted(run - there)
    return f"registered though not running: {gone}; running and not registered: {late}"


def _auditor(context: RunContext) -> str:
    """The auditor, or the autorecovery processes that have ended: an expired session ends a process."""
    cluster = context.cluster
    if found := cluster.repairs.auditor():
        return f"the auditor is {found}"
    ended = [name for name, one in cluster.autorecovery.items() if one.state is not ProcessState.RUNNING]
    return f"no auditor is elected; ended: {ended}"


def _now() -> tuple[int, int]:
    """The monotonic clock (ns) and the wall clock (ms): the release decides which of them a log contains."""
    return time.monotonic_ns(), time.time_ns() // 1_000_000


def _ended_since(context: RunContext, audit: str, since_ns: int, since_ms: int) -> Iterator[LogEvent]:
    """The ends of audits that began later, of each process in its order."""
    starts, ends = _AUDITS[audit]
    for name in context.cluster.autorecovery:
        later = False
        for event in context.boot_log(name):
            if event.event == starts:  # 4.18 dates its lines in whole milliseconds of the wall clock
                later = event.at_ns > since_ns if event.at_ns else event.wall_ms > since_ms
            elif event.event == ends and later:
                yield event


def _repairs(context: RunContext) -> RepairRecords:
    if not context.cluster.autorecovery:
        raise UsageError(
            "this cluster has no autorecovery", remedy="write `autorecovery: 1` under `cluster` in the plan"
        )
    return context.cluster.repairs
