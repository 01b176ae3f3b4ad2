"""The latest rows of each kind, one by one, and of all earlier ones how many there were.

What came after a close or a fence came late; but when that was, no chunk by itself can tell. Of each
(ledger, who) the latest rows are therefore kept whole, as many as there is room for, and the rest as
totals. Which ones are kept follows from the set of all rows and not from how it was cut. Knows no
frame and no operation (``who`` is any number).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.spans import Bools, Ints, ints

Columns = Mapping[str, Ints]
NAMES = ("ledger", "who", "at_ns", "seq", "entry", "by", "until_ns")
_IN_ALL, _LEAST, _MOST = 2**17, 16, 1024


class Earlier(NamedTuple):
    """Totals of the rows of one (ledger, who) that are not kept: lowest and highest times and entries."""

    number: int
    first_ns: int
    last_ns: int
    lowest: int
    highest: int


Key = tuple[int, int]
"""(ledger, who)."""
Limit = tuple[int, int]
"""(time, entry): what is beyond it is later than the time and above the entry."""


@dataclass(frozen=True, slots=True, eq=False)
class Lately:
    """Rows with their time ``at_ns``; ``by`` and ``until_ns`` are what else a proof has to say.

    ``rows`` are sorted by ledger, who, time and ``seq``; ``earlier`` has the keys that have more.
    """

    rows: Columns
    earlier: Mapping[Key, Earlier]

    @classmethod
    def of_rows(cls, **columns: NDArray[Any]) -> Lately:
        """The rows given by the columns of ``NAMES``, in any order; (``seq``, ``by``) is one row's own."""
        return _trimmed({name: ints(columns[name]) for name in NAMES}, {})

    def __or__(self, other: Lately) -> Lately:
        rows = {name: np.concatenate([self.rows[name], other.rows[name]]) for name in NAMES}
        return _trimmed(rows, _summed(self.earlier, other.earlier))

    def after(self, key: Key, limits: Iterable[Limit]) -> Late:
        """The rows of one key that are beyond any of the limits."""
        rows, totals = self._of(*key), self.earlier.get(key)
        late = np.zeros(len(rows["seq"]), dtype=np.bool_)
        surely = perhaps = False
        for at_ns, last in limits:
            late |= (rows["at_ns"] > at_ns) & (rows["entry"] > last)
            surely |= totals is not None and totals.first_ns > at_ns and totals.lowest > last
            perhaps |= totals is not None and totals.last_ns > at_ns and totals.highest > last
        return Late(_picked(rows, late), totals if surely else None, perhaps and not surely)

    def of_entry(self, ledger: int, entry: int) -> Columns:
        """The rows that are kept of one entry."""
        rows = self._of(ledger)
        return _picked(rows, rows["entry"] == entry)

    @property
    def number(self) -> int:
        """How many rows there were in all."""
        return len(self.rows["seq"]) + sum(totals.number for totals in self.earlier.values())

    def _of(self, ledger: int, who: int | None = None) -> Columns:
        """The rows of one ledger, or of one key."""
        begin, end = np.searchsorted(self.rows["ledger"], [ledger, ledger + 1])
        if who is not None:
            begin, end = begin + np.searchsorted(self.rows["who"][begin:end], [who, who + 1])
        return {name: column[begin:end] for name, column in self.rows.items()}


class Late(NamedTuple):
    """What came late: rows, all rows that are not kept, or perhaps some of those (``perhaps``)."""

    rows: Columns
    more: Earlier | None
    perhaps: bool


def _picked(rows: Columns, pick: Bools) -> Columns:
    return {name: column[pick] for name, column in rows.items()}


def _trimmed(rows: Columns, earlier: Mapping[Key, Earlier]) -> Lately:
    """Sort, keep the latest of each key, add the others to the totals."""
    if not len(rows["seq"]):
        return Lately(rows, earlier)
    order = np.lexsort((rows["by"], rows["seq"], rows["at_ns"], rows["who"], rows["ledger"]))
    rows = {name: column[order] for name, column in rows.items()}
    new = (np.diff(rows["ledger"], prepend=rows["ledger"][0]) != 0) | (
        np.diff(rows["who"], prepend=rows["who"][0]) != 0
    )
    new[0] = True
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, len(new)))
    room = min(max(_IN_ALL // len(starts), _LEAST), _MOST)
    if not np.any(sizes > room):
        return Lately(rows, earlier)
    older = np.arange(len(new)) < np.repeat(starts + sizes - room, sizes)
    return Lately(_picked(rows, ~older), _summed(earlier, _totals(_picked(rows, older))))


def _totals(rows: Columns) -> dict[Key, Earlier]:
    """The totals of sorted rows by key."""
    keys = np.stack([rows["ledger"], rows["who"]])
    starts = np.flatnonzero(np.any(np.diff(keys, axis=1, prepend=keys[:, :1] - 1) != 0, axis=0))
    columns = (
        np.diff(np.append(starts, keys.shape[1])),
        np.minimum.reduceat(rows["at_ns"], starts),
        np.maximum.reduceat(rows["at_ns"], starts),
        np.minimum.reduceat(rows["entry"], starts),
        np.maximum.reduceat(rows["entry"], starts),
    )
    totals = zip(*(column.tolist() for column in columns), strict=True)
    return {
        (ledger, who): Earlier(*total)
        for (ledger, who), total in zip(keys[:, starts].T.tolist(), totals, strict=True)
    }


def _summed(left: Mapping[Key, Earlier], right: Mapping[Key, Earlier]) -> dict[Key, Earlier]:
    merged = dict(left)
    for key, theirs in right.items():
        mine = merged.get(key)
        merged[key] = theirs if mine is None else _sum(mine, theirs)
    return merged


def _sum(left: Earlier, right: Earlier) -> Earlier:
    return Earlier(
        left.number + right.number,
        min(left.first_ns, right.first_ns),
        max(left.last_ns, right.last_ns),
        min(left.lowest, right.lowest),
        max(left.highest, right.highest),
    )
