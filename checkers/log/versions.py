"""Version orders: in which order the elements of each log came, as the reads show it.

Every committed read of a log should be a prefix of the longest one, which therefore is the order
of versions. Version i of a log is what it is after its element i. Source: Elle (VLDB 2020), section 4.3.

Works on flat arrays: lists are compared by flat index, a bounded number of elements at a time. Elements
may be any 64-bit integers, so they are ranked first; a pair of key and element is then one integer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checkers.sets.ordering import grouped
from evidence.codes import Outcome
from evidence.exchange.transactions import Ints, Micro, Transactions

NOBODY, SEVERAL = -1, -2
"""Instead of the append of an element: none is known; more than one is."""
EMPTY, FOREIGN = -1, -2
"""Instead of the version that a read saw: the log was empty; its last element is in no version order."""
_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs of key and element that were appended or are in a version order.

    ``elements`` are all elements, ``codes`` the pairs as one number each, both sorted. For each pair, and in
    a last row for pairs that are not here: ``append`` (a micro-operation, ``NOBODY`` or ``SEVERAL``) and
    ``row`` (the first in the version orders, or ``FOREIGN``).
    """

    elements: Ints
    codes: Ints
    append: Ints
    row: Ints

    def places(self, key: Ints, element: Ints) -> Ints:
        """Where each of some pairs is, -1 where it is not here."""
        if not len(self.codes):
            return np.full(len(key), -1)
        rank = np.searchsorted(self.elements, element)
        code = key.astype(np.int64) * (len(self.elements) + 1) + rank
        at = np.searchsorted(self.codes, code)
        known = self.elements.take(rank, mode="clip") == element
        return np.where(known & (self.codes.take(at, mode="clip") == code), at, -1)

    def appends_of(self, key: Ints, element: Ints) -> Ints:
        """The append of each of some pairs, ``NOBODY`` or ``SEVERAL``."""
        return self.append[self.places(key, element)]


@dataclass(frozen=True, eq=False)
class Versions:
    """The version orders of all logs, one after the other: ``v`` listed elements."""

    base: Ints
    """(keys + 1) The longest list of key k is rows ``base[k]`` to ``base[k + 1]``."""
    element: Ints
    """(v) Its number."""
    append: Ints
    """(v) The micro-operation that wrote the element, ``NOBODY`` or ``SEVERAL``."""
    repeated: NDArray[np.bool_]
    """(v) Whether the element stands earlier in the same list too."""
    reads: Ints
    """Micro-operations that are committed reads with a known list."""
    prefix: NDArray[np.bool_]
    """(reads) Whether it is a prefix of the longest list."""
    seen: Ints
    """(reads) Row of the version it saw (the first row of its last element), ``EMPTY`` or ``FOREIGN``."""
    last_append: Ints
    """(reads) The append of its last element."""
    version: Ints
    """(m) Row of the version that each append made, below 0 where no list shows it."""
    several: int
    """Number of appends that repeat an element of their log."""
    pairs: Pairs
    """Finds appends by (key, element)."""

    def key_of(self, rows: Ints) -> Ints:
        """The key of each row."""
        return np.searchsorted(self.base, rows, side="right") - 1


def version_orders(given: Transactions) -> Versions:
    """Read the version orders out of the committed reads."""
    committed = given.outcome[given.owner] == Outcome.OK
    reads = np.flatnonzero((given.kind == Micro.READ) & (given.length >= 0) & committed)
    longest = _longest(given, reads)
    lengths = np.zeros(len(longest), dtype=np.int64)
    lengths[longest >= 0] = given.length[longest[longest >= 0]]
    base = np.concatenate(([0], np.cumsum(lengths)))
    element = np.empty(int(base[-1]), dtype=given.elements.dtype)
    for at, values in flat(given, longest[longest >= 0]):
        element[at : at + len(values)] = values
    appends = np.flatnonzero(given.kind == Micro.APPEND)
    pairs, of_append, of_row = _pairs(given, appends, np.repeat(np.arange(len(lengths)), lengths), element)
    prefix = _is_prefix(given, reads, longest)
    seen, last_append = _last_elements(
        given, reads, np.where(prefix, base[given.key[reads]], -1), pairs, of_row
    )
    version = np.full(len(given.kind), -1, dtype=np.int64)
    version[appends] = pairs.row[of_append]
    return Versions(
        base=base,
        element=element,
        append=pairs.append[of_row],
        repeated=pairs.row[of_row] != np.arange(len(element)),
        reads=reads,
        prefix=prefix,
        seen=seen,
        last_append=last_append,
        version=version,
        several=int((pairs.append[of_append] == SEVERAL).sum()),
        pairs=pairs,
    )


