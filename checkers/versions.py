"""The versions of each ledger's metadata, as several properties need them.

The summary is the set of rows of the ``ledgers`` table itself: metadata is small (one row for
each change, not for each entry). Knows the table and ``protocol.metadata``; judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

from checkers.contract import Chunk
from protocol.metadata import LedgerMetadata, LedgerState
from protocol.quorums import Fragment, Quorums

DELETED = 0
"""State code of a row that says the ledger's metadata was removed."""


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """One row of ``ledgers``; hashable. ``shape`` is (E, WQ, AQ) as recorded, legal or not."""

    ledger: int
    version: int
    zxid: int
    state: int
    last_entry: int
    length_bytes: int
    shape: tuple[int, int, int]
    fragments: tuple[tuple[int, tuple[str, ...]], ...]
    earliest_ns: int
    latest_ns: int

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


Versions = frozenset[Version]


def scan_versions(chunk: Chunk) -> Versions:
    """The metadata versions of one chunk; the union of two such sets merges them."""
    return frozenset(_version(row) for row in chunk.rows("ledgers"))


def _version(row: Mapping[str, Any]) -> Version:
    fragments = tuple((part["first_entry"], tuple(part["bookies"])) for part in row["fragments"])
    return Version(
        ledger=row["ledger"],
        version=row["version"],
        zxid=row["zxid"],
        state=row["state"],
        last_entry=row["last_entry"],
        length_bytes=row["length_bytes"],
        shape=(row["ensemble"], row["write_quorum"], row["ack_quorum"]),
        fragments=fragments,
        earliest_ns=row["earliest_ns"],
        latest_ns=row["latest_ns"],
    )


@dataclass(frozen=True)
class Histories:
    """The versions by ledger, ascending, with what is asked of them again and again."""

    versions: Versions
    of: Mapping[int, tuple[Version, ...]] = field(init=False)

    def __post_init__(self) -> None:
        grouped: dict[int, list[Version]] = {}
        for version in sorted(self.versions):
            if version.state != DELETED:
                grouped.setdefault(version.ledger, []).append(version)
        object.__setattr__(self, "of", {ledger: tuple(chain) for ledger, chain in grouped.items()})

    @cached_property
    def deleted(self) -> Mapping[int, Version]:
        """Ledgers whose metadata was removed -> the row that says so (the first such one)."""
        gone: dict[int, Version] = {}
        for version in sorted(self.versions):
            if version.state == DELETED:
                gone.setdefault(version.ledger, version)
        return gone

    @cached_property
    def closes(self) -> Mapping[int, Version]:
        """Ledger -> its last CLOSED version."""
        return {
            ledger: closed[-1]
            for ledger, chain in self.of.items()
            if (closed := [version for version in chain if version.closed])
        }

    @cached_property
    def ends(self) -> dict[int, int]:
        """Ledger -> last entry of its last CLOSED version (-1: closed empty)."""
        return {ledger: version.last_entry for ledger, version in self.closes.items()}

    def gaps(self, ledger: int) -> list[tuple[int, int]]:
        """(first, last) of each run of version numbers that were not seen, from 0 on."""
        seen = [-1, *(version.version for version in self.of.get(ledger, ()))]
        return [(before + 1, after - 1) for before, after in pairwise(seen) if after > before + 1]

    def seen_whole(self, ledger: int) -> bool:
        """Whether versions are known from the first on, with none missing in between."""
        return ledger in self.of and not self.gaps(ledger)
