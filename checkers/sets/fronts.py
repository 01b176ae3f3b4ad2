"""The highest value told to whoever asked after any moment, of each ledger.

Of the tellings of a ledger only those matter that exceed all that were asked for later: ascending in time,
they fall in value. Knows no operation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.sets.packing import Packed, packed, unpacked
from checkers.sets.spans import Ints, ints

Point = tuple[int, int, int, int]
"""(asked_ns, value, client, seq)."""


@dataclass(frozen=True, eq=False)
class Fronts:
    """Columns ledger, asked_ns, value, client, seq of the points, sorted by ledger and time."""

    columns: tuple[Ints, ...]

    @classmethod
    def of_rows(
        cls,
        ledger: NDArray[Any],
        asked_ns: NDArray[Any],
        value: NDArray[Any],
        client: NDArray[Any],
        seq: NDArray[Any],
    ) -> Fronts:
        """Of tellings in any order; no value is below 0."""
        return _front(tuple(map(ints, (ledger, asked_ns, value, client, seq))))

    def __or__(self, other: Fronts) -> Fronts:
        pairs = zip(self.columns, other.columns, strict=True)
        return _front(tuple(np.concatenate(pair) for pair in pairs))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled in as little room as the numbers allow: summaries travel."""
        return _unpickled, (tuple(map(packed, self.columns)),)

    def of(self, ledger: int) -> list[Point]:
        """The points of one ledger, ascending in time."""
        begin, end = np.searchsorted(self.columns[0], [ledger, ledger + 1]).tolist()
        _, *columns = (column[begin:end].tolist() for column in self.columns)
        return list(zip(*columns, strict=True))

    def beyond(self, ledger: Ints, at_ns: Ints, value: Ints) -> list[int]:
        """Of ledgers, ascending, with a time and a value each: those with a point later and higher."""
        mine, asked_ns, told, *_ = self.columns
        if not (len(ledger) and len(mine)):
            return []
        place = np.minimum(np.searchsorted(ledger, mine), len(ledger) - 1)
        found = (ledger[place] == mine) & (asked_ns > at_ns[place]) & (told > value[place])
        numbers: list[int] = np.unique(mine[found]).tolist()
        return numbers


def _unpickled(columns: tuple[Packed, ...]) -> Fronts:
    return Fronts(tuple(map(unpacked, columns)))


def _front(columns: tuple[Ints, ...]) -> Fronts:
    """Scanning back from the latest, rows that exceed all later ones of their ledger."""
    ledger, asked_ns, value, client, seq = columns
    if not len(ledger):
        return Fronts(columns)
    order = np.lexsort((-seq, -client, value, asked_ns, ledger))[::-1]
    columns = tuple(column[order] for column in columns)
    ledger, _, value, *_ = columns
    starts = np.concatenate([[True], ledger[1:] != ledger[:-1]])
    group = np.cumsum(starts) - 1
    ceiling = int(value.max()) + 1
    running = np.maximum.accumulate(value + group * ceiling) - group * ceiling
    fresh = starts.copy()
    fresh[1:] |= (running[1:] > running[:-1]) & (group[1:] == group[:-1])
    return Fronts(tuple(column[fresh][::-1] for column in columns))
