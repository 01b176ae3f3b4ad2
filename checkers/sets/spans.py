"""Sets of entries, kept as sorted disjoint spans per ledger.

What a checker finds rests on these: a set does not depend on the order of rows. Columns are ``int64``
arrays ``ledger``, ``first``, ``last`` (inclusive), sorted by ledger and first, spans neither touching nor
overlapping; equal sets are therefore equal arrays. Independent of operations and findings.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from checkers.sets.ordering import Column, begins, changes, is_sorted

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
LAST_ENTRY = 2**62
"""Larger than any entry id; stands for "to the end of the ledger"."""


def ints(values: ArrayLike) -> Ints:
    """``values`` as a flat ``int64`` array, without a copy where it is one already."""
    return np.atleast_1d(np.asarray(values, dtype=np.int64))


def sweep(
    groups: Sequence[Ints], first: Ints, last: Ints, weight: Ints, keep: Callable[[Ints], Bools]
) -> tuple[list[Ints], Ints, Ints]:
    """The maximal ranges on which ``keep(sum of weights)`` holds, group by group.

    ``groups`` are key columns of the same length as ``first``; ``keep`` maps an array of sums
    to booleans and must be false for 0. Returns the key columns, firsts and lasts of the ranges,
    sorted. Time grows as n log n.
    """
    if not len(first):
        return [key[:0] for key in groups], first, last
    position = np.concatenate([first, last + 1])
    step = np.concatenate([weight, -weight])
    keys = [np.concatenate([key, key]) for key in groups]
    order = np.lexsort((position, *reversed(keys)))
    position, step = position[order], step[order]
    keys = [key[order] for key in keys]
    events = begins(*keys, position)
    inside = keep(np.cumsum(np.add.reduceat(step, events)))
    before = np.concatenate([[False], inside[:-1]])
    begin, end = events[inside & ~before], events[~inside & before]
    return [key[begin] for key in keys], position[begin], position[end] - 1


def runs(groups: Sequence[Ints], entry: Ints) -> tuple[list[Ints], Ints, Ints]:
    """Unsorted single entries as maximal ranges, group by group; repeats count once."""
    keys = list(groups)
    if not len(entry):
        return keys, entry, entry
    if not is_sorted([*keys, entry]):
        order = np.lexsort((entry, *reversed(keys)))
        keys, entry = [key[order] for key in keys], entry[order]
    fresh = changes(*keys)
    fresh[1:] |= entry[1:] > entry[:-1] + 1
    begin = np.flatnonzero(fresh)
    end = np.append(begin[1:], len(entry)) - 1
    return [key[begin] for key in keys], entry[begin], entry[end]


class Ranges:
    """Sorted disjoint ranges of entries by some keys; ``|``, ``&`` and ``-`` work as for sets.

    A kind of them is a dataclass whose fields are the keys, the ledger first, then ``first`` and ``last``.
    """

    __slots__ = ()
    first: Ints
    last: Ints

    @classmethod
    def empty(cls) -> Self:
        """The set of nothing."""
        none = np.empty(0, dtype=np.int64)
        return cls._of(*(none for _ in fields(cls)))  # type: ignore[arg-type]

    @classmethod
    def _of(cls, *columns: Ints) -> Self:
        make: Callable[..., Self] = cls
        return make(*columns)

    @property
    def columns(self) -> tuple[Ints, ...]:
        """The keys, ``first`` and ``last`` of each range."""
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def __len__(self) -> int:
        """How many ranges there are (not entries)."""
        return len(self.first)

    def __iter__(self) -> Iterator[Any]:
        """The columns of each range, as plain ints, in order."""
        return zip(*(column.tolist() for column in self.columns), strict=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(map(np.array_equal, self.columns, other.columns))

    __hash__ = None  # type: ignore[assignment]  # compared by value, made of arrays

    def __or__(self, other: Self) -> Self:
        if not len(other):
            return self
        return self._with(other, 1, lambda depth: depth > 0) if len(self) else other

    def __and__(self, other: Self) -> Self:
        if not len(self) or not len(other):
            return self.empty()
        return self._with(other, 1, lambda depth: depth == 2)

    def __sub__(self, other: Self) -> Self:
        if not len(self) or not len(other):
            return self
        return self._with(other, 2, lambda depth: depth == 1)

    def _with(self, other: Self, weight: int, keep: Callable[[Ints], Bools]) -> Self:
        *keys, first, last = map(np.concatenate, zip(self.columns, other.columns, strict=True))
        weights = np.ones(len(first), dtype=np.int64)
        weights[len(self) :] = weight
        groups, begin, end = sweep(keys, first, last, weights, keep)
        return self._of(*groups, begin, end)


@dataclass(frozen=True, slots=True, eq=False)
class Spans(Ranges):
    """A set of (ledger, entry), immutable."""

    ledger: Ints
    first: Ints
    last: Ints

    @classmethod
    def from_entries(cls, ledger: ArrayLike, entry: ArrayLike) -> Spans:
        """The set of the rows (ledger, entry), in any order, with repeats; a scalar ledger spreads."""
        entries = ints(entry)
        keys, first, last = runs([np.broadcast_to(ints(ledger), entries.shape)], entries)
        return cls(keys[0], first, last)

    @classmethod
    def from_ranges(cls, ledger: ArrayLike, first: ArrayLike, last: ArrayLike) -> Spans:
        """The union of inclusive ranges, in any order, overlapping or not; empty ones are dropped."""
        ledgers, firsts, lasts = np.broadcast_arrays(ints(ledger), ints(first), ints(last))
        full = lasts >= firsts
        if len(full) == 1:  # many findings ask for one each
            return cls(ledgers[full], firsts[full], lasts[full])
        firsts, lasts = firsts[full], lasts[full]
        ones = np.ones(len(firsts), dtype=np.int64)
        keys, begin, end = sweep([ledgers[full]], firsts, lasts, ones, lambda depth: depth > 0)
        return cls(keys[0], begin, end)

    @classmethod
    def up_to(cls, ends: Mapping[int, int]) -> Spans:
        """Entries 0..end of each ledger; an end below 0 gives nothing."""
        return cls.from_ranges(list(ends), 0, list(ends.values())) if ends else cls.empty()

    @classmethod
    def beyond(cls, ends: Mapping[int, int]) -> Spans:
        """Every entry above the end, for each ledger named."""
        firsts = [end + 1 for end in ends.values()]
        return cls.from_ranges(list(ends), firsts, LAST_ENTRY) if ends else cls.empty()

    def count(self) -> int:
        """How many entries the set has."""
        return int(np.sum(self.last - self.first + 1))

    def ledgers(self) -> list[int]:
        """The ledgers that have an entry in the set, ascending."""
        return [int(ledger) for ledger in np.unique(self.ledger)]

    def of_ledger(self, ledger: int) -> Spans:
        """The part of one ledger."""
        begin, end = np.searchsorted(self.ledger, [ledger, ledger + 1])
        return Spans(self.ledger[begin:end], self.first[begin:end], self.last[begin:end])

    def above(self, entry: Ints) -> Spans:
        """What lies above a number for each span: one of its ledger."""
        return Spans.from_ranges(self.ledger, np.maximum(self.first, entry + 1), self.last)

    def up_to_each(self, entry: Ints) -> Spans:
        """What lies up to a number for each span: one of its ledger."""
        return Spans.from_ranges(self.ledger, self.first, np.minimum(self.last, entry))

    def without(self, ledgers: Collection[int]) -> Spans:
        """The set less everything of the ledgers named."""
        keep = ~np.isin(self.ledger, ints(sorted(ledgers)))
        return Spans(self.ledger[keep], self.first[keep], self.last[keep])

    def entries(self) -> Ints:
        """Every entry id, span after span: for one ledger, its entries ascending."""
        widths = self.last - self.first + 1
        starts = np.repeat(self.first - np.concatenate([[0], np.cumsum(widths)[:-1]]), widths)
        return starts + np.arange(widths.sum(), dtype=np.int64)

    def holds(self, ledger: int, entries: Ints) -> Bools:
        """For each entry of one ledger, whether it is in the set."""
        return self.of_ledger(ledger).has(np.full(len(entries), ledger), entries)

    def has(self, ledger: Column, entry: Column) -> Bools:
        """For each (ledger, entry), whether it is in the set."""
        return np.asarray(self.place(ledger, entry) >= 0)

    def place(self, ledger: Column, entry: Column) -> Ints:
        """For each (ledger, entry), the number of the span that holds it, -1 where there is none."""
        if not len(self) or not len(entry):
            return np.full(len(entry), -1, dtype=np.int64)
        ledgers, number = np.unique(self.ledger, return_inverse=True)
        first, last, entry = self.first, self.last, entry.astype(np.int64)
        width = int(entry.max()) + 2
        if len(ledgers) * width >= LAST_ENTRY:  # only the order of entries counts
            entries, entry = np.unique(entry, return_inverse=True)
            first, last = np.searchsorted(entries, first), np.searchsorted(entries, last, side="right") - 1
            width = len(entries) + 1
        # Ledger and entry as one number each: spans are sorted by both.
        begins = number * width + np.minimum(first, width - 1)
        mine = np.minimum(np.searchsorted(ledgers, ledger), len(ledgers) - 1)
        at = np.searchsorted(begins, mine * width + entry, side="right") - 1
        found = np.maximum(at, 0)
        inside = (self.ledger[found] == ledger) & (first[found] <= entry) & (entry <= last[found])
        return np.where(inside, found, -1)
