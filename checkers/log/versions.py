"""Version orders: in which order the elements of each log came, as the reads show it.

Every committed read of a log should be a prefix of the longest one, which therefore is the order
of versions. Version i of a log is what it is after its element i. Source: Elle (VLDB 2020), section 4.3.

Works on flat arrays: lists are compared by flat index, a bounded number of elements at a time. Elements
may be any 64-bit integers, so they are ranked first; a pair of key and element is then one integer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidence.codes import Outcome
from evidence.exchange.transactions import Ints, Micro, Transactions

_NONE = -1


@dataclass(frozen=True, eq=False)
class Pairs:
    """A sorted table of the pairs that were appended or are in a version order.

    ``elements``: every element there is, sorted. ``pair``: sorted codes; of the same length ``append`` (the
    micro-operation, -1 for none, -2 for several) and ``row`` (the first in the version orders, -1 for none).
    ``first_row`` and ``append_of_row``: for each row of the version orders; ``row_of_append`` and
    ``several``: for each append, in the order in which they were given.
    """

    elements: Ints
    pair: Ints
    append: Ints
    row: Ints
    first_row: Ints
    append_of_row: Ints
    row_of_append: Ints
    several: Ints

    @staticmethod
    def of(given: Transactions, appends: Ints, key: Ints, element: Ints) -> Pairs:
        """From the appends, and the keys and elements of the version orders' rows."""
        elements, rank = np.unique(
            np.concatenate((given.element[appends], element)).astype(np.int64), return_inverse=True
        )
        codes = np.concatenate((given.key[appends], key)).astype(np.int64) * (len(elements) + 1) + rank
        pair, inverse = np.unique(codes, return_inverse=True)
        by_append, by_row = inverse[: len(appends)], inverse[len(appends) :]
        append = np.full(len(pair), _NONE, dtype=np.int64)
        append[by_append] = appends
        often = np.bincount(by_append, minlength=len(pair)) > 1
        append[often] = -2
        row = np.full(len(pair), _NONE, dtype=np.int64)
        row[by_row[::-1]] = np.arange(len(by_row))[::-1]
        return Pairs(
            elements=elements,
            pair=pair,
            append=append,
            row=row,
            first_row=row[by_row],
            append_of_row=append[by_row],
            row_of_append=row[by_append],
            several=often[by_append],
        )

    def appends_of(self, key: Ints, element: Ints) -> Ints:
        """The append of each pair, -1 for none, -2 for several."""
        at = self._find(key, element)
        return np.where(at >= 0, self.append[at], _NONE) if len(self.pair) else np.full(len(key), _NONE)

    def rows_of(self, key: Ints, element: Ints) -> Ints:
        """The first row of each pair in the version orders, -2 for a pair in none."""
        if not len(self.pair):
            return np.full(len(key), -2)
        at = self._find(key, element)
        row = np.where(at >= 0, self.row[at], _NONE)
        return np.where(row >= 0, row, -2)

    def _find(self, key: Ints, element: Ints) -> Ints:
        rank = np.searchsorted(self.elements, element)
        known = rank < len(self.elements)
        known[known] = self.elements[rank[known]] == element[known]
        code = key.astype(np.int64) * (len(self.elements) + 1) + rank
        at = np.searchsorted(self.pair, code)
        known &= at < len(self.pair)
        known[known] = self.pair[at[known]] == code[known]
        return np.where(known, at, -1)


NOBODY, SEVERAL = -1, -2
"""Instead of the append of an element: none is known; more than one is."""
EMPTY, FOREIGN = -1, -2
"""Instead of the version that a read saw: the log was empty; its last element is in no version order."""
_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class Versions:
    """The version orders of all logs, one after the other: ``v`` listed elements.

    ``base`` (keys + 1): the longest list of key k is rows ``base[k]`` to ``base[k + 1]``. Of length v:
    ``element``; ``append`` (the micro-operation that wrote it, ``NOBODY``, ``SEVERAL``); ``repeated`` (the
    element stands earlier in the same list too).

    ``reads``: micro-operations that are committed reads with a known list; ``prefix``: which of them are
    a prefix of the longest; ``seen``: the row of the version each saw (the first row of its last
    element), ``EMPTY`` or ``FOREIGN``. ``version`` (m): row of the version that each append made, -1 for one
    that no list shows. ``pairs`` finds appends by (key, element).
    """

    base: Ints
    element: Ints
    append: Ints
    repeated: NDArray[np.bool_]
    reads: Ints
    prefix: NDArray[np.bool_]
    seen: Ints
    version: Ints
    pairs: Pairs

    def key_of(self, rows: Ints) -> Ints:
        """The key of each row."""
        return np.searchsorted(self.base, rows, side="right") - 1


