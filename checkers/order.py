"""Order: ids are given and delivered in sequence, each once.

Source: the replication protocol ("Guarantees": read in the order written, the same sequence for
all). The recorder says beside each row which id was due; that two readers see the same bytes
under one id is :mod:`checkers.content`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.contract import Chunk, RunFacts
from checkers.facts.damage import shortcomings
from checkers.facts.offences import Offences, merge_offences, offences
from checkers.facts.parts import acked, entries_of, flagged
from checkers.facts.wording import client_name, counted, entries_text, ledger_text, operation_text
from checkers.rows import Rows
from checkers.sets.capping import capped
from checkers.sets.spans import Spans
from evidence.codes import Flag, Kind, Outcome
from evidence.findings import Finding, Judgement, Verdict

_SAID = {
    "added_out_of_order": "adds were acknowledged under other ids than were due",
    "read_out_of_order": "entries were delivered out of order or with a gap",
}


@dataclass(frozen=True, slots=True)
class Sequence:
    """The summary: rows out of order, ids acknowledged once and twice, and how much was seen."""

    offences: Offences
    acked: Spans
    twice: Spans
    adds: int
    delivered: int
    short_reads: int


class Order:
    """Convicts an add or a delivered entry whose id is not the one due, and an id acknowledged twice."""

    name = "order"
    tables: tuple[str, ...] = ("operations",)
    kinds: tuple[str, ...] = (*_SAID, "acked_twice")

    def scan(self, chunk: Chunk, run: RunFacts) -> Sequence:  # noqa: ARG002  # as agreed
        """Row by row: the id recorded against the id that was due."""
        rows = chunk.operations
        adds = rows.of(kind=Kind.ADD, outcome=Outcome.OK)
        entries = rows.of(kind=Kind.ENTRY, outcome=Outcome.OK)
        wrong_add = (adds["expected"] >= 0) & (adds["result"] != adds["expected"]) & ~flagged(adds, Flag.ADV)
        wrong_read = (entries["expected"] >= 0) & (entries["entry"] != entries["expected"])
        reads = rows.of(kind=Kind.READ, outcome=Outcome.OK)
        reads = reads.where((reads["last"] >= 0) & (reads["result"] >= 0))
        once, twice = _multiplicity(rows.once(acked))
        return Sequence(
            offences={
                **offences("added_out_of_order", adds.where(wrong_add), told="result", due="expected"),
                **offences("read_out_of_order", entries.where(wrong_read), told="entry", due="expected"),
            },
            acked=once,
            twice=twice,
            adds=adds.number,
            delivered=entries.number,
            short_reads=int((reads["result"] < reads["last"] - reads["entry"] + 1).sum()),
        )

    def merge(self, left: Sequence, right: Sequence) -> Sequence:
        """Both; an id that each side acknowledged once was acknowledged twice."""
        return Sequence(
            merge_offences(left.offences, right.offences),
            left.acked | right.acked,
            left.twice | right.twice | (left.acked & right.acked),
            left.adds + right.adds,
            left.delivered + right.delivered,
            left.short_reads + right.short_reads,
        )

    def conclude(self, summary: Sequence, run: RunFacts) -> Judgement:
        """Needs at least one acknowledged add or delivered entry."""
        findings = [*_rows(summary, run), *_twice(summary, run)]
        lacking = shortcomings(run, self.tables)
        enough = summary.adds + summary.delivered > 0 and not lacking
        notes = [*lacking]
        if summary.short_reads:
            notes.append(
                f"{counted(summary.short_reads, 'read')} came back ok with fewer entries than asked for, "
                "which a batch read may do"
            )
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else Verdict.VALID if enough else Verdict.UNKNOWN,
            needed="whole evidence, and at least one acknowledged add or delivered entry",
            seen={"adds": summary.adds, "delivered": summary.delivered},
            findings=capped(findings),
            counts={
                **{kind: _total(summary, kind) for kind in _SAID},
                "acked_twice": summary.twice.count(),
            },
            notes=tuple(notes),
        )


def _multiplicity(rows: Rows) -> tuple[Spans, Spans]:
    """The entries of the rows, and those that more than one row names."""
    once = rows.once(entries_of)
    if once.count() == rows.number:
        return once, Spans.empty()
    order = np.lexsort((rows["entry"], rows["ledger"]))
    ledger, entry = rows["ledger"][order], rows["entry"][order]
    again = np.flatnonzero((ledger[1:] == ledger[:-1]) & (entry[1:] == entry[:-1]))
    return once, Spans.of_entries(ledger[again], entry[again])


def _total(summary: Sequence, kind: str) -> int:
    return sum(offence.number for key, offence in summary.offences.items() if key[0] == kind)


def _rows(summary: Sequence, run: RunFacts) -> Iterator[Finding]:
    for (kind, ledger), offence in sorted(summary.offences.items()):
        example = "acknowledged as" if kind == "added_out_of_order" else "delivered as"
        yield Finding(
            property=Order.name,
            kind=kind,
            ledger=ledger,
            first_entry=offence.first,
            last_entry=offence.last,
            count=offence.number,
            text=f"{ledger_text(run, ledger)}: {_SAID[kind]} ({counted(offence.number, 'time')})",
            proof=(
                f"{client_name(run, offence.client)}, {operation_text(offence.seq)}: "
                f"{example} entry {offence.told} where entry {offence.due} was due",
            ),
        )


def _twice(summary: Sequence, run: RunFacts) -> Iterator[Finding]:
    for ledger, first, last in summary.twice:
        yield Finding(
            property=Order.name,
            kind="acked_twice",
            ledger=ledger,
            first_entry=first,
            last_entry=last,
            count=last - first + 1,
            text=f"{ledger_text(run, ledger)}: two adds were told ok under one id",
            proof=(f"more than one add was told ok for {entries_text(first, last)}",),
        )
