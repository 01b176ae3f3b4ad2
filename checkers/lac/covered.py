"""LACs that clients received, and whether AQ bookies had acknowledged what they cover by then.

The LAC moves when AQ bookies have answered EOK (the replication protocol, "Writing to the ledger"), and
whoever receives it, from the writer's handle or from bookies that the writer sent it to, receives it later.
So a LAC is wrong if fewer than AQ acknowledgements of an entry that it covers can have reached any client
when the operation that told it ended. An acknowledgement counts from its ``forwarded_ns`` on.

Left out are LACs received once a recovery may have begun (a bookie that recovers tells itself what no link
carries), ids that no client sent (``covers_unsent`` has them), and a writer's own LAC up to the add that told
it (``acked_too_soon`` has that).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import reduce
from operator import or_

import numpy as np

from checkers.contract import RunFacts
from checkers.facts.histories import Histories
from checkers.facts.wording import (
    bookie_name,
    client_name,
    counted,
    entries_text,
    ledger_text,
    operation_text,
    time_text,
)
from checkers.lac.acks import Acks
from checkers.rows import Rows
from checkers.sets.capping import room_for
from checkers.sets.earliest import BLOCK
from checkers.sets.folded import LEAST, Folded
from checkers.sets.fronts import Fronts
from checkers.sets.moments import Pieces, pairs
from checkers.sets.spans import Bools, Ints, Spans, ints
from checkers.sets.turnout import LARGEST_ENTRY
from evidence.codes import NEVER, Kind, Outcome
from evidence.findings import Finding
from protocol.metadata import LedgerState

KIND = "covers_unacked"
_ENTRY_BITS = 40


def first_tellings(told: tuple[Rows, ...]) -> Fronts:
    """The LACs of some rows that exceed every one received before: fronts back in time.

    Of a writer's adds only those count whose LAC lies beyond the add.
    """
    parts = [part.where((part["kind"] != Kind.ADD) | (part["lac"] > part["entry"])) for part in told]
    none = np.empty(0, dtype=np.int64)
    names = ("ledger", "completed_ns", "lac", "client", "seq")
    ledger, at_ns, *others = (np.concatenate([none, *(part[name] for part in parts)]) for name in names)
    return Fronts.of_rows(ledger, -at_ns, *others)


def writers_of(adds: Rows) -> Folded:
    """(client, ledger) of the adds that may have been sent."""
    sent = adds.where(adds["outcome"] != Outcome.FAIL)
    return Folded.of_rows([sent["client"], sent["ledger"]])


@dataclass(frozen=True, slots=True)
class _Tellings:
    """Disjoint ranges of entries, ascending; each is covered first by the LAC received at ``at_ns``."""

    ledger: Ints
    first: Ints
    last: Ints
    at_ns: Ints
    client: Ints
    seq: Ints

    def where(self, pick: Bools) -> _Tellings:
        return _Tellings(*(getattr(self, one.name)[pick] for one in fields(self)))


@dataclass(frozen=True, slots=True)
class Early:
    """Findings (enough of them), and how many entries they are."""

    findings: tuple[Finding, ...]
    count: int


def covers_unacked(
    first_told: Fronts, wrote: Folded, tried: Spans, acks: Acks, histories: Histories, run: RunFacts
) -> Early:
    """The tried entries that a received LAC covers before AQ bookies can have acknowledged them.

    ``acks`` are decided. Nothing is found of ledgers whose metadata was not seen whole, nor of those with
    a writer of whose links the log has no frame.
    """
    told = _judged(_tellings(first_told), wrote, acks, histories)
    if not len(told.ledger):
        return Early((), 0)
    wrong = (Spans.of_ranges(told.ledger, told.first, told.last) & tried) - _in_time(told, acks)
    places = _Places(told)
    none = np.empty(0, dtype=np.int64)
    first, last = (places.of(wrong.ledger, end) for end in (wrong.first, wrong.last))
    found = pairs(Pieces(first, last, none, none), places.told)
    room = Counter[tuple[str, int]]()
    columns = (places.entry(found.first), places.entry(found.last), found.right)
    spans: list[tuple[int, int, int]] = np.stack(columns, axis=1).tolist()
    findings = [
        _finding(told, at, (first, last), acks, run)
        for first, last, at in spans
        if room_for((KIND, int(told.ledger[at])), room)
    ]
    return Early(tuple(findings), wrong.count())


def _tellings(first_told: Fronts) -> _Tellings:
    ledger, before_ns, lac, client, seq = first_told.columns
    order = np.lexsort((lac, ledger))
    ledger, lac = ledger[order], np.minimum(lac[order], LARGEST_ENTRY)
    first = np.zeros(len(ledger), dtype=np.int64)
    follows = np.flatnonzero(ledger[1:] == ledger[:-1]) + 1
    first[follows] = lac[follows - 1] + 1
    return _Tellings(ledger, first, lac, -before_ns[order], client[order], seq[order])


def _judged(told: _Tellings, wrote: Folded, acks: Acks, histories: Histories) -> _Tellings:
    """Those that acknowledgements are held against: see the module's text."""
    plain = histories.plain
    whole = [ledger for ledger in histories.odd_of if histories.seen_whole(ledger)]
    sent, logged = wrote.columns, np.isin(wrote.columns[0], ints(sorted(acks.sources)))
    unlogged = sent[1][~logged]
    begun = plain.columns["state"] == LedgerState.IN_RECOVERY
    rows = [(plain.columns["ledger"][begun], plain.columns["earliest_ns"][begun])]
    odd = [v for ledger in whole for v in histories.odd_of[ledger] if v.state == LedgerState.IN_RECOVERY]
    rows.append((ints([v.ledger for v in odd]), ints([v.earliest_ns for v in odd])))
    ledger, at_ns = (np.concatenate(column) for column in zip(*rows, strict=True))
    recovered = Folded.of_rows([ledger], (at_ns, LEAST))
    seen = np.isin(told.ledger, np.concatenate([plain.ledgers, ints(sorted(whole))]))
    known = np.isin(told.ledger, acks.quorums.known.columns[0]) & ~np.isin(told.ledger, unlogged)
    return told.where(seen & known & (told.at_ns < _looked_up(recovered, told.ledger)))


