"""What those who recover ledgers asked, were told and wrote: the summary of ``checkers.recovery``.

Recoverers are sources of links: clients, the observer, bookies that recover by themselves. What a
recoverer was told is what reached it, forged or not; an answer of protocol V2 that may be another
request's counts for it too, since it can only excuse. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from checkers.moments import Index, Moments, Pieces
from checkers.wire import Columns, asked, codes, decoded, denies, picked, told
from evidence.codes import FrameFlag, Message, Status
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


_REQUESTS = {
    Message.FENCING_LAC_READ: Heard.FENCING,
    Message.RECOVERY_READ: Heard.READING,
    Message.RECOVERY_ADD: Heard.WROTE,
}
_PER_BOOKIE = (Heard.FENCED, Heard.FENCED_EMPTY, Heard.FOUND, Heard.DENIED, Heard.UNSURE)


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


def scan_hearings(rows: Columns) -> Hearings:
    """The frames of one chunk, in any order."""
    sources = rows["source"]
    fencing, reading = told(rows, Message.FENCING_LAC_READ), told(rows, Message.RECOVERY_READ)
    made = (fencing | reading) & ((rows["flags"] & FrameFlag.FORGED) != 0)
    parts = [*_requests(rows), *_answers(rows, fencing, reading)]
    columns = [
        (codes(heard, *who), picked(rows, pick, "ledger"), picked(rows, pick, "entry"), at)
        for heard, pick, who, at in parts
    ]
    who, ledger, entry, at_ns = (np.concatenate(column) for column in zip(*columns, strict=True))
    return Hearings(
        moments=Moments.of(who, ledger, entry, at_ns, at_ns),
        bookies=frozenset(np.unique(sources[(sources > 0) & (sources <= MAX_BOOKIES)]).tolist()),
        forged=int(made.sum()),
    )


_Part = tuple[Heard, NDArray[np.bool_], tuple[NDArray[np.int64], ...], NDArray[np.int64]]


def _requests(rows: Columns) -> Iterator[_Part]:
    for kind, heard in _REQUESTS.items():
        pick = asked(rows, kind) & (rows["ledger"] >= 0)
        yield heard, pick, (picked(rows, pick, "source"),), picked(rows, pick, "received_ns")


def _answers(rows: Columns, fencing: NDArray[np.bool_], reading: NDArray[np.bool_]) -> Iterator[_Part]:
    delivered, known = rows["delivered"], rows["ledger"] >= 0
    good, negative = delivered == Status.EOK, denies(delivered)
    picks = {
        Heard.FENCED: fencing & good,
        Heard.FENCED_EMPTY: fencing & negative,
        Heard.FOUND: reading & good,
        Heard.DENIED: reading & negative,
        Heard.UNSURE: reading & ~good & ~negative,
        Heard.COPIED: told(rows, Message.READ) & good,
    }
    for heard, pick in picks.items():
        pick = pick & known
        who = picked(rows, pick, "source"), picked(rows, pick, "bookie")
        yield heard, pick, who if heard in _PER_BOOKIE else who[:1], picked(rows, pick, "forwarded_ns")


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

    def from_bookies(self, ledger: int, heard: Heard, source: int, entry: int, by_ns: int) -> set[int]:
        """Bookies of which such an answer about the entry may have reached the source by that time."""
        return {
            bookie
            for bookie, pieces in self.pieces(ledger, heard, source)
            if np.any(pieces.at(entry).early <= by_ns)
        }