def version_orders(given: Transactions) -> Versions:
    """Read the version orders out of the committed reads."""
    reads = np.flatnonzero(
        (given.kind == Micro.READ) & (given.length >= 0) & (given.outcome[given.owner] == Outcome.OK)
    )
    longest = _longest(given, reads)
    has = longest >= 0
    lengths = np.zeros(len(longest), dtype=np.int64)
    lengths[has] = given.length[longest[has]]
    base = np.concatenate(([0], np.cumsum(lengths)))
    element = np.empty(int(base[-1]), dtype=given.elements.dtype)
    for at, values in flat(given, longest[has]):
        element[at : at + len(values)] = values
    key = np.repeat(np.arange(len(lengths)), lengths)
    appends = np.flatnonzero(given.kind == Micro.APPEND)
    pairs = Pairs.of(given, appends, key, element)
    first = pairs.first_row
    rows = np.arange(len(element))
    prefix = _is_prefix(given, reads, longest)
    version = np.full(len(given.kind), -1, dtype=np.int64)
    version[appends] = pairs.row_of_append
    return Versions(
        base=base,
        element=element,
        append=pairs.append_of_row,
        repeated=first != rows,
        reads=reads,
        prefix=prefix,
        seen=_seen(given, reads, prefix, base, pairs),
        version=version,
        pairs=pairs,
    )


def flat(given: Transactions, reads: Ints) -> Iterator[tuple[int, Ints]]:
    """The lists of some reads one after the other, in pieces: (position of the piece, its elements)."""
    ends = np.cumsum(given.length[reads])
    begin = done = 0
    while begin < len(reads):
        end = max(int(np.searchsorted(ends, done + _AT_ONCE, side="right")), begin + 1)
        piece = reads[begin:end]
        yield done, given.elements[_indices(given.start[piece], given.length[piece])]
        begin, done = end, int(ends[end - 1])


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
    ends = np.cumsum(given.length[reads[compared]])
    begin = done = 0
    while begin < len(compared):
        end = max(int(np.searchsorted(ends, done + _AT_ONCE, side="right")), begin + 1)
        rows = compared[begin:end]
        lengths = given.length[reads[rows]]
        same = (
            given.elements[_indices(given.start[reads[rows]], lengths)]
            == given.elements[_indices(model[rows], lengths)]
        )
        if not same.all():
            wrong = np.flatnonzero(~same)
            prefix[rows[np.unique(np.searchsorted(ends[begin:end] - done, wrong, side="right"))]] = False
        begin, done = end, int(ends[end - 1])
    return prefix


def _indices(start: Ints, length: Ints) -> Ints | slice[Any, Any, Any]:
    """Flat indices of lists, one after the other; a slice where they lie so already."""
    ends = np.cumsum(length)
    shift = start - (ends - length)
    if len(shift) and (shift == shift[0]).all():
        return slice(int(start[0]), int(start[0] + ends[-1]))
    indices: Ints = np.arange(ends[-1] if len(ends) else 0) + np.repeat(shift, length)
    return indices


def _seen(given: Transactions, reads: Ints, prefix: NDArray[np.bool_], base: Ints, pairs: Pairs) -> Ints:
    length = given.length[reads]
    key = given.key[reads]
    seen = np.full(len(reads), EMPTY, dtype=np.int64)
    some = prefix & (length > 0)
    seen[some] = pairs.first_row[base[key[some]] + length[some] - 1]
    other = np.flatnonzero(~prefix)
    last = given.elements[given.start[reads[other]] + length[other] - 1]
    seen[other] = pairs.rows_of(key[other], last)
    return seen
