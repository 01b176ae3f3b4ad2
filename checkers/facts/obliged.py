"""What must be kept: the obliged set of every ledger, and who was promised it.

Sources: BP-31 (the durability contract), the replication protocol ("Guarantees"), and the rules
in ``docs/verdicts.md``. A promise is an ok add without DEFERRED_SYNC, a deferred add that was
acknowledged before an ok force was invoked, every id up to a LAC that a client was told, every
entry that a confirmed read returned and, once CLOSED, every id up to the last entry. A delete
that was invoked releases its ledger, unless it failed before anything was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from checkers.contract import Batch, Chunk, Found, LedgerFact, LedgerFacts, RunFacts
from checkers.facts.ledgers import HIGHEST_ACKED, HIGHEST_FORCED, HIGHEST_LAC, RELEASED
from checkers.facts.parts import (
    acked,
    deleted,
    delivered,
    earliest,
    entries_of,
    flagged,
    highest_lac,
    identified,
    peaks_of,
    told_lac,
    written,
)
from checkers.facts.wording import client_name, entries_text, operation_text
from checkers.found import mark_rows, set_rows
from checkers.sets.marks import Marks, unmarked
from checkers.sets.peaks import Peaks, peaks
from checkers.sets.spans import Spans
from evidence.codes import Flag, Kind, Outcome

_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class Promises:
    """The promises seen in some rows of ``operations``.

    ``released`` is ledger -> earliest invocation (ns) of a delete that was not ``fail``;
    ``forced`` the highest id acknowledged before an ok force; ``top`` the highest id acknowledged.
    """

    acked: Marks
    deferred: Marks
    read: Spans
    forced: Peaks
    told: Peaks
    top: Peaks
    released: Mapping[int, int]


def promises_of(chunk: Chunk) -> Promises:
    """The promises in one chunk; worked out once."""
    return chunk.once(_promises_of)


def _promises_of(chunk: Chunk) -> Promises:
    rows = chunk.operations
    added, read = rows.once(acked), rows.once(delivered)
    late = flagged(added, Flag.DEFERRED_SYNC)
    return Promises(
        acked=added.where(~late).once(written),
        deferred=added.where(late).once(written),
        read=read.where(~flagged(read, Flag.UNCONFIRMED)).once(entries_of),
        forced=peaks_of(rows.of(kind=Kind.FORCE, outcome=Outcome.OK).once(identified), "entry"),
        told=highest_lac(rows.once(told_lac)),
        top=peaks_of(added, "entry"),
        released=earliest(deleted(rows)),
    )


PROMISES = (HIGHEST_LAC, HIGHEST_ACKED, HIGHEST_FORCED, RELEASED)
"""The facts of ledgers that say what was promised beyond single entries."""


def acknowledged_in(batch: Batch, facts: LedgerFacts) -> Spans:
    """The adds of a batch that were promised: those that ended ok, of deferred ones those up to a force."""
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
    return Spans.of_ranges(highest["ledger"], 0, highest["lac"])


def promise_rows(batch: Batch, entries: Spans) -> Iterator[pa.Table]:
    """Who was promised some entries of a batch, for :func:`promises_found`."""
    promises = promises_of(batch)
    if len(entries):
        yield mark_rows("promise_acked", promises.acked.among(entries))
        yield mark_rows("promise_deferred", promises.deferred.among(entries))
        yield set_rows("promise_read", promises.read & entries)


def promises_found(found: Found, facts: LedgerFacts) -> Promises:
    """The promises of which :func:`promise_rows` were found."""
    released = facts.columns(RELEASED)
    return Promises(
        acked=found.marks("promise_acked"),
        deferred=found.marks("promise_deferred"),
        read=found.spans("promise_read"),
        forced=_peaks(facts, HIGHEST_FORCED, "entry"),
        told=_peaks(facts, HIGHEST_LAC, "lac"),
        top=_peaks(facts, HIGHEST_ACKED, "entry"),
        released=dict(zip(released["ledger"].tolist(), released["invoked_ns"].tolist(), strict=True)),
    )


def _peaks(facts: LedgerFacts, fact: LedgerFact, column: str) -> Peaks:
    columns = facts.columns(fact)
    return peaks(columns["ledger"], columns[column], columns["client"], columns["seq"])


def promise_proof(promises: Promises, span: tuple[int, int, int], run: RunFacts) -> Iterable[str]:
    """Sentences that say who was promised the entries of a (ledger, first, last)."""
    ledger, first, last = span
    for mark, begin, end in promises.acked.within(ledger, first, last):
        yield f"{client_name(run, unmarked(mark)[0])} was told ok for {entries_text(begin, end)}"
    forced = promises.forced.get(ledger)
    if forced:
        for mark, begin, end in promises.deferred.within(ledger, first, min(last, forced.value)):
            yield (
                f"{client_name(run, unmarked(mark)[0])} was told ok for {entries_text(begin, end)}, "
                f"and then ok for a force ({operation_text(forced.seq)})"
            )
    told = promises.told.get(ledger)
    if told and told.value >= first:
        yield f"{client_name(run, told.client)} was told LAC {told.value} ({operation_text(told.seq)})"
    for _, begin, end in promises.read.of(ledger) & Spans.of_ranges(ledger, first, last):
        yield f"a confirmed read had returned {entries_text(begin, end)}"
