"""What recoverers and replicators wrote, against what had been read to them.

An entry is written back because one bookie had it (``LedgerRecoveryOp#onEntryComplete``); replication
copies what a plain read returned (``LedgerFragmentReplicator``). Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from checkers.recovery.recoveries import Heard, Told
from checkers.sets.moments import Pieces, pairs
from checkers.sets.spans import Spans, sweep
from protocol.addresses import MAX_BOOKIES


@dataclass(frozen=True, slots=True)
class Writing:
    """The entries of a ledger that one source sent recovery adds of.

    ``unread`` are those of which no positive read can have reached it before; ``found`` and
    ``unsure`` are what each bookie answered to its recovery reads, by entry.
    """

    ledger: int
    source: int
    entries: Spans
    unread: Spans
    found: Mapping[int, Spans]
    unsure: Mapping[int, Spans]
    first_ns: Pieces

    def found_below(self, number: int) -> Spans:
        """Entries that fewer bookies than this, but one at least, answered to its recovery reads."""
        return self.entries & deep(self.ledger, self.found, 1) - deep(self.ledger, self.found, number)

    def unsure_from(self, number: int) -> Spans:
        """Entries recovered though so many bookies or more answered with an error."""
        return self.entries & deep(self.ledger, self.found, 1) & deep(self.ledger, self.unsure, number)

    def found_by(self, entry: int) -> list[int]:
        """The bookies that answered with the entry."""
        return [bookie for bookie, spans in self.found.items() if spans.holds(self.ledger, _one(entry))[0]]


def writings(told: Told, named: Mapping[int, frozenset[int]]) -> Iterator[Writing]:
    """Every (ledger, source) with a recovery add; ``named`` are the bookies of ledgers that were seen whole.

    A bookie that the ledger names (or may name) reads from itself unseen, so nothing it wrote is unread.
    """
    for ledger in told.ledgers(Heard.WROTE):
        for source in told.sources(ledger, Heard.WROTE):
            first = _merged(told, ledger, Heard.WROTE, source).firsts()
            entries = first.spans(ledger)
            own = source <= MAX_BOOKIES and source in named.get(ledger, {source})
            unread = Spans.empty() if own else entries - _read_before(told, ledger, source, first)
            yield Writing(
                ledger=ledger,
                source=source,
                entries=entries,
                unread=unread,
                found=told.by_bookie(ledger, Heard.FOUND, source),
                unsure=told.by_bookie(ledger, Heard.UNSURE, source),
                first_ns=first,
            )


def _read_before(told: Told, ledger: int, source: int, first: Pieces) -> Spans:
    """Entries of which a positive read may have reached the source before its first recovery add."""
    covered = Spans.empty()
    for heard in (Heard.FOUND, Heard.COPIED):
        for _, found in told.pieces(ledger, heard, source):
            both = pairs(found, first)
            before = found.early[both.left] <= first.late[both.right]
            some = Spans.of_ranges(np.full(int(before.sum()), ledger), both.first[before], both.last[before])
            covered = covered | some
    return covered


def _merged(told: Told, ledger: int, heard: Heard, source: int) -> Pieces:
    parts = [pieces for _, pieces in told.pieces(ledger, heard, source)]
    return Pieces(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def deep(ledger: int, answers: Mapping[int, Spans], number: int) -> Spans:
    """The entries that at least ``number`` bookies answered."""
    parts = [spans for spans in answers.values() if len(spans)]
    if not parts:
        return Spans.empty()
    first, last = (np.concatenate([getattr(part, name) for part in parts]) for name in ("first", "last"))
    ones = np.ones(len(first), dtype=np.int64)
    _, begin, end = sweep([np.full(len(first), ledger)], first, last, ones, lambda depth: depth >= number)
    return Spans.of_ranges(np.full(len(begin), ledger), begin, end)


def _one(entry: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([entry], dtype=np.int64)