def _looked_up(values: Folded, ledger: Ints) -> Ints:
    """The value of each row's ledger, ``NEVER`` where it has none."""
    ledgers, found = values.columns
    if not len(ledgers):
        return np.full(len(ledger), NEVER, dtype=np.int64)
    at = np.minimum(np.searchsorted(ledgers, ledger), len(ledgers) - 1)
    return np.where(ledgers[at] == ledger, found[at], NEVER)


class _Places:
    """One number for each (ledger, entry) of the ledgers of some tellings, in their order."""

    def __init__(self, told: _Tellings) -> None:
        self._ledgers = np.unique(told.ledger)
        first, last = (self.of(told.ledger, end) for end in (told.first, told.last))
        self.told = Pieces(first, last, told.at_ns, told.at_ns)

    def of(self, ledger: Ints, entry: Ints) -> Ints:
        return ints((np.searchsorted(self._ledgers, ledger) << _ENTRY_BITS) | entry)

    def knows(self, ledger: Ints) -> Bools:
        return np.isin(ledger, self._ledgers)

    def ledger(self, key: Ints) -> Ints:
        return ints(self._ledgers[key >> np.int64(_ENTRY_BITS)])

    @staticmethod
    def entry(key: Ints) -> Ints:
        return key & np.int64(LARGEST_ENTRY)


