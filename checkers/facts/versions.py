"""One version of a ledger's metadata, and the summary of them all: the rows of the table as they came.

Of most ledgers nothing is to be said: they stay columns, and what follows from them is
:mod:`checkers.facts.histories`. Knows the table and ``protocol.metadata``; judges nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa

from checkers.contract import Chunk
from checkers.facts.plain import Fragments, fragments_of
from evidence.schemas import LEDGERS
from protocol.metadata import LedgerMetadata, LedgerState
from protocol.quorums import Fragment, Quorums

Found = TypeVar("Found")
DELETED = 0
"""State code of a row that says the ledger's metadata was removed."""


@dataclass(frozen=True, slots=True)
class Version:
    """One row of ``ledgers``; hashable. ``shape`` is (E, WQ, AQ) as recorded, legal or not.

    ``put_back`` rows were made by no transaction: the store's content was put back to them.
    """

    ledger: int
    version: int
    zxid: int
    state: int
    last_entry: int
    length_bytes: int
    shape: tuple[int, int, int]
    fragments: Fragments
    earliest_ns: int
    latest_ns: int
    put_back: bool = False

    def __hash__(self) -> int:
        return hash((self.ledger, self.version, self.zxid))  # the rest hardly ever differs

    @property
    def closed(self) -> bool:
        """Whether this version says CLOSED."""
        return self.state == LedgerState.CLOSED

    @property
    def what(self) -> tuple[Any, ...]:
        """What the version says, without when it was seen."""
        return self.state, self.last_entry, self.length_bytes, self.shape, self.fragments

    def metadata(self) -> LedgerMetadata:
        """As ``protocol`` understands it; ``ValueError`` for quorums or a state that cannot be."""
        return LedgerMetadata(
            state=LedgerState(self.state),
            quorums=Quorums(*self.shape),
            last_entry=self.last_entry if self.closed else None,
            length_bytes=self.length_bytes,
            fragments=tuple(Fragment(first, bookies) for first, bookies in self.fragments),
        )


@dataclass(frozen=True, eq=False)
class Versions:
    """Rows of ``ledgers``, in parts as they came. ``|`` joins; the same two give the same object again."""

    parts: tuple[pa.Table, ...] = ()
    _joined: dict[int, tuple[Versions, Versions]] = field(default_factory=dict, repr=False)
    _known: dict[Callable[[pa.Table], Any], Any] = field(default_factory=dict, repr=False)

    def __or__(self, other: Versions) -> Versions:
        if not (self.parts and other.parts):
            return self if self.parts else other
        if id(other) not in self._joined:
            self._joined[id(other)] = other, Versions(self.parts + other.parts)
        return self._joined[id(other)][1]

    def __reduce__(self) -> tuple[Any, ...]:
        """Summaries travel: as one part, in a row of batches for which nothing is copied."""
        return Versions, ((pa.concat_tables(self.parts).combine_chunks(),) if self.parts else (),)

    def once(self, function: Callable[[pa.Table], Found]) -> Found:
        """``function`` of all rows, worked out once for all checkers that ask of the same run."""
        if function not in self._known:
            self._known[function] = function(pa.concat_tables([LEDGERS.empty_table(), *self.parts]))
        found: Found = self._known[function]
        return found


def scan_versions(chunk: Chunk) -> Versions:
    """The metadata versions of one chunk; the union of two such sets merges them."""
    return chunk.once(_scan)


def _scan(chunk: Chunk) -> Versions:
    table = chunk.tables.get("ledgers")
    return Versions() if table is None or not table.num_rows else Versions((table,))


def version_of(row: Mapping[str, Any]) -> Version:
    """One row of ``ledgers`` as Arrow gives it."""
    return Version(
        ledger=row["ledger"],
        version=row["version"],
        zxid=row["zxid"],
        state=row["state"],
        last_entry=row["last_entry"],
        length_bytes=row["length_bytes"],
        shape=(row["ensemble"], row["write_quorum"], row["ack_quorum"]),
        fragments=fragments_of(row["fragments"]),
        earliest_ns=row["earliest_ns"],
        latest_ns=row["latest_ns"],
        put_back=bool(row.get("put_back")),
    )
