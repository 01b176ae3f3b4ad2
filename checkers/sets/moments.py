"""When something happened to entries: exact where there is little of it, bounds where there is much.

An accusation that rests on order in time needs the times of two events about one entry, which may
lie in different chunks. Keeping every time would make a summary as large as the evidence, so the
entries of a ledger are taken in blocks of ``BLOCK``: up to ``FEW`` moments of a block are kept one by
one; of a block with more, which entries they were about, and the earliest and the latest time in it.
Both are functions of all the moments together, so it does not matter how they were cut. Whoever
convicts must convict by the bounds. Knows no frame and no finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from checkers.sets.spans import Bools, Ints, Spans, ints

BLOCK = 1_024
"""Entries of a block; entry -1 (what concerns the ledger) is a block with others below 0."""
FEW = 64
"""Moments of one block that are kept one by one."""
Bits = NDArray[np.uint8]
_NONE = np.empty(0, dtype=np.int64)


class Pieces(NamedTuple):
    """Ranges of entries of one ledger, each with bounds: ``early`` <= any moment of it <= ``late``."""

    first: Ints
    last: Ints
    early: Ints
    late: Ints

    def at(self, entry: int) -> Pieces:
        """The pieces that hold one entry."""
        return self.where((self.first <= entry) & (self.last >= entry))

    def where(self, keep: Bools | Ints) -> Pieces:
        """The pieces picked, by mask or by place."""
        return Pieces(*(column[keep] for column in self))

    def firsts(self) -> Pieces:
        """Disjoint, ascending: of each entry the moment that ended first."""
        order = np.lexsort((self.early, self.late, self.first))
        ordered = self.where(order)
        fresh = np.ones(len(order), dtype=np.bool_)
        fresh[1:] = np.diff(ordered.first) > 0
        return ordered.where(fresh)

    def spans(self, ledger: int) -> Spans:
        """The entries, as a set."""
        return Spans.of_ranges(np.full(len(self.first), ledger), self.first, self.last)


class Pairs(NamedTuple):
    """What two lists of pieces have in common: a range, and the number of the piece in each."""

    first: Ints
    last: Ints
    left: Ints
    right: Ints


def pairs(left: Pieces, right: Pieces) -> Pairs:
    """Every overlap of a left piece with a right one; ``right`` must be disjoint and ascending."""
    begin = np.searchsorted(right.last, left.first, side="left")
    end = np.searchsorted(right.first, left.last, side="right")
    number = np.maximum(end - begin, 0)
    lefts = np.repeat(np.arange(len(number), dtype=np.int64), number)
    offsets = np.arange(len(lefts), dtype=np.int64) - np.repeat(np.cumsum(number) - number, number)
    rights = begin[lefts] + offsets
    return Pairs(
        np.maximum(left.first[lefts], right.first[rights]),
        np.minimum(left.last[lefts], right.last[rights]),
        lefts,
        rights,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Moments of (who, ledger, entry), each from ``early`` to ``late`` (ns), as a multiset; immutable.

    ``who`` is any number that tells apart what must be. ``rows`` are (ledger, who, entry, early, late)
    of blocks with few, sorted; ``crowds`` (ledger, who, block, early, late) of the other blocks, sorted,
    and ``bits`` has a row for each of those: which of its entries, packed.
    """

    rows: tuple[Ints, ...]
    crowds: tuple[Ints, ...]
    bits: Bits

    @classmethod
    def empty(cls) -> Moments:
        """No moment."""
        return cls((_NONE,) * 5, (_NONE,) * 5, np.empty((0, BLOCK // 8), dtype=np.uint8))

    @classmethod
    def of(
        cls, who: ArrayLike, ledger: ArrayLike, entry: ArrayLike, early: ArrayLike, late: ArrayLike
    ) -> Moments:
        """The moments given, one a row, in any order."""
        rows = tuple(map(ints, (ledger, who, entry, early, late)))
        return _settled(replace(cls.empty(), rows=rows))

    def __or__(self, other: Moments) -> Moments:
        if not len(other):
            return self
        if not len(self):
            return other
        rows, crowds = _stacked(self.rows, other.rows), _stacked(self.crowds, other.crowds)
        return _settled(Moments(rows, crowds, np.concatenate([self.bits, other.bits])))

    def __len__(self) -> int:
        """How many moments and blocks are kept (not how many moments there were)."""
        return len(self.rows[0]) + len(self.crowds[0])


def _settled(moments: Moments) -> Moments:
    """Sorted, and rows of blocks with too many of them made a part of their crowd."""
    order = np.lexsort((moments.rows[2], moments.rows[1], moments.rows[0]))
    ledger, who, entry, early, late = (column[order] for column in moments.rows)
    rows = (ledger, who, entry, early, late)
    begin = _starts((ledger, who, entry // BLOCK))
    size = np.diff(np.append(begin, len(entry)))
    keys = (ledger[begin], who[begin], entry[begin] // BLOCK)
    crowded = _crowded(keys, size, moments.crowds[:3])
    if not crowded.any():
        return Moments(rows, *_together(moments.crowds, moments.bits))
    least, most = np.minimum.reduceat(early, begin), np.maximum.reduceat(late, begin)
    fresh = (*(key[crowded] for key in keys), least[crowded], most[crowded])
    among = np.repeat(crowded, size)
    place = np.repeat(np.cumsum(crowded) - 1, size)[among]
    held = np.zeros((len(fresh[0]), BLOCK), dtype=np.bool_)
    held[place, entry[among] % BLOCK] = True
    bits = np.concatenate([moments.bits, np.packbits(held, axis=1)])
    return Moments(
        tuple(column[~among] for column in rows), *_together(_stacked(moments.crowds, fresh), bits)
    )


def _crowded(keys: Sequence[Ints], size: Ints, known: Sequence[Ints]) -> Bools:
    """Which of the blocks have more than ``FEW`` moments, or are among those ``known`` to have."""
    stacked = _stacked(keys, known)
    weight = np.concatenate([size, np.full(len(known[0]), FEW + 1, dtype=np.int64)])
    order = np.lexsort(stacked[::-1])
    begin = _starts([key[order] for key in stacked])
    if not len(begin):
        return np.zeros(0, dtype=np.bool_)
    total = np.add.reduceat(weight[order], begin)
    crowded = np.empty(len(order), dtype=np.bool_)
    crowded[order] = np.repeat(total > FEW, np.diff(np.append(begin, len(order))))
    return crowded[: len(size)]


def _together(crowds: tuple[Ints, ...], bits: Bits) -> tuple[tuple[Ints, ...], Bits]:
    """One row for each block, sorted."""
    order = np.lexsort(crowds[2::-1])
    *keys, early, late = (column[order] for column in crowds)
    begin = _starts(keys)
    if not len(begin):
        return crowds, bits
    bounds = np.minimum.reduceat(early, begin), np.maximum.reduceat(late, begin)
    return (*(key[begin] for key in keys), *bounds), np.bitwise_or.reduceat(bits[order], begin, axis=0)


def _starts(columns: Sequence[Ints]) -> Ints:
    """Where a row differs from the row before it."""
    if not len(columns[0]):
        return _NONE
    fresh = np.zeros(len(columns[0]), dtype=np.bool_)
    fresh[0] = True
    for column in columns:
        fresh[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(fresh)


def _stacked(left: Sequence[Ints], right: Sequence[Ints]) -> tuple[Ints, ...]:
    return tuple(np.concatenate([mine, theirs]) for mine, theirs in zip(left, right, strict=True))


class Index:
    """The moments by (ledger, who), for those who conclude."""

    def __init__(self, moments: Moments) -> None:
        self._moments = moments
        self._rows = _slices(moments.rows)
        self._crowds = _slices(moments.crowds)

    def known(self) -> list[tuple[int, int]]:
        """Every (ledger, who) that has a moment, ascending."""
        return sorted({*self._rows, *self._crowds})

    def of(self, ledger: int, who: int) -> Pieces:
        """What is known of one of them, ascending by first entry; empty when nothing is."""
        rows = slice(*self._rows.get((ledger, who), (0, 0)))
        _, _, entry, early, late = (column[rows] for column in self._moments.rows)
        if (ledger, who) not in self._crowds:
            return Pieces(entry, entry, early, late)
        crowds = slice(*self._crowds[ledger, who])
        _, _, block, least, most = (column[crowds] for column in self._moments.crowds)
        place, first, last = _spread(self._moments.bits[crowds])
        first, last = first + block[place] * BLOCK, last + block[place] * BLOCK
        pieces = Pieces(
            np.concatenate([entry, first]),
            np.concatenate([entry, last]),
            np.concatenate([early, least[place]]),
            np.concatenate([late, most[place]]),
        )
        return pieces.where(np.argsort(pieces.first, kind="stable"))


def _spread(bits: Bits) -> tuple[Ints, Ints, Ints]:
    """(row, first, last) of every run of set bits."""
    held = np.zeros((len(bits), BLOCK + 2), dtype=np.int8)
    held[:, 1:-1] = np.unpackbits(bits, axis=1)
    steps = np.diff(held, axis=1)
    row, first = np.nonzero(steps == 1)
    return row, first, np.nonzero(steps == -1)[1] - 1


def _slices(columns: Sequence[Ints]) -> dict[tuple[int, int], tuple[int, int]]:
    ledger, who = columns[:2]
    begin = _starts((ledger, who))
    edges = zip(begin.tolist(), [*begin[1:].tolist(), len(ledger)], strict=True) if len(begin) else ()
    return dict(zip(zip(ledger[begin].tolist(), who[begin].tolist(), strict=True), edges, strict=True))
