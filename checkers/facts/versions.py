"""One version of a ledger's metadata, and which bookies were to store an entry by it. Judges nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.sets.spans import LAST_ENTRY, Bools, Ints, Spans
from evidence.codes import NEVER
from protocol.addresses import name_of_id
from protocol.metadata import LedgerMetadata, LedgerState
from protocol.quorums import Fragment, Quorums

Fragments = tuple[tuple[int, tuple[str, ...]], ...]
DELETED = 0
"""State code of a row that says the ledger's metadata was removed."""
NOBODY = -1
"""Stands for a bookie that the run does not know: it can have answered nothing."""


class Version(NamedTuple):
    """One row of ``ledgers``. ``shape`` is (E, WQ, AQ) as recorded, legal or not.

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

    @property
    def closed(self) -> bool:
        """Whether this version says CLOSED."""
        return self.state == LedgerState.CLOSED

    def ranges(self, end: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        """(first entry, last entry, ids of its bookies) of each fragment; the last one ends at ``end``.

        Damaged metadata may name none.
        """
        lasts = [*(first - 1 for first, _ in self.fragments[1:]), end]
        for (first, bookies), last in zip(self.fragments, lasts, strict=False):
            yield first, last, bookies

    @property
    def closed_text(self) -> str:
        """What a CLOSED version says, for a proof."""
        return f"metadata version {self.version}: CLOSED at {self.last_entry}"

    @property
    def bookies(self) -> frozenset[str]:
        """The names of all bookies in its fragments."""
        return frozenset(name_of_id(one) for _, bookies in self.fragments for one in bookies)

    @property
    def last_ensemble(self) -> tuple[str, ...]:
        """The names of the bookies in its last fragment."""
        return tuple(name_of_id(one) for _, bookies in self.fragments[-1:] for one in bookies)

    @property
    def what(self) -> tuple[object, ...]:
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


def versions_of(rows: pa.Table) -> Iterator[Version]:
    """Rows of ``ledgers`` as objects."""
    names = ("ensemble", "write_quorum", "ack_quorum")
    shapes = zip(*(rows[name].to_pylist() for name in names), strict=True)
    column = rows["fragments"].combine_chunks()
    firsts, bookies = (column.flatten().field(name).to_pylist() for name in ("first_entry", "bookies"))
    parts = zip(firsts, map(tuple, bookies), strict=True)
    fragments = (tuple(islice(parts, number)) for number in pc.list_value_length(column).to_pylist())
    before = (rows[name].to_pylist() for name in Version._fields[:6])
    after = (rows[name].to_pylist() for name in Version._fields[8:10])
    put_back = rows["put_back"].fill_null(False).to_pylist()  # Arrow's own
    yield from map(Version, *before, shapes, fragments, *after, put_back)


def in_force(chain: Sequence[Version], since_ns: int, until_ns: int = NEVER) -> tuple[Version, ...]:
    """The versions, ascending, that may have been in force at some time of the interval."""
    surely = [at for at, version in enumerate(chain) if version.latest_ns < since_ns]
    late = chain[surely[-1] :] if surely else chain
    return tuple(version for version in late if version.earliest_ns <= until_ns)


def duties(chain: Sequence[Version], entries: Ints, numbers: Mapping[str, int]) -> dict[int, Bools]:
    """Bookie number -> mask of ``entries``, for every bookie whose duty one of them was in any version.

    The write set is the version's fragment's. All bookies that are not of the run are ``NOBODY``.
    """
    due: dict[int, Bools] = {}
    fragments = {(*one, version.shape) for version in chain for one in version.ranges(LAST_ENTRY)}
    for first, last, bookies, (ensemble, write, _) in sorted(fragments):
        inside = (entries >= first) & (entries <= last)
        for position, bookie in enumerate(bookies):
            duty = inside & ((position - entries) % ensemble < write)
            if duty.any():
                number = numbers.get(name_of_id(bookie), NOBODY)
                due[number] = due[number] | duty if number in due else duty
    return due


def lasting_duties(chain: Sequence[Version], entries: Ints, numbers: Mapping[str, int]) -> dict[int, Bools]:
    """Bookie number -> the entries that were its duty in each of these versions."""
    each = [duties((version,), entries, numbers) for version in chain]
    shared = set.intersection(*map(set, each)) if each else ()
    return {bookie: np.logical_and.reduce([due[bookie] for due in each]) for bookie in shared}


def gathered(parts: list[tuple[int, Ints]]) -> Spans:
    """(ledger, its entries) pairs as one set."""
    if not parts:
        return Spans.empty()
    ledgers = np.repeat([ledger for ledger, _ in parts], [len(entries) for _, entries in parts])
    return Spans.from_entries(ledgers, np.concatenate([entries for _, entries in parts]))
