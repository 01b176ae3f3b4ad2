"""One version of a ledger's metadata, as an object; judges nothing.

Of most ledgers nothing is to be said: they stay columns (:mod:`checkers.facts.plain`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from checkers.facts.plain import Fragments, fragments_of
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
