"""Ledgers with nothing odd in their metadata, as columns: many are judged together, none is an object.

A ledger is plain if every version from the first on was seen once, and if it was neither removed nor put
back by a fault of the run. The state, quorums and fragments of a version are its *kind*; a run has few
kinds, whatever its number of ledgers. Reads the table ``ledgers``; judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.sets.spans import Bools, Ints
from protocol.metadata import LedgerState

Words = NDArray[np.uint64]
Fragments = tuple[tuple[int, tuple[str, ...]], ...]
NUMBERS = (
    *("ledger", "version", "zxid", "state", "last_entry", "length_bytes"),
    *("ensemble", "write_quorum", "ack_quorum", "earliest_ns", "latest_ns"),
)
"""The columns of ``ledgers`` that are whole numbers."""
_KIND = ("state", "ensemble", "write_quorum", "ack_quorum", "fragments")


@dataclass(frozen=True, eq=False)
class Plain:
    """The versions of plain ledgers, sorted by ledger and version.

    ``columns`` has those of ``NUMBERS``, and ``fragments`` and ``kind`` as numbers that are equal where what
    they stand for is; ``named`` are the fragments by their number. ``begin`` is the first row of each ledger.
    """

    columns: Mapping[str, Ints]
    named: tuple[Fragments, ...]
    begin: Ints

    @classmethod
    def of(cls, numbers: Mapping[str, Ints], fragments: pa.ListArray) -> Plain:
        """Of sorted rows of ``ledgers``, all of plain ledgers."""
        codes, named = _numbered(fragments)
        columns = {**numbers, "fragments": codes}
        keys = np.stack([columns[name] for name in _KIND], axis=1)
        kinds = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        begin = np.flatnonzero(np.diff(numbers["ledger"], prepend=-(2**62)))
        return cls({**columns, "kind": kinds}, named, begin)

    @property
    def ledgers(self) -> Ints:
        """The ledgers of the rows, each once and ascending."""
        return self.columns["ledger"][self.begin]

    @property
    def follows(self) -> Bools:
        """Which rows follow another version of their ledger."""
        follows = np.ones(len(self.columns["ledger"]), dtype=np.bool_)
        follows[self.begin] = False
        return follows

    @property
    def closed(self) -> Ints:
        """The rows that say CLOSED."""
        return np.flatnonzero(self.columns["state"] == LedgerState.CLOSED)

    @property
    def last_closes(self) -> Ints:
        """The last CLOSED row of each ledger that has one."""
        rows = self.closed
        ledger = self.columns["ledger"][rows]
        return rows[np.append(ledger[1:] != ledger[:-1], True)] if len(rows) else rows

    def having(self, rows: Bools | Ints) -> Iterator[int]:
        """The ledgers of some rows, each once, ascending."""
        yield from np.unique(self.columns["ledger"][rows]).tolist()


def _numbered(column: pa.ListArray) -> tuple[Ints, tuple[Fragments, ...]]:
    """The number of each row's fragments, equal where the fragments are, and the fragments by number."""
    _, sample, codes = np.unique(_sums(column), return_index=True, return_inverse=True)
    codes = codes.reshape(-1)
    if not column.take(pa.array(sample[codes])).equals(column):  # two with one sum
        texts = np.array([str(row) for row in column.to_pylist()])
        _, sample, codes = np.unique(texts, return_index=True, return_inverse=True)
    return codes.astype(np.int64), tuple(map(fragments_of, column.take(pa.array(sample)).to_pylist()))


def fragments_of(row: list[dict[str, object]]) -> Fragments:
    """One row's fragments as Arrow gives them, as a value."""
    return tuple((part["first_entry"], tuple(part["bookies"])) for part in row)  # type: ignore[misc, arg-type]


def _sums(column: pa.ListArray) -> Words:
    """A number for the fragments of each row that is hardly ever that of others."""
    parts = column.values
    bookies = parts.field("bookies")
    names = np.asarray(bookies.values.dictionary_encode().indices).astype(np.uint64)
    ensembles = _summed(_mixed(names + np.uint64(1)), np.asarray(bookies.offsets))
    firsts = np.asarray(parts.field("first_entry")).astype(np.uint64)
    return _summed(_mixed(ensembles + _mixed(firsts + np.uint64(3))), np.asarray(column.offsets))


def _summed(values: Words, offsets: Ints) -> Words:
    """The sum of each list's values, each weighed by its place in the list."""
    sizes = np.diff(offsets)
    values = values[int(offsets[0]) : int(offsets[-1])]
    place = np.arange(len(values)) - np.repeat(offsets[:-1] - offsets[0], sizes)
    weighed = values * _mixed(place.astype(np.uint64) + np.uint64(1))
    total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(weighed, dtype=np.uint64)])
    ends = total[offsets - offsets[0]]
    found: Words = np.diff(ends) + sizes.astype(np.uint64)
    return found


def _mixed(values: Words) -> Words:
    """The finaliser of SplitMix64: close numbers become far ones."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
