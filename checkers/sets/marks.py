"""Sets of entries that carry a mark: who wrote the entry and how long it is.

A payload is decided by its run, ledger, entry, writer and size, so two payloads that prove
themselves are the same bytes exactly when writer and size are equal: that pair is the mark.
Built like :mod:`checkers.sets.spans`, with the mark as a second key.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers.sets.ordering import Column
from checkers.sets.spans import Ints, Ranges, Spans, ints, runs, sweep

_LOW = np.int64(0xFFFFFFFF)


def mark_of(writer: Column, size_bytes: Column) -> Ints:
    """Writer's client number and payload size as one ``int64`` each."""
    return (writer.astype(np.int64) << np.int64(32)) | (size_bytes.astype(np.int64) & _LOW)


def unmarked(mark: int) -> tuple[int, int]:
    """(writer's client number, payload size in bytes) of a mark."""
    return mark >> 32, mark & 0xFFFFFFFF


@dataclass(frozen=True, slots=True, eq=False)
class Marks(Ranges):
    """A set of (ledger, entry, mark), immutable; an entry may carry several marks."""

    ledger: Ints
    mark: Ints
    first: Ints
    last: Ints

    @classmethod
    def from_rows(cls, ledger: Column, entry: Column, writer: Column, size_bytes: Column) -> Marks:
        """The set of the rows given, in any order, with repeats."""
        (ledgers, marks), first, last = runs([ints(ledger), mark_of(writer, size_bytes)], ints(entry))
        return cls(ledgers, marks, first, last)

    def spans(self) -> Spans:
        """The entries, whatever their marks."""
        return Spans.from_ranges(self.ledger, self.first, self.last)

    def twice(self) -> Spans:
        """The entries that carry two marks or more."""
        ones = np.ones(len(self), dtype=np.int64)
        keys, first, last = sweep([self.ledger], self.first, self.last, ones, lambda depth: depth > 1)
        return Spans(keys[0], first, last)

    def among(self, entries: Spans) -> Marks:
        """What the entries of a set carry."""
        parts = [self._among(ledger, entries.of_ledger(ledger)) for ledger in entries.ledgers()]
        return Marks(*map(np.concatenate, zip(*parts, strict=True))) if parts else Marks.empty()

    def _among(self, ledger: int, spans: Spans) -> tuple[Ints, Ints, Ints, Ints]:
        """Of one ledger: each range of mine, cut to each span that it overlaps."""
        mine = np.flatnonzero(self.ledger == ledger)
        begin = np.searchsorted(spans.last, self.first[mine])
        sizes = np.searchsorted(spans.first, self.last[mine], side="right") - begin
        row = np.repeat(mine, sizes)
        span = np.arange(len(row)) + np.repeat(begin - (np.cumsum(sizes) - sizes), sizes)
        first, last = (
            np.maximum(self.first[row], spans.first[span]),
            np.minimum(self.last[row], spans.last[span]),
        )
        return self.ledger[row], self.mark[row], first, last

    def within(self, ledger: int, first: int, last: int) -> list[tuple[int, int, int]]:
        """(mark, first, last) of what one range of one ledger carries, cut to the range."""
        mine = slice(*np.searchsorted(self.ledger, [ledger, ledger + 1]).tolist())
        marks, begins, ends = (column[mine] for column in (self.mark, self.first, self.last))
        hit = (begins <= last) & (ends >= first)
        cut = marks[hit], np.maximum(begins[hit], first), np.minimum(ends[hit], last)
        return list(zip(*(column.tolist() for column in cut), strict=True))
