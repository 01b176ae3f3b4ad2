"""Which places had enough voters by the time at which they were due, and what is still undecided.

A *place* is a (ledger, entry). It is *due* at a time (the latest, where there are several), and *votes* come
for it, each from somebody at some time. It is settled when so many different voters as its ledger takes had
come by then. More rows never unsettle it, so what is settled in the end does not depend on how the rows were
cut: a settled place is kept in a span, and its rows go, those that come for it later too. Only the rest is
kept row by row. Knows no add and no frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.sets.folded import LEAST, Folded
from checkers.sets.packing import Packed, packed, unpacked
from checkers.sets.spans import Bools, Ints, Spans, ints

Columns = tuple[Ints, Ints, Ints, Ints]
"""Of places: ledger, entry, due (ns), sequence number. Of votes: ledger, entry, time (ns), voter."""
LARGEST_ENTRY = 2**40 - 1
"""Places above it are not looked at: ledger and entry share one key."""
ROOM = 2**16
"""So many rows may come before those that wait are looked through again, or as many as wait already."""
_ENTRY_BITS, _VOTER_BITS = 40, 16
_MOST_LEDGERS = 2 ** (62 - _ENTRY_BITS)
_NOT_KNOWN = 2**_VOTER_BITS
_NO_ROWS: Columns = (np.empty(0, dtype=np.int64),) * 4


@dataclass(frozen=True, slots=True, eq=False)
class Enough:
    """How many voters a place of a ledger takes.

    ``known`` are the ledgers of which that is known, ``otherwise`` is enough for any (0: nobody knows).
    """

    known: Folded
    otherwise: int = 0

    @classmethod
    def of_rows(cls, ledger: NDArray[Any], number: NDArray[Any], otherwise: int = 0) -> Enough:
        """Of rows in any order; of several numbers of one ledger the least."""
        return cls(Folded.of_rows([ledger], (number, LEAST)), otherwise)

    def __or__(self, other: Enough) -> Enough:
        return Enough(self.known | other.known, max(self.otherwise, other.otherwise))

    def of(self, ledger: Ints) -> Ints:
        """The number for each row; more than there can be where it is not known."""
        ledgers, numbers = self.known.columns
        found = np.full(len(ledger), self.otherwise or _NOT_KNOWN, dtype=np.int64)
        if len(ledgers):
            at = np.minimum(np.searchsorted(ledgers, ledger), len(ledgers) - 1)
            found = np.where(ledgers[at] == ledger, numbers[at], found)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Turnout:
    """Places and votes: ``settled`` as spans, the rest as rows, in parts as they came.

    Of the rest ``waiting`` rows were looked through and could not be settled, all others are fresh.
    """

    settled: Spans
    due: tuple[Columns, ...] = ()
    votes: tuple[Columns, ...] = ()
    waiting: int = 0

    @classmethod
    def of_rows(cls, due: Columns | None = None, votes: Columns | None = None) -> Turnout:
        """Rows in any order, with repeats; nothing is settled yet."""
        return cls(Spans.empty(), _part(due), _part(votes))

    def joined(self, other: Turnout, enough: Enough) -> Turnout:
        """Both; what can be settled is, once so much is fresh that looking is worth it."""
        both = Turnout(
            self.settled | other.settled,
            self.due + other.due,
            self.votes + other.votes,
            self.waiting + other.waiting,
        )
        fresh = _length(both.due) + _length(both.votes) - both.waiting
        return both if fresh < max(ROOM, both.waiting) else both.decided(enough)

    def decided(self, enough: Enough) -> Turnout:
        """The same with all settled that can be; the places that are left are sorted, each once."""
        due, votes = _stacked(self.due), _stacked(self.votes)
        keys = _Keys(self.settled.ledger, due[0], votes[0])
        due_key, vote_key = keys.of(due[0], due[1]), keys.of(votes[0], votes[1])
        if len(self.settled):
            first, last = (
                keys.of(self.settled.ledger, end) for end in (self.settled.first, self.settled.last)
            )
            due, due_key = _picked(due, due_key, ~_inside(due_key, first, last))
            votes, vote_key = _picked(votes, vote_key, ~_inside(vote_key, first, last))
        due, due_key = _latest(due, due_key)
        if not len(due_key):
            return Turnout.of_rows(votes=votes)._with(self.settled)
        at = np.minimum(np.searchsorted(due_key, vote_key), len(due_key) - 1)
        known = due_key[at] == vote_key
        in_time = known & (votes[2] <= due[2][at])
        voters = np.sort((at[in_time] << _VOTER_BITS) | votes[3][in_time])
        voters = voters[np.diff(voters, prepend=-1) != 0]  # each once; faster than np.unique
        done = np.bincount(voters >> _VOTER_BITS, minlength=len(due_key)) >= enough.of(due[0])
        fresh = Spans.of_entries(due[0][done], due[1][done])
        due, _ = _picked(due, due_key, ~done)
        votes, _ = _picked(votes, vote_key, ~(known & done[at]))
        return Turnout.of_rows(due, votes)._with(self.settled | fresh)

    def _with(self, settled: Spans) -> Turnout:
        """The same rows, all looked through."""
        return Turnout(settled, self.due, self.votes, _length(self.due) + _length(self.votes))

    def undecided(self) -> Columns:
        """The places that are not settled, as rows; once ``decided``, sorted and each once."""
        return _stacked(self.due)

    def votes_left(self) -> Columns:
        """The votes for places that are not settled, as rows."""
        return _stacked(self.votes)

    def votes_for(self, ledger: int, entry: int) -> Iterator[tuple[int, int]]:
        """(time, voter) of the votes for a place that is not settled, each voter's first, by time."""
        ledgers, entries, at_ns, who = _stacked(self.votes)
        mine = (ledgers == ledger) & (entries == entry)
        first: dict[int, int] = {}
        for came_ns, voter in sorted(zip(at_ns[mine].tolist(), who[mine].tolist(), strict=True)):
            first.setdefault(voter, came_ns)
        yield from ((came_ns, voter) for voter, came_ns in first.items())

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled in as little room as the numbers allow: summaries travel."""
        rows = (tuple(map(packed, _stacked(parts))) for parts in (self.due, self.votes))
        return _unpickled, (self.settled, *rows, self.waiting)


def _unpickled(settled: Spans, due: tuple[Packed, ...], votes: tuple[Packed, ...], waiting: int) -> Turnout:
    rows = Turnout.of_rows(*((*map(unpacked, part),) for part in (due, votes)))  # type: ignore[arg-type]
    return Turnout(settled, rows.due, rows.votes, waiting)


class _Keys:
    """One number for each (ledger, entry), in their order."""

    def __init__(self, *ledgers: Ints) -> None:
        some = [column for column in ledgers if len(column)]
        self._least = min((int(column.min()) for column in some), default=0)
        most = max((int(column.max()) for column in some), default=0)
        self._ranked: Ints | None = None
        if most - self._least >= _MOST_LEDGERS:
            self._ranked = np.unique(np.concatenate(some))

    def of(self, ledger: Ints, entry: Ints) -> Ints:
        place = ledger - self._least if self._ranked is None else np.searchsorted(self._ranked, ledger)
        return ints((place << np.int64(_ENTRY_BITS)) | entry)


def _part(rows: Columns | None) -> tuple[Columns, ...]:
    return (rows,) if rows is not None and len(rows[0]) else ()


def _latest(due: Columns, key: Ints) -> tuple[Columns, Ints]:
    """Sorted by key, of each place the row that is due last (of equal ones the last)."""
    if np.all(key[1:] > key[:-1]):
        return due, key
    order = np.argsort(key, kind="stable")  # of a few sorted runs it only merges them
    if np.any(np.diff(key[order]) == 0):
        order = np.lexsort((due[3], due[2], key))
    key = key[order]
    last = np.append(key[1:] != key[:-1], True)
    return _taken(due, order[last]), key[last]


def _inside(key: Ints, first: Ints, last: Ints) -> Bools:
    """Which keys lie in one of the spans, which are sorted."""
    at = np.searchsorted(first, key, side="right") - 1
    return np.asarray((at >= 0) & (key <= last[np.maximum(at, 0)]))


def _picked(rows: Columns, key: Ints, pick: Bools) -> tuple[Columns, Ints]:
    return (rows, key) if pick.all() else (_taken(rows, pick), key[pick])


def _taken(rows: Columns, pick: Bools | NDArray[np.intp]) -> Columns:
    ledger, entry, at_ns, number = (column[pick] for column in rows)
    return ledger, entry, at_ns, number


def _stacked(parts: tuple[Columns, ...]) -> Columns:
    if len(parts) == 1:
        return parts[0]
    ledger, entry, at_ns, number = map(np.concatenate, zip(_NO_ROWS, *parts, strict=True))
    return ledger, entry, at_ns, number


def _length(parts: tuple[Columns, ...]) -> int:
    return sum(len(part[0]) for part in parts)
