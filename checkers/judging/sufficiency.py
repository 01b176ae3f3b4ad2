"""Evidence: whether this run can prove anything at all.

A run whose evidence was not closed, whose steps were left out, whose faults were not confirmed or met
nothing at all, in which nothing was acknowledged or nothing was read afterwards is never ``valid``, however
clean the rest looks. It finds no anomaly: its verdict is ``valid`` or ``unknown``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from checkers.facts.alterations import fault_text
from checkers.facts.ledgers import OPENED, RELEASED, histories, operations_fact
from checkers.facts.parts import delivered, final
from checkers.facts.wording import some_notes
from checkers.judging.checker import Checker
from checkers.judging.contract import Batch, LedgerFact, LedgerFacts, Rows, RunFacts, value_at
from checkers.judging.found import Found
from checkers.sets.ordering import firsts
from evidence.codes import NEVER, Holding, Kind, Outcome
from evidence.findings import Judgement
from evidence.schemas import FaultRow
from protocol.addresses import OBSERVER, PROXY
from protocol.faults import UNPLANNED
from protocol.wording import counted


def _answered(batch: Batch) -> Rows:
    return batch.census.filter(batch.census["holding"] != Holding.UNKNOWN)


ANSWERED = LedgerFact(
    "answered_in_census",
    "census",
    _answered,
    key=("ledger", "pass_number"),
    values={"answered_ns": "max"},
)
"""By ledger and pass of the census: when a bookie last said whether it has an entry (ns)."""


READ = operations_fact("read_at_the_end", lambda rows: rows.memo(delivered).memo(final))
"""The ledgers of which a final read returned an entry."""


class Sufficiency(Checker):
    """Closed evidence, acknowledged adds, census and final reads, faults that really happened."""

    name = "evidence"
    tables = ("operations", "census")
    needed = (
        "evidence closed and undamaged, all steps of the plan, an acknowledged add, a census, "
        "final reads, every fault confirmed and healed, one of them not idle, "
        "the proxy and the observer alive to the end"
    )
    kinds = ()
    facts = (ANSWERED, OPENED, READ, RELEASED)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:  # noqa: ARG002  # by contract
        """How much was seen."""
        rows = batch.operations
        return Found.from_tables(
            operations=rows.num_rows,
            acked=rows.where(kind=Kind.ADD, outcome=Outcome.OK).num_rows,
            final_opens=rows.where(kind=Kind.OPEN, outcome=Outcome.OK).memo(final).num_rows,
            final_entries=rows.where(kind=Kind.ENTRY, outcome=Outcome.OK).memo(final).num_rows,
            census_answers=batch.census.num_rows,
        )

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Every reason why this run proves too little is a note."""
        idle = list(_idle_faults(run))
        names = ("operations", "acked", "final_opens", "final_entries", "census_answers")
        seen = {
            **{name: found.count(name) for name in names},
            "census_passes": len(np.unique(facts.columns(ANSWERED)["pass_number"])),
            "faults": len(_planned(run)),
            "unplanned": sum(fault["kind"] == UNPLANNED for fault in run.faults),
            "idle_faults": len(idle),
        }
        lacking = [*run.shortcomings(run.recorded()), *_too_little(seen, facts, run), *_faults(run)]
        done = [fault for fault in _planned(run) if fault["injected_ns"] != NEVER]
        if idle and len(idle) == len(done) and not any(_healed(fault).get("killed") for fault in done):
            lacking.append("no fault of the run is seen to have met anything")
        notes = (*idle, *_silent_cuts(run), *_unplanned(run), *_not_asked(run))
        return self.judgement(run, (), seen=seen, enough=True, lacking=lacking, notes=notes)


def _too_little(seen: Mapping[str, int], facts: LedgerFacts, run: RunFacts) -> Iterator[str]:
    """What the run lacks. A census between two steps of the plan does not count as one at the end."""
    answered_ns = facts.columns(ANSWERED)["answered_ns"].max(initial=-1)
    opened_ns = facts.columns(OPENED)["invoked_ns"].min(initial=NEVER)
    if run.left_out:
        yield f"steps of the plan were left out: {run.left_out}"
    if not seen["acked"]:
        yield "no add was acknowledged"
    if not seen["census_passes"]:
        yield "no census was taken that a bookie answered"
    elif seen["final_opens"] and answered_ns < opened_ns:
        yield "no bookie answered a census after the first ledger was opened at the end"
    else:
        text = "{}: no bookie answered a census after it was opened at the end".format
        unanswered = map(run.ledger_text, _unanswered(facts))
        yield from some_notes([*unanswered], text, "ledger", " without a census")
    if not seen["final_opens"]:
        yield "no ledger was opened and read at the end"