def _in_time(told: _Tellings, acks: Acks) -> Spans:
    """The entries that AQ bookies can have acknowledged by the time of the telling that covers them first.

    By the votes where they were kept; else the entry is settled, and its block may have voted by then.
    """
    places = _Places(told)
    key, voter, at_ns = _votes(places, acks)
    at = np.maximum(np.searchsorted(places.told.first, key, side="right") - 1, 0)
    inside = (places.told.first[at] <= key) & (key <= places.told.last[at])
    early = inside & (at_ns <= told.at_ns[at])
    voted = Folded.of_rows([key[early], voter[early]]).columns[0]
    voted, number = np.unique(voted, return_counts=True)
    done = voted[number >= acks.quorums.of(places.ledger(voted))]
    exact = Spans.of_entries(places.ledger(done), places.entry(done))

    ledger, block, since_ns = acks.earliest.blocks.columns
    mine = places.knows(ledger)
    first = places.of(ledger[mine], block[mine] * BLOCK)
    blocks = Pieces(first, first + (BLOCK - 1), since_ns[mine], since_ns[mine])
    found = pairs(blocks, places.told)
    begun = blocks.early[found.left] <= places.told.early[found.right]
    first, last = found.first[begun], found.last[begun]
    roughly = Spans.of_ranges(places.ledger(first), places.entry(first), places.entry(last))
    settled = reduce(or_, (turnout.settled for turnout in acks.by_client.values()), Spans.empty())
    return exact | (roughly & settled)


def _votes(places: _Places, acks: Acks) -> tuple[Ints, Ints, Ints]:
    """(place, bookie, time) of the acknowledgements that were kept one by one."""
    ledger, entry, voter, at_ns = acks.earliest.votes.columns
    parts = [(ledger, entry, at_ns, voter), *(turnout.votes_left() for turnout in acks.by_client.values())]
    ledger, entry, at_ns, voter = (np.concatenate(column) for column in zip(*parts, strict=True))
    mine = places.knows(ledger)
    return places.of(ledger[mine], entry[mine]), voter[mine], at_ns[mine]


def _finding(told: _Tellings, at: int, span: tuple[int, int], acks: Acks, run: RunFacts) -> Finding:
    """Of one telling and neighbours that it covers; the proof is of the first."""
    ledger, at_ns, client, seq = (
        int(column[at]) for column in (told.ledger, told.at_ns, told.client, told.seq)
    )
    number, (first, last) = int(acks.quorums.of(ints(ledger))[0]), span
    what = f"{client_name(run, client)} received LAC {int(told.last[at])}"
    return Finding(
        property="lac",
        kind=KIND,
        ledger=ledger,
        first_entry=first,
        last_entry=last,
        count=last - first + 1,
        text=(
            f"{ledger_text(run, ledger)}: {what} before {counted(number, 'bookie')} had acknowledged "
            f"{entries_text(first, last)}"
        ),
        proof=(
            f"metadata: the ack quorum is {number}",
            f"{what} by {time_text(run, at_ns)} ({operation_text(seq)})",
            *_acknowledged(ledger, first, at_ns, acks, run),
        ),
    )


def _acknowledged(ledger: int, entry: int, at_ns: int, acks: Acks, run: RunFacts) -> Iterator[str]:
    """When bookies' acknowledgements of an entry were passed on, by time."""
    first: dict[int, int] = {voter: ns for *_, voter, ns in acks.earliest.votes.of(ledger, entry)}
    for turnout in acks.by_client.values():
        for ns, voter in turnout.votes_for(ledger, entry):
            first[voter] = min(ns, first.get(voter, ns))
    for ns, voter in sorted((ns, voter) for voter, ns in first.items()):
        late = ", too late" if ns > at_ns else ""
        yield (
            f"{bookie_name(run, voter)}'s acknowledgement of entry {entry} was passed on not before "
            f"{time_text(run, ns)}{late}"
        )
    if not first:
        blocks = acks.earliest.blocks.of(ledger, entry // BLOCK)
        begin = entry // BLOCK * BLOCK
        yield from (
            f"no acknowledgement of entries {begin}..{begin + BLOCK - 1} was passed on before "
            f"{time_text(run, ns)}"
            for *_, ns in blocks
        )
        if not blocks:
            yield f"no bookie's acknowledgement of entry {entry} was ever passed on"
