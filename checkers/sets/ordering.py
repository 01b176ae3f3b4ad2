"""Sorting by ledger and entry, quick where rows are nearly sorted already, as in the tables; first rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Column = NDArray[Any]
"""A column of a table, of whole numbers of any width."""
_ENTRY_BITS = 40
_MOST_LEDGERS = 2 ** (62 - _ENTRY_BITS)


def in_order(ledger: Column, entry: Column) -> NDArray[np.intp] | None:
    """The places of the rows in their order by (ledger, entry), equal ones as they come; None if they are so.

    One key for both columns is sorted once, and a stable sort of a few sorted runs only merges them.
    """
    if len(ledger) < 2:
        return None
    lowest, least = int(ledger.min()), int(entry.min())
    if int(ledger.max()) - lowest >= _MOST_LEDGERS or int(entry.max()) - least >= 2**_ENTRY_BITS:
        return np.lexsort((entry, ledger))
    key = ((ledger - lowest) << _ENTRY_BITS) + (entry - least)
    if np.all(key[1:] >= key[:-1]):
        return None
    return np.argsort(key, kind="stable")


def is_sorted(columns: Sequence[Column]) -> bool:
    """Whether rows are sorted by the columns, the first column first."""
    tied = np.ones(max(0, len(columns[0]) - 1), dtype=np.bool_)
    for column in columns:
        if np.any(tied & (column[1:] < column[:-1])):
            return False
        tied &= column[1:] == column[:-1]
        if not tied.any():
            return True
    return True


def changes(*columns: Column) -> NDArray[np.bool_]:
    """True where a row differs from the row before it in any column; true for the first row."""
    fresh = np.zeros(len(columns[0]), dtype=np.bool_)
    fresh[:1] = True
    for column in columns:
        fresh[1:] |= column[1:] != column[:-1]
    return fresh


def begins(*columns: Column) -> NDArray[np.intp]:
    """Where each run of rows that are equal in all columns begins."""
    return np.flatnonzero(changes(*columns))


def grouped(sizes: Column, most: int) -> Iterator[tuple[int, int]]:
    """Places (begin, end) of neighbours with sizes of at most ``most`` together, or of one alone."""
    begin, ends = 0, np.cumsum(sizes)
    while begin < len(sizes):
        before = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield begin, end
        begin = end


def firsts(ledger: Column, *by: Column) -> NDArray[np.intp]:
    """The place of each ledger's first row by some columns, ledgers ascending."""
    order = np.lexsort((*reversed(by), ledger))
    return order[changes(ledger[order])]
