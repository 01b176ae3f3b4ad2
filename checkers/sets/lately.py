"""The latest rows of each kind, one by one, and of all earlier ones how many there were.

What came after a close or a fence came late; but when that was, no chunk by itself can tell. Of each
(ledger, who) the latest rows are therefore kept whole, as many as there is room for, and the rest as
totals. Which ones are kept follows from the set of all rows and not from how it was cut. Knows no
frame and no operation (``who`` is any number).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.sets.ordering import in_order, is_sorted
from checkers.sets.packing import Packed, packed, unpacked
from checkers.sets.spans import Bools, Ints, ints

Columns = Mapping[str, Ints]
NAMES = ("ledger", "who", "at_ns", "seq", "entry", "by", "until_ns")
_TOTALS = ("ledger", "who", "number", "first_ns", "last_ns", "lowest", "highest")
_IN_ALL, _LEAST, _MOST = 2**14, 16, 1024


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


@dataclass(frozen=True, eq=False)
class Lately:
    """Rows with their time ``at_ns``; ``by`` and ``until_ns`` are what else a proof has to say.

    ``rows`` are sorted by ledger, who, time and ``seq``; ``older`` has the totals of the others, by ledger
    and who.
    """

    rows: Columns
    older: Columns

    @classmethod
    def of_rows(cls, **columns: NDArray[Any]) -> Lately:
        """The rows given by the columns of ``NAMES``, in any order; (``seq``, ``by``) is one row's own."""
        return _trimmed({name: ints(columns[name]) for name in NAMES}, _NO_TOTALS)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled in a third of the room: summaries travel."""
        took_ns = self.rows["until_ns"] - self.rows["at_ns"]
        rows = {name: packed(took_ns if name == "until_ns" else self.rows[name]) for name in NAMES}
        return _unpickled, (rows, {name: packed(column) for name, column in self.older.items()})

    def __or__(self, other: Lately) -> Lately:
        return _trimmed(_joined(self.rows, other.rows), _summed(_joined(self.older, other.older)))

    @cached_property
    def earlier(self) -> Mapping[Key, Earlier]:
        """The totals of the rows that are not kept, of the keys that have such."""
        totals = zip(*(self.older[name].tolist() for name in _TOTALS), strict=True)
        return {(ledger, who): Earlier(*total) for ledger, who, *total in totals}

    @cached_property
    def latest_ns(self) -> Mapping[Key, int]:
        """Key -> the time of its latest row."""
        ledger, who, at_ns = (self.rows[name] for name in ("ledger", "who", "at_ns"))
        last = np.ones(len(ledger), dtype=np.bool_)
        last[:-1] = (ledger[1:] != ledger[:-1]) | (who[1:] != who[:-1])
        keys = zip(ledger[last].tolist(), who[last].tolist(), strict=True)
        return dict(zip(keys, at_ns[last].tolist(), strict=True))

    @property
    def latest(self) -> tuple[Ints, Ints]:
        """The ledgers, ascending, and the time of each one's latest row."""
        ledger, at_ns = self.rows["ledger"], self.rows["at_ns"]
        begin = np.flatnonzero(np.diff(ledger, prepend=-1 if not len(ledger) else ledger[0] - 1))
        return (ledger[begin], np.maximum.reduceat(at_ns, begin)) if len(begin) else (ledger, at_ns)

    def after(self, key: Key, limits: Sequence[Limit]) -> Late:
        """The rows of one key that are beyond any of the limits."""
        if key not in self.latest_ns or self.latest_ns[key] <= min(at_ns for at_ns, _ in limits):
            return _NOTHING
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
        return len(self.rows["seq"]) + int(self.older["number"].sum())

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


_NOTHING = Late({name: np.empty(0, dtype=np.int64) for name in NAMES}, None, perhaps=False)
_NO_TOTALS: Columns = {name: np.empty(0, dtype=np.int64) for name in _TOTALS}


def _unpickled(rows: Mapping[str, Packed], older: Mapping[str, Packed]) -> Lately:
    columns = {name: unpacked(column) for name, column in rows.items()}
    columns["until_ns"] = columns["until_ns"] + columns["at_ns"]
    return Lately(columns, {name: unpacked(column) for name, column in older.items()})


def _picked(rows: Columns, pick: Bools | Ints) -> Columns:
    return {name: column[pick] for name, column in rows.items()}


def _joined(left: Columns, right: Columns) -> Columns:
    return {name: np.concatenate([column, right[name]]) for name, column in left.items()}


def _trimmed(rows: Columns, older: Columns) -> Lately:
    """Sort, keep the latest of each key, add the others to the totals."""
    if not len(rows["seq"]):
        return Lately(rows, older)
    # Of two parts, mostly of different ledgers and each in its order, this only merges the runs.
    order = in_order(rows["ledger"], rows["who"])
    rows = rows if order is None else _picked(rows, order)
    keys = [rows[name] for name in ("ledger", "who", "at_ns", "seq", "by")]
    if not is_sorted(keys):
        rows = _picked(rows, np.lexsort(tuple(reversed(keys))))
    starts = _starts(rows)
    number = len(rows["seq"])
    sizes = np.diff(np.append(starts, number))
    room = min(max(_IN_ALL // len(starts), _LEAST), _MOST)
    full = sizes > room
    if not np.any(full):
        return Lately(rows, older)
    totals = _totals(rows, starts[full], (starts + sizes - room)[full])
    late = np.arange(number) >= np.repeat(starts + sizes - room, sizes)
    return Lately(_picked(rows, late), _summed(_joined(older, totals)))


def _starts(rows: Columns) -> Ints:
    """Where the rows of each key begin; rows are sorted by key, and there are some."""
    ledger, who = rows["ledger"], rows["who"]
    new = np.ones(len(ledger), dtype=np.bool_)
    new[1:] = (ledger[1:] != ledger[:-1]) | (who[1:] != who[:-1])
    return np.flatnonzero(new)


def _totals(rows: Columns, begin: Ints, end: Ints) -> Columns:
    """The totals of sorted rows from ``begin`` to before ``end``, each within the rows of one key."""
    bounds, entry = np.stack([begin, end], axis=1).ravel(), rows["entry"]
    return {
        "ledger": rows["ledger"][begin],
        "who": rows["who"][begin],
        "number": end - begin,
        "first_ns": rows["at_ns"][begin],
        "last_ns": rows["at_ns"][end - 1],
        "lowest": np.minimum.reduceat(entry, bounds)[::2],
        "highest": np.maximum.reduceat(entry, bounds)[::2],
    }


def _summed(totals: Columns) -> Columns:
    """One row for each key."""
    if not len(totals["ledger"]):
        return totals
    totals = _picked(totals, np.lexsort((totals["who"], totals["ledger"])))
    starts = _starts(totals)
    return {
        "ledger": totals["ledger"][starts],
        "who": totals["who"][starts],
        "number": np.add.reduceat(totals["number"], starts),
        "first_ns": np.minimum.reduceat(totals["first_ns"], starts),
        "last_ns": np.maximum.reduceat(totals["last_ns"], starts),
        "lowest": np.minimum.reduceat(totals["lowest"], starts),
        "highest": np.maximum.reduceat(totals["highest"], starts),
    }