def _pairs(given: Transactions, appends: Ints, key: Ints, element: Ints) -> tuple[Pairs, Ints, Ints]:
    """From the appends, and keys and elements of the version orders' rows; and the place of each of both."""
    elements, rank = np.unique(
        np.concatenate((given.element[appends], element)).astype(np.int64), return_inverse=True
    )
    keys = np.concatenate((given.key[appends], key)).astype(np.int64)
    codes, place = np.unique(keys * (len(elements) + 1) + rank, return_inverse=True)
    of_append, of_row = place[: len(appends)], place[len(appends) :]
    append = np.full(len(codes) + 1, NOBODY, dtype=np.int64)
    append[of_append] = appends
    append[np.flatnonzero(np.bincount(of_append) > 1)] = SEVERAL
    row = np.full(len(codes) + 1, FOREIGN, dtype=np.int64)
    row[of_row[::-1]] = np.arange(len(of_row))[::-1]
    return Pairs(elements, codes, append, row), of_append, of_row


def flat(given: Transactions, reads: Ints) -> Iterator[tuple[int, Ints]]:
    """The lists of some reads one after the other, in pieces: (position of the piece, its elements)."""
    before = np.cumsum(given.length[reads]) - given.length[reads]
    for begin, end in grouped(given.length[reads], _AT_ONCE):
        own = reads[begin:end]
        yield int(before[begin]), given.elements[_indices(given.start[own], given.length[own])]


def _longest(given: Transactions, reads: Ints) -> Ints:
    """For each key the first of its longest reads, -1 where nothing was read."""
    longest = np.full(len(given.key_names), -1, dtype=np.int64)
    by_length = reads[np.lexsort((-reads, given.length[reads]))]
    longest[given.key[by_length]] = by_length
    return longest


def _is_prefix(given: Transactions, reads: Ints, longest: Ints) -> NDArray[np.bool_]:
    """Which reads are a prefix of their key's longest read."""
    prefix = np.ones(len(reads), dtype=np.bool_)
    model = given.start[longest[given.key[reads]]]
    compared = np.flatnonzero((given.length[reads] > 0) & (given.start[reads] != model))
    for begin, end in grouped(given.length[reads[compared]], _AT_ONCE):
        rows = compared[begin:end]
        lengths = given.length[reads[rows]]
        own = given.elements[_indices(given.start[reads[rows]], lengths)]
        same = own == given.elements[_indices(model[rows], lengths)]
        if not same.all():
            prefix[np.repeat(rows, lengths)[~same]] = False
    return prefix


def _indices(start: Ints, length: Ints) -> Ints | slice[int, int, int]:
    """Flat indices of lists, one after the other; a slice where they lie so already."""
    ends = np.cumsum(length)
    shift = start - (ends - length)
    if len(shift) and (shift == shift[0]).all():
        return slice(int(start[0]), int(start[0] + ends[-1]))
    indices: Ints = np.arange(ends[-1] if len(ends) else 0) + np.repeat(shift, length)
    return indices


def _last_elements(
    given: Transactions, reads: Ints, first: Ints, pairs: Pairs, of_row: Ints
) -> tuple[Ints, Ints]:
    """Of each read the version that it saw, and the append of its last element.

    ``first`` is the first row of the log's order where the read is a prefix of it, else -1.
    """
    length = given.length[reads]
    place = np.full(len(reads), -1, dtype=np.int64)
    ordered = (first >= 0) & (length > 0)
    place[ordered] = of_row[first[ordered] + length[ordered] - 1]
    other = np.flatnonzero(first < 0)
    last = given.elements[given.start[reads[other]] + length[other] - 1]
    place[other] = pairs.places(given.key[reads[other]], last)
    return np.where(length > 0, pairs.row[place], EMPTY), pairs.append[place]