def _unanswered(facts: LedgerFacts) -> list[int]:
    """The ledgers with an entry read at the end, about which no bookie answered after their final open."""
    ledgers, columns = facts.columns(READ)["ledger"], facts.columns(ANSWERED)
    last = firsts(columns["ledger"], -columns["answered_ns"])
    answered_ns = value_at(columns["ledger"][last], columns["answered_ns"][last], ledgers, -1)
    late = ledgers[answered_ns < facts.at(OPENED, "invoked_ns", ledgers, 0)]
    released = {*facts.columns(RELEASED)["ledger"].tolist(), *facts.memo(histories).gone}
    return [ledger for ledger in late.tolist() if ledger not in released]


def _not_asked(run: RunFacts) -> Iterator[str]:
    """A census asks a bookie no more that does not answer."""
    if run.not_asked:
        number = counted(run.not_asked, "question")
        yield f"{number} of a census not asked, of bookies that had answered none of the many before"


def _planned(run: RunFacts) -> list[FaultRow]:
    return [fault for fault in run.faults if fault["kind"] != UNPLANNED]


def _faults(run: RunFacts) -> Iterator[str]:
    """Faults without effect or without end, and deaths that blind the run."""
    for fault in run.faults:
        name = fault_text(fault)
        if fault["kind"] == UNPLANNED:
            if fault["target"] in (PROXY, OBSERVER):
                yield f"the {fault['target']} died without a fault of the run"
        elif fault["injected_ns"] != NEVER and fault["confirmed_ns"] == NEVER and not _may_idle(fault):
            yield f"{name} was injected and never confirmed{_idle(fault)}"
        elif fault["injected_ns"] != NEVER and fault["healed_ns"] == NEVER:
            yield f"{name} was never healed"


def _idle_faults(run: RunFacts) -> Iterator[str]:
    """Faults of links and disks that are not seen to have met anything; not every refused write is logged."""
    for fault in run.faults:
        met = _healed(fault)
        if "links" in met and met.get("acted") == 0:
            yield f"{fault_text(fault)} held no message"
        elif met.get("passed_bytes") == 0:
            yield f"{fault_text(fault)} met no traffic"
        elif met.get("noticed") == 0:
            yield f"{fault_text(fault)} is not seen to have refused a write: the bookie's log has none"


def _silent_cuts(run: RunFacts) -> Iterator[str]:
    """A cut before the first connection can only refuse connections, which are not recorded."""
    for fault in run.faults:
        if _healed(fault).get("closed") == 0:
            yield f"{fault_text(fault)} closed no connection; connections that it refused are not recorded"


def _may_idle(fault: FaultRow) -> bool:
    """Whether the plan accepts that a fault of messages finds none to act on."""
    return bool(json.loads(fault["params"] or "{}").get("may_idle"))


def _healed(fault: FaultRow) -> dict[str, Any]:
    """What the proof of its healing says."""
    healed: dict[str, Any] = json.loads(fault["proof"] or "{}").get("healed") or {}
    return healed


def _idle(fault: FaultRow) -> str:
    """Why a fault of messages was not confirmed: it acted on none. Empty for other faults."""
    healed = _healed(fault)
    if "acted" not in healed:
        return ""
    return f": its rule matched {counted(int(healed.get('matched') or 0), 'message')} and acted on none"


def _unplanned(run: RunFacts) -> Iterator[str]:
    """Deaths of other servers: reported, but the record stays complete."""
    others = [
        str(fault["target"])
        for fault in run.faults
        if fault["kind"] == UNPLANNED and fault["target"] not in (PROXY, OBSERVER)
    ]
    if others:
        yield f"{counted(len(others), 'server')} died without a fault of the run: {', '.join(sorted(others))}"
