"""Adds that were told ok, and the bookies whose acknowledgements can have reached their writer by then.

The client tells ok once AQ bookies of the write set have answered EOK (``PendingAddOp#writeComplete``). Here
any AQ bookies will do, for ensembles change while an add is under way; recovery's adds count as normal ones,
and a status that nobody knows counts as EOK. What counts is what was passed on to the writer, by a rule of
ours too, and when: nobody had a frame before its ``forwarded_ns`` (``proxy/wirelog/record.go``). So whoever
is convicted was told ok when fewer than AQ bookies can have told him anything. An id that was acknowledged
twice counts as acknowledged at the later time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers.contract import Chunk, RunFacts
from checkers.facts.damage import shortcomings
from checkers.facts.histories import Histories
from checkers.facts.parts import acked
from checkers.facts.versions import DELETED
from checkers.facts.wire import answers
from checkers.facts.wording import (
    bookie_name,
    client_name,
    counted,
    entries_text,
    ledger_text,
    operation_text,
    time_text,
)
from checkers.rows import Rows
from checkers.sets.capping import room_for
from checkers.sets.earliest import Earliest
from checkers.sets.spans import Spans, ints
from checkers.sets.turnout import LARGEST_ENTRY, Columns, Enough, Turnout
from evidence.codes import NEVER, Message, Status
from evidence.findings import Finding

KIND = "acked_too_soon"
TABLES = ("operations", "ledgers", "frames")
_REFUSALS = tuple(sorted(set(Status) - {Status.EOK, Status.NONE}))


@dataclass(frozen=True, eq=False)
class Acks:
    """The summary: by client its adds that were told ok, and the answers that were passed on to it.

    ``sources`` are all whose frames are in the log; ``quorums`` is the AQ of each ledger; ``earliest`` has
    the answers passed on to any client.
    """

    by_client: Mapping[int, Turnout]
    quorums: Enough
    sources: frozenset[int]
    earliest: Earliest

    def __or__(self, other: Acks) -> Acks:
        quorums, mine = self.quorums | other.quorums, dict(self.by_client)
        for client, theirs in other.by_client.items():
            mine[client] = mine[client].joined(theirs, quorums) if client in mine else theirs
        return Acks(mine, quorums, self.sources | other.sources, self.earliest | other.earliest)

    def decided(self) -> Acks:
        """The same with all settled that can be."""
        by_client = {client: turnout.decided(self.quorums) for client, turnout in self.by_client.items()}
        return Acks(by_client, self.quorums, self.sources, self.earliest)

    def __reduce__(self) -> tuple[Any, ...]:
        """Summaries travel: without what can be settled."""
        return Acks, (self.decided().by_client, self.quorums, self.sources, self.earliest)


def unjudged(run: RunFacts) -> list[str]:
    """Why nobody can be convicted of this in the run; empty where somebody can."""
    lacking = [] if run.wire else ["no wire log was kept"]
    return lacking + shortcomings(run, TABLES)


def scan_acks(chunk: Chunk, run: RunFacts) -> Acks:
    """The adds, answers and ack quorums of one chunk; nothing of a run in which nobody can be convicted."""
    if unjudged(run):
        return Acks({}, _quorums(chunk, 0), frozenset(), _earliest({}, run))
    due = dict(_by("client", chunk.operations.once(acked).once(_small), "completed_ns", "seq"))
    votes: dict[int, tuple[Columns, ...]] = {}
    for kind in (Message.ADD, Message.RECOVERY_ADD):
        told = answers(chunk.frames, kind).once(_told)
        for source, rows in _by("source", told, "forwarded_ns", "bookie"):
            votes[source] = (*votes.get(source, ()), rows)
    by_client = {
        client: Turnout(Spans.empty(), (due[client],) if client in due else (), votes.get(client, ()))
        for client in sorted(run.clients.values())
        if client in due or client in votes
    }
    sources = chunk.frames.once(_sources)
    return Acks(by_client, _quorums(chunk, run.most_acks), sources, _earliest(votes, run))


def _earliest(votes: Mapping[int, tuple[Columns, ...]], run: RunFacts) -> Earliest:
    """The answers passed on to clients."""
    clients = set(run.clients.values())
    parts = [part for client, parts in votes.items() if client in clients for part in parts]
    none: Columns = (_NONE, _NONE, _NONE, _NONE)
    ledger, entry, at_ns, bookie = (np.concatenate(column) for column in zip(none, *parts, strict=True))
    return Earliest.of_rows(ledger, entry, bookie, at_ns)


def _told(rows: Rows) -> Rows:
    """The answers that reached somebody and are no refusal."""
    reached = rows["forwarded_ns"] != NEVER
    refused = rows["delivered"] != Status.EOK
    if refused.any():
        reached &= ~(refused & np.isin(rows["delivered"], _REFUSALS))
    return rows.where(reached & (rows["ledger"] >= 0) & (rows["entry"] >= 0)).once(_small)


def _small(rows: Rows) -> Rows:
    return rows.where(rows["entry"] <= LARGEST_ENTRY)


def _sources(rows: Rows) -> frozenset[int]:
    return frozenset(_numbers(rows, "source"))


def _numbers(rows: Rows, column: str) -> list[int]:
    """The small numbers in a column, each once."""
    found: list[int] = np.flatnonzero(np.bincount(rows[column])).tolist()
    return found


def _by(who: str, rows: Rows, at_ns: str, number: str) -> Iterator[tuple[int, Columns]]:
    """The rows of each client; there are few."""
    for client in _numbers(rows, who):
        mine = rows.of(**{who: client})
        yield client, (ints(mine["ledger"]), ints(mine["entry"]), ints(mine[at_ns]), ints(mine[number]))


def _quorums(chunk: Chunk, most: int) -> Enough:
    table = chunk.tables.get("ledgers")
    if table is None:
        return Enough.of_rows(_NONE, _NONE, most)
    there = np.asarray(table["state"]) != DELETED
    return Enough.of_rows(np.asarray(table["ledger"])[there], np.asarray(table["ack_quorum"])[there], most)


_NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class TooSoon:
    """What is to be said: findings (enough of them), how many entries they are, how many were in time."""

    findings: tuple[Finding, ...]
    count: int
    in_time: int
    notes: tuple[str, ...]


def too_soon(acks: Acks, histories: Histories, run: RunFacts) -> TooSoon:
    """The adds whose writers were told ok too soon.

    Nothing is said of ledgers whose metadata nobody saw, or was put back (an id may have been given twice),
    nor of a writer of whose links the log has no frame. ``acks`` are decided.
    """
    known = acks.quorums.known.columns[0]
    findings: list[Finding] = []
    notes, count, room = [], 0, Counter[tuple[str, int]]()
    for client, turnout in sorted(acks.by_client.items()):
        rows = turnout.undecided()
        judged = np.isin(rows[0], known) & ~np.isin(rows[0], ints(sorted(histories.put_back)))
        number = int(judged.sum())
        if not number:
            continue
        if client not in acks.sources:
            notes.append(f"{client_name(run, client)}: no frame of its links is in the wire log, so {_WHAT}")
            continue
        count += number
        ledger, entry, at_ns, seq = (column[judged] for column in rows)
        begin = np.flatnonzero(np.diff(ledger, prepend=-1) | (np.diff(entry, prepend=-2) != 1))
        for first, last in zip(begin.tolist(), [*(begin[1:] - 1).tolist(), number - 1], strict=True):
            if room_for((KIND, int(ledger[first])), room):
                add = _Add(client, *(int(column[first]) for column in (ledger, entry, at_ns, seq)))
                findings.append(_finding(add, int(entry[last]), turnout, acks.quorums, run))
    in_time = sum(turnout.settled.count() for turnout in acks.by_client.values())
    return TooSoon(tuple(findings), count, in_time, tuple(notes))


_WHAT = "whether AQ bookies had acknowledged what it was told ok for was not judged"


@dataclass(frozen=True, slots=True)
class _Add:
    client: int
    ledger: int
    entry: int
    completed_ns: int
    seq: int


def _finding(add: _Add, last: int, turnout: Turnout, quorums: Enough, run: RunFacts) -> Finding:
    """Of an add and its neighbours up to ``last``; the proof is of that add."""
    number, who = int(quorums.of(ints(add.ledger))[0]), client_name(run, add.client)
    return Finding(
        property="lac",
        kind=KIND,
        ledger=add.ledger,
        first_entry=add.entry,
        last_entry=last,
        count=last - add.entry + 1,
        text=(
            f"{ledger_text(run, add.ledger)}: {who} was told ok for {entries_text(add.entry, last)} "
            f"before {counted(number, 'bookie')} had acknowledged {'it' if last == add.entry else 'them'}"
        ),
        proof=(
            f"metadata: the ack quorum is {number}",
            f"{who} was told ok for entry {add.entry} at {time_text(run, add.completed_ns)} "
            f"({operation_text(add.seq)})",
            *_answers(add, turnout, run),
        ),
    )


def _answers(add: _Add, turnout: Turnout, run: RunFacts) -> Iterator[str]:
    none = True
    for at_ns, bookie in turnout.votes_for(add.ledger, add.entry):
        late = at_ns > add.completed_ns
        if late and none:
            yield "until then no acknowledgement had been passed on to it"
        none = False
        when = "not before" if late else "at"
        yield (
            f"{bookie_name(run, bookie)}'s acknowledgement was passed on to it {when} {time_text(run, at_ns)}"
            f"{', too late' if late else ''}"
        )
    if none:
        yield "no bookie's acknowledgement was ever passed on to it"
