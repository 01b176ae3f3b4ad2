"""Order: ids are given and delivered in sequence, each once.

Source: the replication protocol ("Guarantees": read in the order written, the same sequence for
all). The recorder says beside each row which id was due; that two readers see the same bytes
under one id is :mod:`checkers.content`. A read of a range delivers all of it or does not end ok
(``LedgerHandle#readAsync``); the harness's clients issue no batch reads, which may deliver less.
Each id is acknowledged once in one life of its ledger: where a fault of ours put the metadata back,
another ledger may have had the same id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.contract import Chunk, RunFacts
from checkers.facts.damage import shortcomings
from checkers.facts.histories import histories_of
from checkers.facts.offences import Offences, merge_offences, offences
from checkers.facts.parts import acked, entries_of, flagged, of_plan
from checkers.facts.putback import of_one_life
from checkers.facts.versions import Versions, scan_versions
from checkers.facts.wording import client_name, counted, entries_text, ledger_text, operation_text
from checkers.rows import Rows
from checkers.sets.capping import capped
from checkers.sets.folded import FIRST, Folded
from checkers.sets.spans import Spans
from evidence.codes import Flag, Kind, Outcome
from evidence.findings import Finding, Judgement, Verdict

_SAID = {
    "added_out_of_order": "adds were acknowledged under other ids than were due",
    "read_out_of_order": "entries were delivered out of order or with a gap",
}
_SHORT = ("client", "seq", "entry", "last", "result")


@dataclass(frozen=True, slots=True)
class Sequence:
    """The summary: rows out of order, ids acknowledged once and twice, metadata, and how much was seen.

    ``delivered`` counts entries of all reads, ``followed`` those of the plan's own clients, of which
    ``failed_reads`` did not end ok; the final reads are not theirs. ``short`` is what confirmed reads that
    ended ok did not deliver; ``short_reads`` has the first such read of each ledger: client, number,
    first and last entry asked for, entries delivered.
    """

    offences: Offences
    acked: Spans
    twice: Spans
    adds: int
    delivered: int
    followed: int
    failed_reads: int
    short: Spans
    short_reads: Folded
    versions: Versions


_RESTS_ON = ("operations",)


class Order:
    """Finds an add or an entry whose id is not the one due, an id acknowledged twice, and a short read."""

    name = "order"
    tables: tuple[str, ...] = (*_RESTS_ON, "ledgers")
    kinds: tuple[str, ...] = (*_SAID, "acked_twice", "ended_short")

    def scan(self, chunk: Chunk, run: RunFacts) -> Sequence:  # noqa: ARG002  # as agreed
        """Row by row: the id recorded against the id that was due."""
        rows = chunk.operations
        adds = rows.of(kind=Kind.ADD, outcome=Outcome.OK)
        entries = rows.of(kind=Kind.ENTRY, outcome=Outcome.OK)
        wrong_add = (adds["expected"] >= 0) & (adds["result"] != adds["expected"]) & ~flagged(adds, Flag.ADV)
        wrong_read = (entries["expected"] >= 0) & (entries["entry"] != entries["expected"])
        failed = rows.of(kind=Kind.READ).once(of_plan)
        failed = failed.where(np.isin(failed["outcome"], (Outcome.FAIL, Outcome.UNKNOWN)))
        reads = rows.of(kind=Kind.READ, outcome=Outcome.OK)
        reads = reads.where((reads["last"] >= 0) & (reads["result"] >= 0) & ~flagged(reads, Flag.UNCONFIRMED))
        reads = reads.where(reads["result"] < reads["last"] - reads["entry"] + 1)
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
            followed=entries.once(of_plan).number,
            failed_reads=failed.number,
            short=Spans.of_ranges(reads["ledger"], reads["entry"] + reads["result"], reads["last"]),
            short_reads=Folded.of_rows([reads["ledger"]], *((reads[name], FIRST) for name in _SHORT)),
            versions=scan_versions(chunk),
        )

    def merge(self, left: Sequence, right: Sequence) -> Sequence:
        """Both; an id that each side acknowledged once was acknowledged twice."""
        return Sequence(
            merge_offences(left.offences, right.offences),
            left.acked | right.acked,
            left.twice | right.twice | (left.acked & right.acked),
            left.adds + right.adds,
            left.delivered + right.delivered,
            left.followed + right.followed,
            left.failed_reads + right.failed_reads,
            left.short | right.short,
            left.short_reads | right.short_reads,
            left.versions | right.versions,
        )

    def conclude(self, summary: Sequence, run: RunFacts) -> Judgement:
        """Needs at least one acknowledged add or delivered entry."""
        twice = of_one_life(summary.twice, histories_of(summary.versions), run)
        findings = [*_rows(summary, run), *_twice(twice, run), *_short(summary, run)]
        lacking = shortcomings(run, _RESTS_ON)
        enough = summary.adds + summary.delivered > 0 and not lacking
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else Verdict.VALID if enough else Verdict.UNKNOWN,
            needed="whole evidence, and at least one acknowledged add or delivered entry",
            seen={name: getattr(summary, name) for name in ("adds", "delivered", "followed", "failed_reads")},
            findings=capped(findings),
            counts={
                **{kind: _total(summary, kind) for kind in _SAID},
                "acked_twice": twice.count(),
                "ended_short": summary.short.count(),
            },
            notes=tuple(lacking),
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


def _twice(twice: Spans, run: RunFacts) -> Iterator[Finding]:
    for ledger, first, last in twice:
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


def _short(summary: Sequence, run: RunFacts) -> Iterator[Finding]:
    """What reads did not deliver; the proof is the ledger's first such read."""
    for ledger, first, last in summary.short:
        [(_, client, seq, begin, end, number)] = summary.short_reads.of(ledger)
        yield Finding(
            property=Order.name,
            kind="ended_short",
            ledger=ledger,
            first_entry=first,
            last_entry=last,
            count=last - first + 1,
            text=f"{ledger_text(run, ledger)}: a read ended ok without {entries_text(first, last)}",
            proof=(
                f"{client_name(run, client)}, {operation_text(seq)}: a read of {entries_text(begin, end)} "
                f"ended ok with {counted(number, 'entry', 'entries')}",
            ),
        )
