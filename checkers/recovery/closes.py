"""The closes by recovery: which versions of the metadata they are, and whom these name.

A recoverer writes IN_RECOVERY, works with the metadata it then holds, and writes CLOSED; ensembles
that it changed itself appear in the closing version (``ReadOnlyLedgerHandle#closeRecovered``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from checkers.facts.histories import Histories
from checkers.facts.versions import NOBODY, Version
from protocol.addresses import name_of_id
from protocol.metadata import LedgerState
from protocol.quorums import Quorums, fenced, fragment_of, unknown_in, unrecoverable


@dataclass(frozen=True, slots=True)
class Ensemble:
    """What one version names: ``readers`` is for the entry after the end, ``last`` is what fencing asks."""

    quorums: Quorums
    readers: tuple[int, ...]
    last: tuple[int, ...]

    def ended_by(self, denied: Collection[int], entry: int) -> bool:
        """Whether explicit negatives of these bookies end the ledger before ``entry``."""
        return unrecoverable(_positions(self.readers, denied), self.quorums, entry)

    def fenced_by(self, known: Collection[int]) -> bool:
        """Whether the answers of these bookies to fencing leave no ack quorum unknown."""
        return fenced(_positions(self.last, known), self.quorums)

    def unknown(self, known: Collection[int]) -> list[int]:
        """The bookies without an answer, of the write set that has the most of them."""
        return [self.last[position] for position in unknown_in(_positions(self.last, known), self.quorums)]

    def write_set(self, entry: int) -> list[int]:
        """The bookies whose duty the entry would be."""
        return [self.readers[position] for position in self.quorums.write_set(entry)]


def _positions(ensemble: tuple[int, ...], bookies: Collection[int]) -> list[int]:
    return [position for position, bookie in enumerate(ensemble) if bookie in bookies]


@dataclass(frozen=True, slots=True)
class Close:
    """A move from IN_RECOVERY to CLOSED, or what may have been such a move.

    ``began_ns`` is when the recovery's metadata was written at the earliest. ``last_fragment`` is the highest
    first entry of a last fragment in recovery: a recoverer takes the entries before it as confirmed.
    ``ensembles`` is empty where a version that matters was not seen or is malformed: such a close cannot be
    judged.
    """

    version: Version
    began_ns: int
    last_fragment: int
    ensembles: tuple[Ensemble, ...]

    @property
    def ledger(self) -> int:
        """The ledger that this version of the metadata closed."""
        return self.version.ledger

    @property
    def beyond(self) -> int:
        """The entry that must not be: the one after the end."""
        return self.version.last_entry + 1

    @property
    def by_ns(self) -> int:
        """When it was in force at the latest: what was decided for it was decided by then."""
        return self.version.latest_ns


def closes_by_recovery(histories: Histories, numbers: Mapping[str, int]) -> Iterator[Close]:
    """Every close of a ledger in recovery, by ledger and version; ``numbers`` are the bookies' by name."""
    for chains in histories.chains.values():
        for chain in chains:
            yield from _of_chain(chain, numbers)


def closes_from_open(histories: Histories) -> Iterator[Version]:
    """Every CLOSED version that took the place of an OPEN one, by ledger and version."""
    for chains in histories.chains.values():
        for before, version in (pair for chain in chains for pair in pairwise(chain)):
            moved = before.state == LedgerState.OPEN and version.closed
            if moved and version.version == before.version + 1 and not (before.put_back or version.put_back):
                yield version


def _of_chain(chain: tuple[Version, ...], numbers: Mapping[str, int]) -> Iterator[Close]:
    for at, (before, version) in enumerate(pairwise((None, *chain))):
        if version is None or not version.closed or version.put_back or (before and before.closed):
            continue
        unseen = version.version != (before.version + 1 if before else 0)
        if unseen or (before and before.state == LedgerState.IN_RECOVERY):
            versions = _in_recovery(chain[: at + 1])
            began_ns = min((seen.earliest_ns for seen in versions[1:]), default=0)
            last = max((seen.fragments[-1][0] for seen in versions[1:] if seen.fragments), default=0)
            yield Close(version, began_ns, last, _ensembles(versions, version.last_entry + 1, numbers))


def _in_recovery(chain: tuple[Version, ...]) -> list[Version]:
    """The closing version and those IN_RECOVERY before it; empty when one of them may be missing."""
    found = [chain[-1]]
    for version in reversed(chain[:-1]):
        if version.version != found[-1].version - 1:
            return []
        if version.state != LedgerState.IN_RECOVERY:
            return found
        found.append(version)
    return []


def _ensembles(versions: list[Version], entry: int, numbers: Mapping[str, int]) -> tuple[Ensemble, ...]:
    """What each version names for the entry, each once; nothing when one of them is malformed."""
    found: dict[Ensemble, None] = {}
    for version in versions:
        try:
            metadata = version.metadata()
            named = fragment_of(metadata.fragments, entry).bookies, metadata.fragments[-1].bookies
        except ValueError:  # an anomaly of `metadata`
            return ()
        if any(len(bookies) != metadata.quorums.ensemble for bookies in named):
            return ()
        readers, last = (tuple(numbers.get(name_of_id(one), NOBODY) for one in some) for some in named)
        found[Ensemble(metadata.quorums, readers, last)] = None
    return tuple(found)
