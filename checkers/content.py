"""Content: what a read returns is what was written, byte for byte.

Payloads prove themselves: a reader recomputes the checksum and compares run, ledger and entry
with the header, so no list of writes is needed. An entry that proves itself was written, whether
its add was recorded or not; such entries are counted and are no anomaly. Up to the last entry of a closed
ledger all proven copies that the last census pass found must be the same writing, too, and where no fault may
have changed bytes on a disk or on their way, none of them is damaged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from checkers.facts.alterations import may_change_bytes, without_put_back
from checkers.facts.histories import Histories
from checkers.facts.ledgers import PASS_TIMES, histories, passes
from checkers.facts.parts import acked, delivered, entries_of, identified, proven, signed, written
from checkers.facts.wording import entries_text
from checkers.judging.checker import Checker
from checkers.judging.contract import Batch, LedgerFacts, RunFacts
from checkers.judging.found import Found, ledger_rows, mark_rows, set_rows, span_rows
from checkers.sets.marks import Marks, unmarked
from checkers.sets.spans import Spans
from evidence.codes import Holding, Kind, Proof
from evidence.findings import Finding, Judgement
from protocol.wording import counted

_BAD = {
    "damaged": (Proof.DAMAGED, "the payload's checksum is not that of its bytes", "damaged"),
    "foreign": (Proof.FOREIGN, "the payload is whole but of another run, ledger or entry", "as another"),
    "not_a_payload": (Proof.NONE, "the bytes do not begin with the header of any payload", "as no payload"),
}


class Content(Checker):
    """Finds returned bytes that do not prove themselves, two writings of one entry, and damaged copies."""

    name = "content"
    tables = ("operations", "census", "ledgers")
    needed = "whole evidence, and at least one entry delivered to a client"
    kinds = (*_BAD, "two_writings", "damaged_copy")
    figures = ("delivered", "unrecorded")
    facts = (PASS_TIMES,)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:  # noqa: ARG002  # by contract
        """What the delivered entries prove, and entries that are known with different bytes."""
        rows = batch.operations
        read, tried = rows.memo(delivered), rows.where(kind=Kind.ADD).memo(identified)
        returned = read.memo(proven).memo(signed)
        known = returned | rows.memo(acked).memo(written)
        last = max(facts.memo(passes), default=0)
        copies = batch.census.where(pass_number=last, holding=Holding.PRESENT).memo(signed)
        writings = known | copies
        damaged = batch.census.where(pass_number=last, holding=Holding.DAMAGED)
        damaged = damaged.filter(copies.spans().has(damaged["ledger"], damaged["entry"]))
        return Found.from_tables(
            *(set_rows(kind, read.where(proof=code).memo(entries_of)) for kind, (code, *_) in _BAD.items()),
            set_rows("known_twice", known.twice()),
            set_rows("written_twice", writings.twice()),
            span_rows("damaged_copy", damaged["ledger"], damaged["entry"], proof=[damaged["bookie"]]),
            mark_rows("writing", writings.among(writings.twice())),
            ledger_rows("tried", tried["ledger"], tried["entry"]),
            delivered=read.num_rows,
            unrecorded=(returned.spans() - tried.memo(entries_of)).count(),
            census_damaged=batch.census.where(holding=Holding.DAMAGED).num_rows,
        )

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs at least one delivered entry."""
        bad = {kind: found.spans(kind) for kind in _BAD}
        two = _written_twice(found, facts.memo(histories), run)
        spoiled = _damaged_copies(found, facts.memo(histories), run)
        findings = [*_bad(bad, run), *_two_writings(two, found.marks("writing"), run)]
        findings += _damaged(spoiled, found.marks("damaged_copy"), run)
        delivered, unrecorded, damaged = map(found.count, ("delivered", "unrecorded", "census_damaged"))
        lacking = run.shortcomings(self.tables)
        notes = []
        if unrecorded:
            notes.append(f"{counted(unrecorded, 'entry', 'entries')} read whose add was not recorded")
        if damaged:
            notes.append(f"{counted(damaged, 'census answer')} held other bytes than the entry's")
        return self.judgement(
            run,
            findings,
            seen={"delivered": delivered, "unrecorded": unrecorded},
            enough=delivered,
            lacking=lacking,
            notes=notes,
            undecided=[] if delivered or lacking else [row.ledger for row in found.by_ledger("tried")],
        )


def _written_twice(found: Found, histories: Histories, run: RunFacts) -> Spans:
    """Entries that clients know with different bytes, or, up to the end of a closed ledger, bookies hold."""
    ends = {} if run.damage_to(("ledgers",)) else histories.ends
    two = found.spans("known_twice") | (found.spans("written_twice") & Spans.up_to(ends))
    return without_put_back(two, histories, run)


def _damaged_copies(found: Found, histories: Histories, run: RunFacts) -> Spans:
    """Entries up to the end of a closed ledger of which a bookie holds other bytes, and another the entry.

    None where a fault may have changed bytes, or damage may hide one.
    """
    if may_change_bytes(run):
        return Spans.empty()
    return without_put_back(found.spans("damaged_copy") & Spans.up_to(histories.ends), histories, run)


def _damaged(spoiled: Spans, copies: Marks, run: RunFacts) -> Iterator[Finding]:
    for ledger, first, last in spoiled:
        bookies = sorted({bookie for bookie, *_ in copies.within(ledger, first, last)})
        names, entries = ", ".join(map(run.bookie_name, bookies)), entries_text(first, last)
        yield run.finding(
            "content/damaged_copy",
            (ledger, first, last),
            f"{names} holds other bytes than those of {entries}",
            f"the last census pass: {names} answered with other bytes, another bookie with {entries}",
            "no fault of the run may have changed bytes on a disk or on their way",
        )


def _bad(bad: Mapping[str, Spans], run: RunFacts) -> Iterator[Finding]:
    for kind, (_, why, how) in _BAD.items():
        for ledger, first, last in bad[kind]:
            entries = entries_text(first, last)
            yield run.finding(
                f"content/{kind}", (ledger, first, last), f"{entries} read back {how}", f"{entries}: {why}"
            )


def _two_writings(two: Spans, writings: Marks, run: RunFacts) -> Iterator[Finding]:
    for ledger, first, last in two:
        marks = {mark for mark, *_ in writings.within(ledger, first, last)}
        entries = entries_text(first, last)
        yield run.finding(
            "content/two_writings",
            (ledger, first, last),
            f"{entries} known with different bytes",
            *(
                f"{entries}: written by {run.client_name(writer)} with {size} bytes"
                for writer, size in sorted(map(unmarked, marks))
            ),
        )
