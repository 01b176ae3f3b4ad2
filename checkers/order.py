"""Order: ids are given and delivered in sequence, each once.

Source: the replication protocol ("Guarantees": read in the order written, the same sequence for
all; an add is acknowledged when all with lower ids are, also to a writer that chooses the ids). The
recorder says beside each row which id was due; that two readers see the same bytes
under one id is :mod:`checkers.content`. A read of a range, confirmed or not, delivers all of it or does not
end ok (``LedgerHandle#readEntriesInternalAsync``); a batch read may deliver less. No read delivers more.
Each id is acknowledged once by its ledger: where a fault of the run put the metadata back,
another ledger may have had the same id.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from checkers.facts.alterations import put_back_hidden, without_put_back
from checkers.facts.ledgers import histories
from checkers.facts.parts import acked, flagged, of_plan
from checkers.facts.wording import entries_text, operation_text
from checkers.judging.checker import Checker
from checkers.judging.contract import Batch, LedgerFacts, Rows, RunFacts
from checkers.judging.found import Found, ledger_rows, proof_columns, set_rows, span_rows
from checkers.sets.ordering import changes
from checkers.sets.spans import Spans
from evidence.codes import Flag, Kind, Outcome
from evidence.findings import Finding, Judgement
from protocol.wording import counted

_WHY = {
    "added_out_of_order": "adds were acknowledged under other ids than were due",
    "read_out_of_order": "entries were delivered out of order or with a gap",
}
_RESTS_ON = ("operations",)


class ShortRead(NamedTuple):
    """The proof of a short read: its range, and how many entries it returned."""

    client: int
    seq: int
    entry: int
    last: int
    result: int


class OutOfOrder(NamedTuple):
    """The proof of an operation on another id than was due (-1: on one more than any): the ledger's first."""

    client: int
    seq: int
    number: int
    expected: int


