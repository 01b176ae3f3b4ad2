"""Look-ups by (key, element): which append wrote it, and where the version order has it.

Elements may be any 64-bit integers, so they are ranked first; a pair is then one integer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evidence.exchange.transactions import Ints, Transactions

_NONE = -1


@dataclass(frozen=True, eq=False)
class Pairs:
    """A sorted table of the pairs that were appended or stand in a version order.

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
        """The first row of each pair in the version orders, -2 for one that stands in none."""
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
