"""Lawful histories of one ledger, made by dice piece by piece: no checker may report an anomaly of them.

What clients did, what the links carried, what became of the metadata, and what bookies answer in the
end fit together: a bookie that took an entry keeps it, and the times ascend.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Flag, Kind, Message, Outcome, Status
from tests.histories.exchanges import Wire
from tests.histories.story import (
    OBSERVER,
    READER,
    WRITER,
    Fact,
    acked,
    closed,
    created,
    deferred,
    delivered,
    facts,
    forced,
    found,
    kept,
    lac_read,
    lost,
    metadata,
    opened,
    operation,
    recovered,
    recovering,
    refused,
    run_facts,
    unsure,
)

ENSEMBLES = (("b1", "b2", "b3"), ("b1", "b2", "b4"), ("b5", "b2", "b4"))
EVERYONE = (1, 2, 3, 4, 5)


@dataclass(frozen=True)
class Lawful:
    """A lawful history, with what its mutations need to know of it.

    ``promised`` is one more than the highest promised id before the close, ``end`` the last entry
    of the close, ``tried`` the number of adds that were sent; ``run`` is what it is judged with.
    """

    history: list[Fact]
    acked: int
    promised: int
    tried: int
    end: int
    run: RunFacts

    def rows(self, table: str) -> list[dict[str, Any]]:
        return [row for name, row in self.history if name == table]

    def operations(self, *kinds: Kind) -> list[dict[str, Any]]:
        return [row for row in self.rows("operations") if row["kind"] in kinds]


@dataclass
class _Tale:
    """A history while it is made: ``wire`` has the clock and the links, ``took`` each entry's bookies."""

    dice: Random
    wire: Wire = field(default_factory=Wire)
    took: dict[int, set[int]] = field(default_factory=dict)
    fragments: dict[int, tuple[str, ...]] = field(default_factory=lambda: {0: ENSEMBLES[0]})
    versions: list[Fact] = field(default_factory=list)
    servers: list[dict[str, Any]] = field(default_factory=list)

    def perhaps(self) -> bool:
        return self.dice.random() < 0.5

    def during(self, fact: Fact, since_ns: int) -> Fact:
        """The operation, which ends now."""
        pending = fact[1]["outcome"] == Outcome.PENDING
        ended_ns = NEVER if pending else self.wire.tick()
        return fact[0], {**fact[1], "invoked_ns": since_ns, "completed_ns": ended_ns}

    def at_once(self, fact: Fact) -> Fact:
        return self.during(fact, self.wire.tick())

    def version(self, fact: Fact) -> None:
        """A new version of the metadata; when it came into force may be unknown."""
        at_ns = self.wire.tick()
        latest_ns = self.dice.choice([NEVER, at_ns])
        self.versions.append((fact[0], {**fact[1], "earliest_ns": at_ns, "latest_ns": latest_ns}))

    def bookies(self) -> list[int]:
        return [int(name[1:]) for name in self.fragments[max(self.fragments)]]

    def some(self, of: list[int], least: int) -> set[int]:
        return set(self.dice.sample(of, self.dice.randint(least, len(of))))

    def stored(self, kind: Message, source: int, entry: int, least: int, *, most: int = 3) -> None:
        """An entry goes to its write set, and at least ``least`` of its bookies take it."""
        takers = set(sorted(self.some(self.bookies(), least))[:most])
        for bookie in self.bookies():
            answer = Status.EOK if bookie in takers else None
            self.wire.exchange(kind, source, bookie, answer, entry=entry, lac=-1)
        self.took.setdefault(entry, set()).update(takers)

    def booted(self, bookie: int, boot: int, event: str, **detail: Any) -> None:
        at_ns = self.wire.tick() if event == "exit" or boot > 1 else 1
        row = {"server": f"b{bookie}", "boot": boot, "event": event, "detail": json.dumps(detail)}
        self.servers.append({**row, "earliest_ns": at_ns, "latest_ns": at_ns})


