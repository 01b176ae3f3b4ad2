"""Histories of recoveries: half lawful, half nonsense, of two ledgers, with all excuses of anomalies.

A seed decides everything; a long history has up to some hundred rows.
"""

from __future__ import annotations

import json
import random
from typing import Any

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Direction, Flag, FrameFlag, Kind, Message, Outcome, Status
from protocol.faults import Loses
from tests.histories.exchanges import frame
from tests.histories.story import Fact, metadata, operation, run_facts

SHAPES = ((3, 3, 2), (3, 3, 2), (3, 2, 2), (4, 3, 2), (3, 3, 3), (2, 2, 1))
SOURCES, BOOKIES = (102, 102, 250, 101, 2, 4), (1, 2, 3, 4, 5)
STATUSES = (Status.EOK, Status.ENOENTRY, Status.ENOLEDGER, Status.EIO, Status.EUNKNOWNLEDGERSTATE)
READING = (Message.FENCING_LAC_READ, Message.RECOVERY_READ, Message.READ, Message.LAC_READ)
ODD = (FrameFlag.AMBIGUOUS, FrameFlag.FORGED, FrameFlag.UNCORRELATED, FrameFlag.UNPARSED, FrameFlag.HELD)
LAST_NS = 120


class Tale:
    """A history while it is made, with a clock."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.facts: list[Fact] = []
        self.now_ns = 10

    def chance(self, of: float) -> bool:
        return self.dice.random() < of

    def tick(self) -> int:
        self.now_ns += self.dice.randint(0, 2)
        return self.now_ns

    def frame(self, way: Direction, source: int, bookie: int, kind: Message, entry: int, **more: Any) -> None:
        at_ns = self.tick()
        row = {"flags": 0, "seq": 0, "txn": -1, "received_ns": at_ns}
        row |= {"forwarded_ns": at_ns + self.dice.choice((0, 0, 1, 9)), **more}
        if self.chance(0.03):
            row["forwarded_ns"] = NEVER
        self.facts.append(frame(kind, way=way, source=source, bookie=bookie, entry=entry, **row))

    def ask(self, source: int, bookie: int, kind: Message, entry: int, ledger: int) -> None:
        self.frame(Direction.REQUEST, source, bookie, kind, entry, ledger=ledger)

    def answer(
        self, source: int, bookie: int, kind: Message, entry: int, status: Status, ledger: int
    ) -> None:
        delivered = self.dice.choice(STATUSES) if self.chance(0.05) else status
        self.frame(
            Direction.ANSWER,
            source,
            bookie,
            kind,
            entry,
            ledger=ledger,
            status=status,
            delivered=Status.NONE if self.chance(0.05) else delivered,
            flags=self.dice.choice(ODD) if self.chance(0.1) else 0,
            boot=self.dice.choice((1, 1, 2, 2, 3, 0)),
            asked_ns=NEVER if self.chance(0.03) else max(1, self.now_ns - self.dice.choice((0, 1, 20))),
            lac=self.dice.choice((-1, 0, 0, 1)) if entry < 0 else -1,
        )


def random_recoveries(seed: int) -> tuple[list[Fact], RunFacts]:
    """A history and what it is judged with."""
    tale = Tale(seed)
    dice = tale.dice
    for ledger in (1, 2):
        shape = dice.choice(SHAPES)
        ensemble = [f"b{number}" for number in dice.sample(BOOKIES, shape[0])]
        end = dice.choice((-1, 0, 1, 2, 2))
        tale.now_ns = 10
        _writer(tale, ledger)
        for _ in range(dice.choice((0, 1, 1, 2))):
            _recovery(tale, ledger, shape, ensemble, end)
        _versions(tale, ledger, shape, ensemble, end)
        for _ in range(dice.randint(0, 25)):
            _nonsense(tale, ledger)
    guarded = frozenset(f"b{number}" for number in dice.sample(BOOKIES, dice.choice((0, 2, 5))))
    loss = dict.fromkeys(
        (f"b{number}" for number in BOOKIES), dice.choice((Loses.MEMORY, *(Loses.UNSYNCED,) * 4))
    )
    run = run_facts(wire=True, guarded=guarded, servers=tuple(_servers(dice)), least_loss=loss)
    for bookie in BOOKIES:  # last, so that all else is drawn as it was without them
        tale.answer(101, bookie, Message.FORCE, -1, Status.EOK, dice.choice((1, 2)))
    for status in (Status.EOK, Status.EOK, Status.ENOENTRY, Status.ENOENTRY):
        tale.now_ns += 25
        tale.answer(102, 5, dice.choice((Message.READ, Message.RECOVERY_READ)), 7, status, 2)
    return tale.facts, run


def _writer(tale: Tale, ledger: int) -> None:
    dice = tale.dice
    if tale.chance(0.5):
        tale.facts.append(operation(Kind.CREATE, ledger=ledger, outcome=dice.choice((1, 1, 3))))
    for entry in range(dice.choice((0, 0, 2, 4))):
        late = Flag.DEFERRED_SYNC if tale.chance(0.1) else 0
        outcome = dice.choice((Outcome.OK, Outcome.OK, Outcome.UNKNOWN, Outcome.FAIL))
        columns = {"outcome": outcome, "flags": late, "invoked_ns": dice.randint(1, LAST_NS), "seq": entry}
        tale.facts.append(operation(Kind.ADD, entry=entry, ledger=ledger, result=entry, **columns))
        for bookie in dice.sample(BOOKIES, dice.randint(0, 3)):
            tale.answer(101, bookie, Message.ADD, entry, Status.EOK, ledger)
    if tale.chance(0.2):
        end = operation(Kind.CLOSE, ledger=ledger, seq=9, invoked_ns=dice.randint(1, LAST_NS))
        tale.facts.append(end)
    if tale.chance(0.1):
        outcome = dice.choice((Outcome.OK, Outcome.FAIL))
        columns = {"invoked_ns": dice.randint(1, LAST_NS), "outcome": outcome, "seq": 10}
        tale.facts.append(operation(Kind.DELETE, ledger=ledger, **columns))


def _recovery(tale: Tale, ledger: int, shape: tuple[int, int, int], names: list[str], end: int) -> None:
    """As it should be, less what is lost on the way."""
    source, bookies = tale.dice.choice(SOURCES), [int(name[1:]) for name in names]
    mood = tale.dice.choice((0.6, 0.8, 1.0))
    for bookie in bookies:
        tale.ask(source, bookie, Message.FENCING_LAC_READ, -1, ledger)
        if tale.chance(mood):
            status = tale.dice.choice((Status.EOK, Status.EOK, Status.ENOENTRY, Status.EIO))
            tale.answer(source, bookie, Message.FENCING_LAC_READ, -1, status, ledger)
    for entry in range(max(end - 1, 0), end + 1):
        if tale.chance(mood):
            tale.answer(source, tale.dice.choice(bookies), Message.RECOVERY_READ, entry, Status.EOK, ledger)
        for bookie in tale.dice.sample(bookies, 2):
            tale.ask(source, bookie, Message.RECOVERY_ADD, entry, ledger)
            tale.answer(source, bookie, Message.RECOVERY_ADD, entry, Status.EOK, ledger)
    for step in range(shape[1]):
        bookie = bookies[(end + 1 + step) % shape[0]]
        tale.ask(source, bookie, Message.RECOVERY_READ, end + 1, ledger)
        if tale.chance(mood):
            tale.answer(source, bookie, Message.RECOVERY_READ, end + 1, Status.ENOENTRY, ledger)


def _versions(tale: Tale, ledger: int, shape: tuple[int, int, int], names: list[str], end: int) -> None:
    dice = tale.dice
    states = dice.choice(
        ([1, 2, 3], [1, 2, 3], [1, 2, 3], [1, 2, 2, 3], [1, 3], [1, 2], [1, 2, 3, 3], [1, 1, 2, 3, 0])
    )
    ensemble, write, ack = shape
    named, at_ns = list(names), dice.choice((1, 1, 8))
    for number, state in enumerate(states):
        if tale.chance(0.15):
            named = [f"b{bookie}" for bookie in dice.sample(BOOKIES, ensemble)]
        fragments = {0: names, 1: named} if tale.chance(0.2) else {0: named}
        latest_ns = dice.choice((at_ns, at_ns + 5, NEVER if state == 3 else at_ns))
        row = metadata(
            number,
            state,
            ledger=ledger,
            last_entry=end if state == 3 else -2,
            ensemble=ensemble,
            write_quorum=write,
            ack_quorum=ack,
            fragments=fragments,
            earliest_ns=at_ns,
            latest_ns=latest_ns,
        )
        if not tale.chance(0.04):
            tale.facts.append(row)
        at_ns = max(at_ns, tale.now_ns) if number == len(states) - 2 else at_ns + dice.choice((1, 30))


def _nonsense(tale: Tale, ledger: int) -> None:
    dice = tale.dice
    tale.now_ns = dice.randint(1, LAST_NS)
    kind = dice.choice((*READING, *READING, Message.ADD, Message.RECOVERY_ADD))
    entry = -1 if kind in (Message.FENCING_LAC_READ, Message.LAC_READ) else dice.choice((0, 1, 2, 3, -1))
    where = dice.choice(SOURCES), dice.choice(BOOKIES), kind, entry
    if tale.chance(0.1):
        tale.ask(*where, ledger)
    else:
        tale.answer(*where, dice.choice(STATUSES), ledger)


def _servers(dice: random.Random) -> list[dict[str, Any]]:
    found = []

    def record(server: str, boot: int, event: str, at_ns: int, **detail: Any) -> None:
        times = {"earliest_ns": at_ns, "latest_ns": at_ns, "detail": json.dumps(detail)}
        found.append({"server": server, "boot": boot, "event": event, **times})

    for bookie in BOOKIES:
        at_ns = 1
        for boot in range(1, dice.randint(1, 4)):
            record(f"b{bookie}", boot, "started", at_ns)
            if dice.random() < 0.7:
                record(f"b{bookie}", boot, "answering", at_ns + 1)
            at_ns += dice.randint(2, 30)
            record(
                f"b{bookie}",
                boot,
                "exit",
                at_ns,
                **dice.choice(({"signal": 9}, {"code": 143})),
            )
            at_ns += dice.randint(0, 5)
    if dice.random() < 0.3:
        record("writer", 1, "exit", dice.randint(1, LAST_NS), signal=9)
    return found
