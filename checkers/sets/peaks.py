"""The highest value of each ledger, and which client's operation said so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.sets.folded import FIRST, Folded
from checkers.sets.spans import Ints, Spans, ints


class Peak(NamedTuple):
    """A value with the client number and sequence number of the operation that told it."""

    value: int
    client: int
    seq: int


class Peaks(Mapping[int, Peak]):
    """The peaks by ledger; ``|`` keeps the higher of two.

    Of equal ones it is that of the lower client number, then the earlier operation.
    """

    def __init__(self, rows: Folded) -> None:
        """Of rows (ledger; value with its sign changed, client, seq)."""
        self._rows = rows

    def __or__(self, other: Peaks) -> Peaks:
        return Peaks(self._rows | other._rows)

    def __getitem__(self, ledger: int) -> Peak:
        for _, less, client, seq in self._rows.of(ledger):
            return Peak(-less, client, seq)
        raise KeyError(ledger)

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows.columns[0].tolist())

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def columns(self) -> tuple[Ints, Ints]:
        """The ledgers, ascending, and their highest values."""
        return self._rows.columns[0], -self._rows.columns[1]

    def below(self) -> Spans:
        """Every entry up to each ledger's highest value."""
        ledger, value = self.columns
        return Spans.of_ranges(ledger, 0, value)


def peaks(ledger: NDArray[Any], value: NDArray[Any], client: NDArray[Any], seq: NDArray[Any]) -> Peaks:
    """The peak of each ledger over rows in any order; linear when rows come sorted by ledger."""
    if len(ledger) and np.all(ledger[1:] >= ledger[:-1]):
        starts = np.flatnonzero(np.concatenate([[True], ledger[1:] != ledger[:-1]]))
        tops = np.maximum.reduceat(value, starts)
        at_top = np.flatnonzero(value == np.repeat(tops, np.diff(np.append(starts, len(ledger)))))
        ledger, value, client, seq = (column[at_top] for column in (ledger, value, client, seq))
    return Peaks(Folded.of_rows([ledger], (-ints(value), FIRST), (client, FIRST), (seq, FIRST)))


_NONE = np.empty(0, dtype=np.int64)
NO_PEAKS = peaks(_NONE, _NONE, _NONE, _NONE)
"""Of no row."""
