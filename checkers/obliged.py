"""What must be kept: the obliged set of every ledger, and who was promised it.

Sources: BP-31 (the durability contract), the replication protocol ("Guarantees"), and the rules
in ``docs/verdicts.md``. A promise is an ok add without DEFERRED_SYNC, a deferred add that was
acknowledged before an ok force was invoked, every id up to a LAC that a client was told, every
entry that a confirmed read returned and, once CLOSED, every id up to the last entry. A delete
that was invoked releases its ledger, unless it failed before anything was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from checkers.contract import RunFacts
from checkers.marks import Marks, unmarked
from checkers.peaks import Peaks, merge_peaks, peaks
from checkers.spans import Spans
from checkers.wording import client_name, entries_text, operation_text
from evidence.codes import Flag, Kind, Outcome

_Key = TypeVar("_Key")
Columns = Mapping[str, NDArray[Any]]
TELLING = (Kind.ADD, Kind.OPEN, Kind.READ, Kind.LAC, Kind.FORCE)
"""Kinds whose ``lac`` is a LAC told to the client (for WATCHED the column means another thing)."""


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


def scan_promises(rows: Columns) -> Promises:
    """The promises in the rows of one chunk, in any order."""
    kind, ok = rows["kind"], rows["outcome"] == Outcome.OK
    added = ok & (kind == Kind.ADD) & (rows["entry"] >= 0)
    late = (rows["flags"] & Flag.DEFERRED_SYNC) != 0
    confirmed = (rows["flags"] & Flag.UNCONFIRMED) == 0
    read = ok & (kind == Kind.ENTRY) & confirmed & (rows["entry"] >= 0)
    return Promises(
        acked=_marks(rows, added & ~late),
        deferred=_marks(rows, added & late),
        read=Spans.of_entries(rows["ledger"][read], rows["entry"][read]),
        forced=_peaks(rows, "entry", ok & (kind == Kind.FORCE) & (rows["entry"] >= 0)),
        told=_peaks(rows, "lac", ok & np.isin(kind, TELLING) & (rows["lac"] >= 0)),
        top=_peaks(rows, "entry", added),
        released=_earliest(rows, (kind == Kind.DELETE) & (rows["outcome"] != Outcome.FAIL)),
    )


def merge_promises(left: Promises, right: Promises) -> Promises:
    """The promises of both."""
    return Promises(
        acked=left.acked | right.acked,
        deferred=left.deferred | right.deferred,
        read=left.read | right.read,
        forced=merge_peaks(left.forced, right.forced),
        told=merge_peaks(left.told, right.told),
        top=merge_peaks(left.top, right.top),
        released=merge_earliest(left.released, right.released),
    )


def merge_earliest(left: Mapping[_Key, int], right: Mapping[_Key, int]) -> dict[_Key, int]:
    """The smaller value of each key of two mappings."""
    merged = dict(left)
    for key, value in right.items():
        merged[key] = min(merged.get(key, value), value)
    return merged


def _marks(rows: Columns, pick: NDArray[np.bool_]) -> Marks:
    return Marks.of_rows(
        rows["ledger"][pick], rows["entry"][pick], rows["client"][pick], rows["size_bytes"][pick]
    )


def _peaks(rows: Columns, column: str, pick: NDArray[np.bool_]) -> Peaks:
    return peaks(rows["ledger"][pick], rows[column][pick], rows["client"][pick], rows["seq"][pick])


def _earliest(rows: Columns, pick: NDArray[np.bool_]) -> dict[int, int]:
    earliest: dict[int, int] = {}
    for ledger, at_ns in zip(rows["ledger"][pick].tolist(), rows["invoked_ns"][pick].tolist(), strict=True):
        earliest[ledger] = min(earliest.get(ledger, at_ns), at_ns)
    return earliest


@dataclass(frozen=True, slots=True)
class Obliged:
    """The obliged set: ``acknowledged`` are the adds in it, ``entries`` everything; ``marks`` of the adds."""

    acknowledged: Spans
    entries: Spans
    marks: Marks


def obliged(promises: Promises, ends: Mapping[int, int]) -> Obliged:
    """Everything promised, of released ledgers too; ``ends`` is ledger -> last entry of its close."""
    forced = Spans.up_to({ledger: peak.value for ledger, peak in promises.forced.items()})
    anchored = promises.deferred.spans() & forced
    acknowledged = promises.acked.spans() | anchored
    told = Spans.up_to({ledger: peak.value for ledger, peak in promises.told.items()})
    entries = acknowledged | told | promises.read | Spans.up_to(ends)
    return Obliged(acknowledged, entries, promises.acked | promises.deferred)


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
