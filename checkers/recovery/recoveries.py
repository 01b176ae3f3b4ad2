"""What those who recover ledgers asked, were told and wrote: the summary of ``checkers.recovery.checker``.

Recoverers are sources of links: clients, the observer, bookies that recover by themselves. What a
recoverer was told is what reached it, forged or not; an answer of protocol V2 that may be another
request's counts for it too, since it can only excuse. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from checkers.facts.wire import asked, codes, decoded, denies, told
from checkers.rows import Rows, at_once
from checkers.sets.moments import Index, Moments, Pieces
from checkers.sets.spans import Spans
from evidence.codes import NEVER, FrameFlag, Message, Status
from protocol.addresses import MAX_BOOKIES


class Heard(IntEnum):
    """What happened on a recoverer's links; the name's comment says when the moment was."""

    FENCING = 1  # it sent a fencing LAC read: at the proxy
    READING = 2  # it sent a recovery read: at the proxy
    WROTE = 3  # it sent a recovery add: at the proxy
    FENCED = 4  # EOK to a fencing LAC read reached it: not before
    FENCED_EMPTY = 5  # an explicit negative to one did
    FOUND = 6  # EOK to a recovery read
    DENIED = 7  # an explicit negative to one
    UNSURE = 8  # any other answer to one
    COPIED = 9  # EOK to a plain read, on which replication rests
    STORED = 10  # EOK to a recovery add


_REQUESTS = {
    Message.FENCING_LAC_READ: Heard.FENCING,
    Message.RECOVERY_READ: Heard.READING,
    Message.RECOVERY_ADD: Heard.WROTE,
}
_ASKING: Mapping[Message, tuple[Heard, Heard, Heard | None]] = {
    Message.FENCING_LAC_READ: (Heard.FENCED, Heard.FENCED_EMPTY, None),
    Message.RECOVERY_READ: (Heard.FOUND, Heard.DENIED, Heard.UNSURE),
}
"""Requests of a recovery, and what it hears: EOK, an explicit negative, anything else."""
_BY_BOOKIE = ("source", "bookie")


@dataclass(frozen=True, slots=True)
class Hearings:
    """The moments by :class:`Heard`, source and (for answers) bookie.

    ``bookies`` are those that were seen as the source of a frame: they run a client of their own.
    ``forged`` counts answers to recoverers that a rule of ours made.
    """

    moments: Moments
    bookies: frozenset[int]
    forged: int

    def __or__(self, other: Hearings) -> Hearings:
        return Hearings(
            self.moments | other.moments, self.bookies | other.bookies, self.forged + other.forged
        )


@at_once
def scan_hearings(rows: Rows) -> Hearings:
    """The frames of one chunk, in any order."""
    sources = np.unique(rows["source"])
    asking = [part for kind in _ASKING for part in told(rows, kind)]
    columns = [
        (codes(heard, *(part[name] for name in who)), part["ledger"], part["entry"], part[at])
        for heard, part, who, at in (*_requests(rows), *_answers(rows))
    ]
    who, ledger, entry, at_ns = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Hearings(
        moments=Moments.of(who, ledger, entry, at_ns, at_ns),
        bookies=frozenset(sources[(sources > 0) & (sources <= MAX_BOOKIES)].tolist()),
        forged=sum(int(((part["flags"] & int(FrameFlag.FORGED)) != 0).sum()) for part in asking),
    )


_Part = tuple[Heard, Rows, tuple[str, ...], str]
"""What was heard, the frames, the columns that say by whom, and the one that says when."""


def _requests(rows: Rows) -> Iterator[_Part]:
    for kind, heard in _REQUESTS.items():
        yield heard, asked(rows, kind).once(_of_ledgers), ("source",), "received_ns"


def _answers(rows: Rows) -> Iterator[_Part]:
    for kind, (good, negative, other) in _ASKING.items():
        for part in told(rows, kind):
            part = part.once(_of_ledgers)
            no = denies(part["delivered"])
            yield good, part.of(delivered=Status.EOK), _BY_BOOKIE, "forwarded_ns"
            yield negative, part.where(no), _BY_BOOKIE, "forwarded_ns"
            if other is not None:
                unsure = part.where(~no & (part["delivered"] != Status.EOK))
                yield other, unsure, _BY_BOOKIE, "forwarded_ns"
    for part in told(rows, Message.READ):
        yield Heard.COPIED, part.once(_of_ledgers).of(delivered=Status.EOK), ("source",), "forwarded_ns"
    for part in told(rows, Message.RECOVERY_ADD):
        yield Heard.STORED, part.once(_of_ledgers).of(delivered=Status.EOK), _BY_BOOKIE, "forwarded_ns"


def _of_ledgers(rows: Rows) -> Rows:
    return rows.where(rows["ledger"] >= 0)


class Told:
    """The hearings by ledger, source and bookie, for those who conclude."""

    def __init__(self, hearings: Hearings) -> None:
        self._index = Index(hearings.moments)
        self._known: dict[tuple[int, Heard], dict[int, list[tuple[int, int]]]] = {}
        for ledger, who in self._index.known():
            kind, source, bookie = decoded(who)
            by_source = self._known.setdefault((ledger, Heard(kind)), {})
            by_source.setdefault(source, []).append((bookie, who))

    def ledgers(self, heard: Heard) -> list[int]:
        """Ledgers of which there is such a moment, ascending."""
        return sorted(ledger for ledger, kind in self._known if kind is heard)

    def sources(self, ledger: int, heard: Heard) -> list[int]:
        """Who has such a moment of the ledger, ascending."""
        return sorted(self._known.get((ledger, heard), ()))

    def recoverers(self, ledger: int) -> list[int]:
        """Who sent a request of recovery for the ledger, ascending."""
        return sorted({*self.sources(ledger, Heard.FENCING), *self.sources(ledger, Heard.READING)})

    def pieces(self, ledger: int, heard: Heard, source: int) -> list[tuple[int, Pieces]]:
        """(bookie, or 0 for requests; when and of which entries), ascending."""
        found = self._known.get((ledger, heard), {}).get(source, ())
        return [(bookie, self._index.of(ledger, who)) for bookie, who in found]

    def by_bookie(self, ledger: int, heard: Heard, source: int, by_ns: int = NEVER) -> dict[int, Spans]:
        """Bookie -> the entries of which such an answer may have reached the source by that time."""
        return {
            bookie: pieces.where(pieces.early <= by_ns).spans(ledger)
            for bookie, pieces in self.pieces(ledger, heard, source)
        }

    def from_bookies(self, ledger: int, heard: Heard, source: int, entry: int, by_ns: int) -> set[int]:
        """Bookies of which such an answer about the entry may have reached the source by that time."""
        return {
            bookie
            for bookie, pieces in self.pieces(ledger, heard, source)
            if np.any(pieces.at(entry).early <= by_ns)
        }
