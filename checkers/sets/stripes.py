"""Sets of entries by who has them, small also where entries go round an ensemble.

With E > WQ a bookie has three entries of every five, say: spans of neighbours would be as many as
there are entries. Here a set is kept as spans of every n-th entry, with n found from the rows
themselves, so that a bookie has WQ such spans in a ledger of any length. Built like
:mod:`checkers.sets.spans`; knows no frame and no bookie (``who`` is any number).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.sets.spans import Bools, Ints, Spans, ints, runs, sweep

_MOST_STRIDE = 99  # no ensemble is larger than the largest run
_FEW = 8  # so many spans of neighbours in a ledger are left as they are


@dataclass(frozen=True, slots=True, eq=False)
class Stripes:
    """A set of (ledger, who, entry), immutable.

    A row stands for the entries ``number * stride + residue``, number from ``first`` to ``last``.
    The rows are sorted by ledger; the same set may be kept in other rows, with another stride.
    """

    ledger: Ints
    who: Ints
    stride: Ints
    residue: Ints
    first: Ints
    last: Ints

    @classmethod
    def empty(cls) -> Stripes:
        """The set of nothing."""
        none = np.empty(0, dtype=np.int64)
        return cls(none, none, none, none, none, none)

    @classmethod
    def of_rows(cls, ledger: NDArray[Any], who: NDArray[Any], entry: NDArray[Any]) -> Stripes:
        """The set of the rows given, in any order, with repeats; fastest when sorted by ledger and entry."""
        parts = [cls.empty()]
        for one in np.unique(who).tolist():
            mine = who == one
            (ledgers,), first, last = runs([ints(ledger[mine])], ints(entry[mine]))
            parts += _striped(one, Spans(ledgers, first, last))
        return _joined(parts)

    @classmethod
    def of_spans(cls, who: int, spans: Spans) -> Stripes:
        """What one has, given as spans."""
        return _joined([cls.empty(), *_striped(who, spans)])

    def __or__(self, other: Stripes) -> Stripes:
        if not len(self) or not len(other):
            return self if len(self) else other
        return _joined([self, other])

    def __len__(self) -> int:
        """How many rows it takes."""
        return len(self.first)

    def of(self, ledger: int) -> Stripes:
        """The part of one ledger."""
        begin, end = np.searchsorted(self.ledger, [ledger, ledger + 1])
        return Stripes(*(column[begin:end] for column in self._columns()))

    def everyone(self) -> list[int]:
        """Who has anything, ascending."""
        return [int(who) for who in np.unique(self.who)]

    def spans(self, who: int) -> Spans:
        """What one has, as spans of neighbours."""
        found, mine = Spans.empty(), self.who == who
        columns = (self.ledger, self.stride, self.residue, self.first, self.last)
        for ledger, stride, residue, first, last in zip(*(c[mine].tolist() for c in columns), strict=True):
            if stride == 1:
                found |= Spans.of_ranges(ledger, first, last)
            else:
                found |= Spans.of_entries(
                    ledger, np.arange(first, last + 1, dtype=np.int64) * stride + residue
                )
        return found

    def having(self, ledger: int, entries: Ints) -> Iterator[tuple[int, Bools]]:
        """(who, mask of ``entries``) for everyone who has some of these entries of one ledger."""
        mine = self.of(ledger)
        for who in mine.everyone():
            had = np.zeros(len(entries), dtype=np.bool_)
            rows = mine.who == who
            for stride, residue in set(
                zip(mine.stride[rows].tolist(), mine.residue[rows].tolist(), strict=True)
            ):
                same = rows & (mine.stride == stride) & (mine.residue == residue)
                numbers = Spans(mine.ledger[same], mine.first[same], mine.last[same])
                had |= (entries % stride == residue) & numbers.holds(ledger, entries // stride)
            if had.any():
                yield who, had

    def _columns(self) -> tuple[Ints, ...]:
        return self.ledger, self.who, self.stride, self.residue, self.first, self.last


def _joined(parts: list[Stripes]) -> Stripes:
    """The union; rows of one stride that touch become one."""
    columns = [np.concatenate(column) for column in zip(*(part._columns() for part in parts), strict=True)]
    *keys, first, last = columns
    ones = np.ones(len(first), dtype=np.int64)
    (ledger, who, stride, residue), begin, end = sweep(keys, first, last, ones, lambda depth: depth > 0)
    return Stripes(ledger, who, stride, residue, begin, end)


def _striped(who: int, spans: Spans) -> list[Stripes]:
    """What one has: as it is, or by strides in ledgers where that takes fewer rows."""
    strides = _strides(spans)
    parts = [_rows(who, spans.without(strides), 1)]
    for ledger, stride in strides.items():
        whole = spans.of(ledger)
        entries = whole.entries()
        residues = entries % stride
        sliced = [
            _rows(who, Spans.of_entries(ledger, entries[residues == residue] // stride), stride, residue)
            for residue in np.unique(residues).tolist()
        ]
        parts += sliced if sum(map(len, sliced)) < len(whole) else [_rows(who, whole, 1)]
    return parts


def _rows(who: int, spans: Spans, stride: int, residue: int = 0) -> Stripes:
    return Stripes(
        spans.ledger,
        np.full(len(spans), who),
        np.full(len(spans), stride),
        np.full(len(spans), residue),
        spans.first,
        spans.last,
    )


def _strides(spans: Spans) -> dict[int, int]:
    """Ledger -> the most frequent distance from span to span, for ledgers with many spans."""
    ledgers, counts = np.unique(spans.ledger, return_counts=True)
    found = {}
    for ledger in ledgers[counts > _FEW].tolist():
        steps = np.diff(spans.of(ledger).first)
        steps = steps[steps <= _MOST_STRIDE]
        if len(steps):
            found[ledger] = int(np.bincount(steps).argmax())
    return found
