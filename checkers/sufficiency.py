"""Evidence: whether this run can prove anything at all.

A run whose evidence was not closed, whose steps were left out, whose faults were not confirmed, in which
nothing was acknowledged or nobody looked afterwards is never ``valid``, however clean the rest looks.
Convicts nobody: its verdict is ``valid`` or ``unknown``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.contract import Chunk, RunFacts
from checkers.facts.damage import recorded, shortcomings
from checkers.facts.parts import final
from checkers.facts.wording import counted
from evidence.codes import NEVER, Holding, Kind, Outcome
from evidence.findings import Judgement, Verdict
from protocol.addresses import OBSERVER, PROXY
from protocol.faults import UNPLANNED


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much was seen; ``passes`` are the census passes in which a bookie said whether it has an entry."""

    operations: int
    acked: int
    final_opens: int
    final_entries: int
    census: int
    passes: frozenset[int]


class Sufficiency:
    """Closed evidence, acknowledged adds, census and final reads, faults that really happened."""

    name = "evidence"
    tables: tuple[str, ...] = ("operations", "census")
    kinds: tuple[str, ...] = ()

    def scan(self, chunk: Chunk, run: RunFacts) -> Amounts:  # noqa: ARG002  # as agreed
        """Count."""
        rows, census = chunk.operations, chunk.census
        answered = census.where(census["holding"] != Holding.UNKNOWN)
        return Amounts(
            operations=rows.number,
            acked=rows.of(kind=Kind.ADD, outcome=Outcome.OK).number,
            final_opens=rows.of(kind=Kind.OPEN, outcome=Outcome.OK).once(final).number,
            final_entries=rows.of(kind=Kind.ENTRY, outcome=Outcome.OK).once(final).number,
            census=census.number,
            passes=frozenset(np.unique(answered["pass_number"]).tolist()),
        )

    def merge(self, left: Amounts, right: Amounts) -> Amounts:
        """Sum."""
        return Amounts(
            left.operations + right.operations,
            left.acked + right.acked,
            left.final_opens + right.final_opens,
            left.final_entries + right.final_entries,
            left.census + right.census,
            left.passes | right.passes,
        )

    def conclude(self, summary: Amounts, run: RunFacts) -> Judgement:
        """Every reason why this run proves too little is a note."""
        lacking = [*shortcomings(run, recorded(run)), *_left_out(run), *_too_little(summary), *_faults(run)]
        return Judgement(
            property=self.name,
            verdict=Verdict.UNKNOWN if lacking else Verdict.VALID,
            needed=(
                "evidence closed and undamaged, all steps of the plan, an acknowledged add, a census, "
                "final reads, every fault confirmed and healed, the proxy and the observer alive to the end"
            ),
            seen={
                "operations": summary.operations,
                "acked": summary.acked,
                "final_opens": summary.final_opens,
                "final_entries": summary.final_entries,
                "census_answers": summary.census,
                "census_passes": len(summary.passes),
                "faults": sum(fault["kind"] != UNPLANNED for fault in run.faults),
                "unplanned": sum(fault["kind"] == UNPLANNED for fault in run.faults),
            },
            notes=(*lacking, *_unplanned(run)),
        )


def _left_out(run: RunFacts) -> Iterator[str]:
    if run.left_out:
        yield f"steps of the plan were left out: {run.left_out}"


def _too_little(amounts: Amounts) -> Iterator[str]:
    if not amounts.acked:
        yield "no add was acknowledged"
    if not amounts.passes:
        yield "no census was taken that a bookie answered"
    if not amounts.final_opens:
        yield "no ledger was opened and read at the end"


def _faults(run: RunFacts) -> Iterator[str]:
    """Faults without effect or without end, and deaths that blind the run."""
    for fault in run.faults:
        name = f"fault {fault['fault']} ({fault['kind']} {fault['target']})"
        if fault["kind"] == UNPLANNED:
            if fault["target"] in (PROXY, OBSERVER):
                yield f"the {fault['target']} died without a fault of ours"
        elif fault["injected_ns"] != NEVER and fault["confirmed_ns"] == NEVER and not _may_idle(fault):
            yield f"{name} was injected and never confirmed{_idle(fault)}"
        elif fault["injected_ns"] != NEVER and fault["healed_ns"] == NEVER:
            yield f"{name} was never healed"


def _may_idle(fault: Mapping[str, Any]) -> bool:
    """Whether the plan accepts that a fault of messages finds none to act on."""
    return bool(json.loads(fault["params"] or "{}").get("may_idle"))


def _idle(fault: Mapping[str, Any]) -> str:
    """A fault of messages lies in wait: what it never did is why it was not confirmed."""
    healed = json.loads(fault["proof"] or "{}").get("healed") or {}
    if "acted" not in healed:
        return ""
    return f": its rule matched {counted(int(healed.get('matched') or 0), 'message')} and acted on none"


def _unplanned(run: RunFacts) -> Iterator[str]:
    """Other deaths: worth saying first, but no reason to doubt the record."""
    others = [
        str(fault["target"])
        for fault in run.faults
        if fault["kind"] == UNPLANNED and fault["target"] not in (PROXY, OBSERVER)
    ]
    if others:
        yield f"{counted(len(others), 'server')} died without a fault of ours: {', '.join(sorted(others))}"