def lawful(dice: Random) -> Lawful:
    """A writer, perhaps a reader, an end by close or recovery, a census and the final reads."""
    tale = _Tale(dice)
    ok, pending = dice.randint(1, 6), dice.randint(0, 3)
    by_recovery, late = tale.perhaps(), tale.perhaps()
    written = dice.randint(0, pending) if by_recovery else 0
    end = ok - 1 + written
    for bookie in EVERYONE:
        tale.booted(bookie, 1, "started")
    client_facts = facts(_adds(tale, ok, pending, written, late), _reader(tale, ok, late))
    _crash(tale)
    history = facts(
        client_facts,
        _recovery(tale, ok, end) if by_recovery else _close(tale, end),
        _last_look(tale, end),
        [_answers(tale, entry, entry <= end) for entry in range(ok + pending)],
        tale.versions,
        tale.wire.facts,
    )
    promised = ok if not late else max((r["entry"] + 1 for _, r in history if _is_force(r)))
    run = run_facts(servers=tuple(tale.servers), wire=True)
    return Lawful(history, ok, promised, ok + pending, end, run)


def _is_force(row: dict[str, Any]) -> bool:
    return "handle" in row and row["kind"] == Kind.FORCE


def _adds(tale: _Tale, ok: int, pending: int, written: int, late: bool) -> list[Fact]:
    """Adds that are ok, a force if they are deferred, adds that never end, an add that was never sent.

    Of those without an end the first ``written`` are on some bookie, the next on one at most.
    """
    dice, maker = tale.dice, deferred if late else acked
    made = [tale.at_once(operation(Kind.CREATE))]
    tale.version(created(fragments=dict(tale.fragments)))
    changes = sorted(dice.randint(0, ok) for _ in range(dice.randint(0, 2)))
    for entry in range(ok):
        _change(tale, changes, entry)
        since_ns = tale.wire.tick()
        tale.stored(Message.ADD, WRITER, entry, 2)
        before = {} if late else {"lac_before": entry - 1}
        made.append(tale.during(maker(entry, **before), since_ns))
    if late:
        since_ns = tale.wire.tick()
        for bookie in tale.bookies():
            tale.wire.exchange(Message.FORCE, WRITER, bookie, Status.EOK)
        made.append(tale.during(forced(dice.randint(0, ok - 1)), since_ns))
    _change(tale, changes, ok)
    for index in range(pending):
        since_ns = tale.wire.tick()
        least, most = (1, 3) if index < written else (0, 1) if index == written else (0, 3)
        tale.stored(Message.ADD, WRITER, ok + index, least, most=most)
        outcome = dice.choice([Outcome.UNKNOWN, Outcome.PENDING])
        made.append(tale.during(unsure(ok + index, outcome=outcome), since_ns))
    return made + ([tale.at_once(refused(ok + pending))] if tale.perhaps() else [])


def _change(tale: _Tale, changes: list[int], entry: int) -> None:
    """The writer replaces bookies before it adds an entry."""
    for first in changes:
        if first == entry:
            tale.fragments[first] = tale.dice.choice(ENSEMBLES)
            tale.version(metadata(len(tale.versions), 1, fragments=dict(tale.fragments)))


def _reader(tale: _Tale, ok: int, late: bool) -> list[Fact]:
    """LAC reads whose answers may fall, a confirmed read below the LAC, an unconfirmed one anywhere."""
    if late or tale.perhaps():
        return []
    high = tale.dice.randint(0, ok - 1)
    low = tale.dice.randint(-1, high)
    for bookie in tale.bookies():
        tale.wire.exchange(Message.LAC_READ, READER, bookie, Status.ENOENTRY)
    made = [
        tale.at_once(lac_read(high, seq=50)),
        tale.at_once(lac_read(high, seq=51, result=low, lac_before=high)),
    ]
    for entry in range(tale.dice.randint(0, high + 1)):
        _read(tale, READER, entry)
        made.append(tale.at_once(delivered(entry)))
    return [*made, tale.at_once(delivered(ok - 1, flags=Flag.UNCONFIRMED, seq=99))]


