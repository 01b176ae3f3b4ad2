"""Order: ids are given and delivered in sequence, each once.

Source: the replication protocol ("Guarantees": read in the order written, the same sequence for
all). The recorder says beside each row which id was due; that two readers see the same bytes
under one id is :mod:`checkers.content`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.capping import capped
from checkers.contract import Chunk, RunFacts
from checkers.damage import shortcomings
from checkers.offences import Offences, merge_offences, offences
from checkers.spans import Spans
from checkers.wording import client_name, counted, entries_text, ledger_text, operation_text
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

    def scan(self, chunk: Chunk, run: RunFacts) -> Sequence:  # noqa: ARG002  # as agreed
        """Row by row: the id recorded against the id that was due."""
        rows = chunk.operations
        ok, kind, due = rows["outcome"] == Outcome.OK, rows["kind"], rows["expected"]
        adds, entries = ok & (kind == Kind.ADD), ok & (kind == Kind.ENTRY)
        ordinary = (rows["flags"] & Flag.ADV) == 0
        wrong_add = adds & ordinary & (due >= 0) & (rows["result"] != due)
        wrong_read = entries & (due >= 0) & (rows["entry"] != due)
        reads = ok & (kind == Kind.READ) & (rows["last"] >= 0) & (rows["result"] >= 0)
        asked = rows["last"][reads] - rows["entry"][reads] + 1
        acked = adds & (rows["entry"] >= 0)
        once, twice = _multiplicity(rows["ledger"][acked], rows["entry"][acked])
        return Sequence(
            offences={
                **offences("added_out_of_order", rows, wrong_add, told="result", due="expected"),
                **offences("read_out_of_order", rows, wrong_read, told="entry", due="expected"),
            },
            acked=once,
            twice=twice,
            adds=int(adds.sum()),
            delivered=int(entries.sum()),
            short_reads=int((rows["result"][reads] < asked).sum()),
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


def _multiplicity(ledger: np.ndarray, entry: np.ndarray) -> tuple[Spans, Spans]:
    """The entries of the rows, and those that more than one row names."""
    once = Spans.of_entries(ledger, entry)
    if once.count() == len(entry):
        return once, Spans.empty()
    order = np.lexsort((entry, ledger))
    ledger, entry = ledger[order], entry[order]
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