class Order(Checker):
    """Finds an add or an entry whose id is not the one due, an id acknowledged twice, and a short read."""

    name = "order"
    tables = (*_RESTS_ON, "ledgers")
    needed = "whole evidence, and at least one acknowledged add or delivered entry"
    kinds = (*_WHY, "acked_twice", "ended_short")
    figures = ("adds", "delivered", "followed", "failed_reads")

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:  # noqa: ARG002  # by contract
        """Row by row the id recorded against the id that was due, and what is there twice or not at all.

        ``delivered`` counts entries of all reads, ``followed`` those of the plan's own clients, of which
        ``failed_reads`` did not end ok; the final reads are not theirs.
        """
        rows = batch.operations
        adds = rows.where(kind=Kind.ADD, outcome=Outcome.OK)
        wrong_add = (adds["expected"] >= 0) & (adds["result"] != adds["expected"])
        entries = rows.where(kind=Kind.ENTRY, outcome=Outcome.OK)
        wrong_read = (entries["expected"] >= 0) & (entries["entry"] != entries["expected"])
        failed = rows.where(kind=Kind.READ).memo(of_plan)
        failed = failed.filter(np.isin(failed["outcome"], (Outcome.FAIL, Outcome.UNKNOWN)))
        ranges = rows.memo(_ranges)
        long = ranges.filter(ranges["result"] > ranges["last"] - ranges["entry"] + 1)
        short = _short_reads(ranges)
        missing_from = short["entry"] + short["result"]
        return Found.from_tables(
            _out_of_order("added_out_of_order", adds.filter(wrong_add), "result"),
            _out_of_order("read_out_of_order", entries.filter(wrong_read), "entry"),
            _delivered_beyond(long),
            set_rows("acked_twice", _twice(rows.memo(acked))),
            span_rows("ended_short", short["ledger"], missing_from, short["last"]),
            ledger_rows(
                "short_read", short["ledger"], missing_from, proof=proof_columns(ShortRead._fields, short)
            ),
            adds=adds.num_rows,
            delivered=entries.num_rows,
            followed=entries.memo(of_plan).num_rows,
            failed_reads=failed.num_rows,
        )

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs at least one acknowledged add or delivered entry."""
        twice = without_put_back(found.spans("acked_twice"), facts.memo(histories), run)
        findings = [*_rows(found, run), *_acked_twice(twice, run), *_short(found, run)]
        seen = {name: found.count(name) for name in self.figures}
        return self.judgement(
            run,
            findings,
            seen=seen,
            enough=seen["adds"] + seen["delivered"],
            lacking=run.shortcomings(self.tables if put_back_hidden(run) else _RESTS_ON),
        )


def _ranges(rows: Rows) -> Rows:
    """Reads of a range that ended ok, and the number of entries that they returned is known."""
    reads = rows.where(kind=Kind.READ, outcome=Outcome.OK)
    return reads.filter((reads["last"] >= 0) & (reads["result"] >= 0))


def _short_reads(ranges: Rows) -> Rows:
    """Those that returned fewer entries than they were asked for, and may not."""
    whole = ranges.filter(~flagged(ranges, Flag.BATCH))
    return whole.filter(whole["result"] < whole["last"] - whole["entry"] + 1)


def _delivered_beyond(reads: Rows) -> pa.Table:
    """Reads that returned more entries than they were asked for; nothing was due after the last one."""
    number = reads["entry"] + reads["result"] - 1
    proof = proof_columns(OutOfOrder._fields, reads, number=number, expected=np.full(reads.num_rows, -1))
    return ledger_rows("read_out_of_order", reads["ledger"], number, proof=proof)


def _out_of_order(kind: str, rows: Rows, column: str) -> pa.Table:
    """Operations on other ids than were due, by ledger."""
    proof = proof_columns(OutOfOrder._fields, rows, number=rows[column])
    return ledger_rows(kind, rows["ledger"], rows[column], proof=proof)


def _twice(rows: Rows) -> Spans:
    """The entries that more than one row names; rows come sorted by ledger and entry."""
    again = ~changes(rows["ledger"], rows["entry"])
    return Spans.from_entries(rows["ledger"][again], rows["entry"][again])


def _rows(found: Found, run: RunFacts) -> Iterator[Finding]:
    for kind, why in _WHY.items():
        how = "acknowledged as" if kind == "added_out_of_order" else "delivered as"
        for ledger, first, last, number, proof in found.by_ledger(kind):
            client, seq, entry, due = OutOfOrder(*proof)
            instead = f"entry {due}" if due >= 0 else "none"
            yield run.finding(
                f"order/{kind}",
                (ledger, first, last, number),
                f"{why} ({counted(number, 'time')})",
                f"{run.client_name(client)}, {operation_text(seq)}: "
                f"{how} entry {entry} where {instead} was due",
            )


def _acked_twice(twice: Spans, run: RunFacts) -> Iterator[Finding]:
    for ledger, first, last in twice:
        yield run.finding(
            "order/acked_twice",
            (ledger, first, last),
            "two adds were acknowledged under one id",
            f"more than one add got ok for {entries_text(first, last)}",
        )


def _short(found: Found, run: RunFacts) -> Iterator[Finding]:
    """What reads did not deliver; the proof is the ledger's first such read."""
    reads = {row.ledger: ShortRead(*row.proof) for row in found.by_ledger("short_read")}
    for ledger, first, last in found.spans("ended_short"):
        client, seq, begin, end, number = reads[ledger]
        own = begin + number <= last and first <= end
        yield run.finding(
            "order/ended_short",
            (ledger, first, last),
            f"a read ended ok without {entries_text(first, last)}",
            f"{'' if own else 'the first such read of this ledger: '}"
            f"{run.client_name(client)}, {operation_text(seq)}: a read of {entries_text(begin, end)} "
            f"ended ok with {counted(number, 'entry', 'entries')}",
        )
