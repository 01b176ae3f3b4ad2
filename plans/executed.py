"""The schedule that was really executed: a plan with the times at which its steps began, and its ensembles.

A plan says when a step begins at the earliest; how long the step before it takes decides the rest.
For a repetition each step gets the time at which it began, as earliest time again. A step that
waited for an event keeps the event instead. A ledger that was created gets the first ensemble that it had,
because the effect of a fault of one bookie depends on whether the bookie stores the ledger. With a placement
policy of the user's own it gets none, because that policy chooses again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plans.cluster import PLACEMENT_POLICY
from plans.grammar.sequence import Place, StepSpec, rebuilt
from plans.models import Plan
from plans.reading.document import Tree
from plans.resolve import shortest_s

_NS_PER_S = 1_000_000_000
BOOKIES = "bookies"
"""The fact that a step which creates a ledger records: its first ensemble, names in order."""


@dataclass(frozen=True, slots=True)
class Began:
    """When a step and its block began (monotonic), and the bookies of a created ledger."""

    began_ns: int
    block_ns: int
    bookies: tuple[str, ...] = ()


def begins(records: Iterable[Tree]) -> dict[Place, Began]:
    """Where and when steps began, from a run's step records; records without a place are left out."""
    return {
        tuple(record["path"]): Began(
            int(record["began_ns"]), int(record["block_ns"]), tuple(record.get("facts", {}).get(BOOKIES, ()))
        )
        for record in records
        if "path" in record and "block_ns" in record
    }


def executed(plan: Plan, began: Mapping[Place, Began]) -> Plan:
    """The plan with measured times; where none was measured (not reached, or rounds) it stays as planned.

    Its time limit is at least the time that it took, even if that exceeds the plan's limit on a slow machine.
    """
    if plan.rounds > 1:
        return plan
    named = PLACEMENT_POLICY not in plan.cluster.client_conf
    steps = rebuilt(plan.steps, lambda step, place: _measured(step, began.get(place), named=named))
    limits = plan.limits.model_copy(update={"run_s": max(plan.limits.run_s, shortest_s(steps))})
    return plan.model_copy(update={"steps": steps, "limits": limits})


def _measured(step: StepSpec, measured: Began | None, *, named: bool) -> StepSpec:
    if measured is None:
        return step
    if measured.bookies and named:
        params = step.params.model_copy(update={BOOKIES: measured.bookies})
        step = step.model_copy(update={"params": params})
    if step.when is not None:
        return step
    after_s = round((measured.began_ns - measured.block_ns) / _NS_PER_S, 3)
    return step.model_copy(update={"at_s": max(after_s, 0.0)})