def _read(tale: _Tale, source: int, entry: int) -> None:
    bookie = tale.dice.choice(sorted(tale.took[entry]))
    tale.wire.exchange(Message.READ, source, bookie, Status.EOK, entry=entry)


def _crash(tale: _Tale) -> None:
    """Perhaps a bookie is killed and comes back with all it took."""
    victim = tale.dice.choice([0, *EVERYONE])
    if victim:
        tale.booted(victim, 1, "exit", code=None, signal=9)
        tale.booted(victim, 2, "started")
        tale.wire.boots[victim] = 2


def _recovery(tale: _Tale, ok: int, end: int) -> list[Fact]:
    """Another client fences a majority, reads on from the LAC, writes back what it finds, and closes."""
    wire, since_ns = tale.wire, tale.wire.tick()
    tale.version(recovering(len(tale.versions), fragments=dict(tale.fragments)))
    asked = tale.bookies()
    lac = max(tale.dice.randint(-1, ok - 1), max(tale.fragments) - 1)
    for bookie in tale.some(asked, 2):
        wire.exchange(Message.FENCING_LAC_READ, READER, bookie, Status.EOK, lac=lac)
    tale.fragments[max(tale.fragments)] = tale.dice.choice(ENSEMBLES)
    for entry in range(lac + 1, end + 1):
        bookie = tale.dice.choice(sorted(tale.took[entry]))
        wire.exchange(Message.RECOVERY_READ, READER, bookie, Status.EOK, entry=entry)
        tale.stored(Message.RECOVERY_ADD, READER, entry, 2)
    for bookie in [bookie for bookie in asked if bookie not in tale.took.get(end + 1, set())]:
        wire.exchange(Message.RECOVERY_READ, READER, bookie, Status.ENOENTRY, entry=end + 1)
    _closed(tale, end)
    return [tale.during(recovered(end), since_ns)]


def _close(tale: _Tale, end: int) -> list[Fact]:
    since_ns = tale.wire.tick()
    _closed(tale, end)
    return [tale.during(operation(Kind.CLOSE, result=end, seq=90), since_ns)]


def _closed(tale: _Tale, end: int) -> None:
    """The close, and perhaps replication after it."""
    tale.version(closed(end, len(tale.versions), fragments=dict(tale.fragments)))
    if tale.perhaps():
        tale.fragments[0] = ENSEMBLES[2]
        tale.version(closed(end, len(tale.versions), fragments=dict(tale.fragments)))


def _last_look(tale: _Tale, end: int) -> list[Fact]:
    made = [tale.at_once(opened(end))]
    for entry in range(end + 1):
        _read(tale, OBSERVER, entry)
        made.append(tale.at_once(kept(entry)))
    return made


def _answers(tale: _Tale, entry: int, there: bool) -> list[Fact]:
    """Bookies 1 to 5 in both passes: a bookie that took an entry holds it, any other may.

    One that is named for it does, where it was read.
    """
    asked_ns = tale.wire.tick()
    others = tale.some(list(EVERYONE), 1 if there else 0)
    holders = others | tale.took.get(entry, set())
    named = tale.fragments[max(first for first in tale.fragments if first <= entry)]
    numbers = {int(name[1:]) for name in named}
    holders |= {min(numbers)} if there and not holders & numbers else set()
    made = [
        [found(entry, bookies=holders, number=n), lost(entry, bookies=set(EVERYONE) - holders, number=n)]
        for n in (1, 2)
    ]
    return [(table, {**row, "asked_ns": asked_ns, "answered_ns": asked_ns + 1}) for table, row in facts(made)]
