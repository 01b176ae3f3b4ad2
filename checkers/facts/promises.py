"""What must be kept, and who was promised it.

Sources: BP-31 (the durability contract), the replication protocol ("Guarantees"), and the rules
in ``docs/verdicts/losses.md``. A promise is an ok add without DEFERRED_SYNC, a deferred add that was
acknowledged before an ok force was invoked, every id up to a LAC that a client received, every
entry that a confirmed read returned and, once CLOSED, every id up to the last entry. A delete
that was invoked releases its ledger, unless it failed before anything was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from checkers.facts.ledgers import HIGHEST_ACKED, HIGHEST_FORCED, HIGHEST_LAC, RELEASED
from checkers.facts.parts import acked, delivered, entries_of, flagged, written
from checkers.facts.wording import entries_text, operation_text
from checkers.judging.contract import Batch, LedgerFacts, RunFacts
from checkers.judging.found import Found, mark_rows, set_rows
from checkers.sets.marks import Marks, unmarked
from checkers.sets.spans import Spans
from evidence.codes import Flag

PROMISES = (HIGHEST_LAC, HIGHEST_ACKED, HIGHEST_FORCED, RELEASED)
"""The facts of ledgers that say what was promised beyond single entries."""


@dataclass(frozen=True, slots=True)
class Promises:
    """Entries that were promised one by one: by ok adds, by ok deferred adds, and by confirmed reads."""

    acked: Marks
    deferred: Marks
    read: Spans


def promises_of(batch: Batch) -> Promises:
    """The promises in one batch; worked out once."""
    return batch.memo(_promises_of)


def _promises_of(batch: Batch) -> Promises:
    rows = batch.operations
    added, read = rows.memo(acked), rows.memo(delivered)
    late = flagged(added, Flag.DEFERRED_SYNC)
    return Promises(
        acked=added.filter(~late).memo(written),
        deferred=added.filter(late).memo(written),
        read=read.filter(~flagged(read, Flag.UNCONFIRMED)).memo(entries_of),
    )


def acknowledged_in(batch: Batch, facts: LedgerFacts) -> Spans:
    """The promised adds of a batch: acknowledged ones, deferred ones only up to a successful force."""
    promises = promises_of(batch)
    deferred = promises.deferred.spans()
    anchored = deferred.up_to_each(facts.at(HIGHEST_FORCED, "entry", deferred.ledger, missing=-1))
    return promises.acked.spans() | anchored


def promised_in(batch: Batch, facts: LedgerFacts) -> Spans:
    """The entries of a batch that were promised: adds, and what confirmed reads returned."""
    return acknowledged_in(batch, facts) | promises_of(batch).read


def promised_by_lac(facts: LedgerFacts) -> Spans:
    """Every entry up to the highest LAC that a client received of its ledger."""
    highest = facts.columns(HIGHEST_LAC)
    return Spans.from_ranges(highest["ledger"], 0, highest["lac"])


def promise_rows(batch: Batch, entries: Spans) -> Iterator[pa.Table]:
    """Who was promised some entries of a batch, for :func:`promises_found`."""
    promises = promises_of(batch)
    if len(entries):
        yield mark_rows("promise_acked", promises.acked.among(entries))
        yield mark_rows("promise_deferred", promises.deferred.among(entries))
        yield set_rows("promise_read", promises.read & entries)


def promises_found(found: Found) -> Promises:
    """The promises of which :func:`promise_rows` were found."""
    return Promises(
        found.marks("promise_acked"), found.marks("promise_deferred"), found.spans("promise_read")
    )


def promise_proof(
    promises: Promises, span: tuple[int, int, int], facts: LedgerFacts, run: RunFacts
) -> Iterable[str]:
    """Sentences that say who was promised the entries of a (ledger, first, last)."""
    ledger, first, last = span
    for mark, begin, end in promises.acked.within(ledger, first, last):
        yield f"{run.client_name(unmarked(mark)[0])} got ok for {entries_text(begin, end)}"
    for _, highest, _, seq in facts.rows(HIGHEST_FORCED, ledger):
        for mark, begin, end in promises.deferred.within(ledger, first, min(last, highest)):
            yield (
                f"{run.client_name(unmarked(mark)[0])} got ok for {entries_text(begin, end)}, "
                f"and then ok for a force ({operation_text(seq)})"
            )
    for _, lac, client, seq in facts.rows(HIGHEST_LAC, ledger):
        if lac >= first:
            yield f"{run.client_name(client)} received LAC {lac} ({operation_text(seq)})"
    for _, begin, end in promises.read.of_ledger(ledger) & Spans.from_ranges(ledger, first, last):
        yield f"a confirmed read had returned {entries_text(begin, end)}"
