"""Histories of adds and what bookies answered to them: any rows at all, but likely to bear on each other."""

from __future__ import annotations

import random
from typing import Any

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Direction, FrameFlag, Kind, Message, Outcome, Status
from tests.histories.exchanges import frame
from tests.histories.story import READER, WRITER, Fact, metadata, operation, run_facts

FAR = 2**45  # far enough apart that ledgers have to be ranked
LEDGERS = (1, 2, 2 + FAR)
SAID = (*(Status.EOK,) * 12, *Status, 100_042)
FLAGS = (*(0,) * 8, *FrameFlag)
DAMAGE = (*((),) * 17, ("frames: torn",), ("ledgers: torn",), ("census: torn",))


def random_acks(seed: int) -> tuple[list[Fact], RunFacts]:
    """A history and what it is judged with; of about every second add AQ bookies answered in time."""
    dice = random.Random(seed)
    facts: list[Fact] = []
    for ledger in dice.sample(LEDGERS, dice.choice((1, 2, 3))):
        quorum = dice.choice((1, 2, 2, 3))
        facts += _versions(dice, ledger, quorum)
        for entry in range(dice.randint(0, 12)):
            facts += _adds(dice, ledger, entry)
            facts += [_answer(dice, ledger, entry) for _ in range(dice.randint(0, 6))]
            facts += [_telling(dice, ledger, entry)] * (dice.random() < 0.2)
    numbered = [
        (name, {**row, "seq": at} if "seq" in row else row) for at, (name, row) in enumerate(facts, 1)
    ]
    return numbered, run_facts(
        wire=dice.random() < 0.95, complete=dice.random() < 0.95, damage=dice.choice(DAMAGE)
    )


def _versions(dice: random.Random, ledger: int, quorum: int) -> list[Fact]:
    columns = {"ledger": ledger, "ack_quorum": quorum}
    found = [metadata(0, 1, **columns), metadata(1, 1, **columns)]
    if dice.random() < 0.65:
        bookies = {0: ("b1", "b2", "b3"), dice.choice((0, 0, 1)): dice.sample(("b1", "b4", "b5", "b6"), 3)}
        times = {"earliest_ns": 15, "latest_ns": dice.choice((18, 18, 18, 30))}
        return [found[0], metadata(1, 1, fragments=bookies, **times, **columns)]
    if dice.random() < 0.1:
        found.append(metadata(2, 0, ledger=ledger, ack_quorum=0))
    elif dice.random() < 0.05:
        found.append(metadata(2, 1, put_back=True, **columns))
    if dice.random() < 0.2:
        found[1] = metadata(1, 2, earliest_ns=dice.choice((15, 30, 50)), **columns)
    return found[: dice.choice((0, 1, 1, 1, 4, 4, 4, 4))]


def _adds(dice: random.Random, ledger: int, entry: int) -> list[Fact]:
    number = dice.choice((0, 1, 1, 1, 1, 1, 1, 2))
    return [
        operation(
            Kind.ADD,
            ledger=ledger,
            entry=entry,
            client=dice.choice((WRITER, WRITER, WRITER, READER)),
            outcome=dice.choice((*(Outcome.OK,) * 6, *Outcome)),
            completed_ns=dice.choice((20, 30, 30, 40, NEVER)),
            lac=dice.choice((-1, entry, entry, entry, entry + 1)),
        )
        for _ in range(number)
    ]


def _telling(dice: random.Random, ledger: int, entry: int) -> Fact:
    """A LAC that some client received; mostly late enough."""
    kind = dice.choice((Kind.LAC, Kind.LAC, Kind.OPEN, Kind.READ, Kind.FORCE, Kind.WATCHED))
    return operation(
        kind,
        ledger=ledger,
        client=dice.choice((READER, READER, WRITER)),
        outcome=dice.choice((*(Outcome.OK,) * 6, Outcome.UNKNOWN)),
        completed_ns=dice.choice((20, 30, 40, 50, 60)),
        lac=dice.choice((-1, entry - 1, entry, entry)),
    )


def _answer(dice: random.Random, ledger: int, entry: int) -> Fact:
    received_ns = dice.randint(5, 45)
    status = dice.choice(SAID)
    columns: dict[str, Any] = {
        "way": Direction.ANSWER if dice.random() < 0.95 else Direction.REQUEST,
        "source": dice.choice((*(WRITER,) * 8, READER, 2)),
        "bookie": dice.choice((1, 2, 3, 4)),
        "status": dice.choice((status, Status.NONE)),
        "delivered": status,
        "received_ns": received_ns,
        "forwarded_ns": dice.choice((received_ns, received_ns, received_ns + 9, NEVER)),
        "flags": dice.choice(FLAGS),
        "boot": dice.choice((1, 1, 1, 0)),
        "asked_ns": dice.choice((received_ns - 1, received_ns - 1, NEVER)),
    }
    kind = dice.choice((*(Message.ADD,) * 8, Message.RECOVERY_ADD, Message.READ))
    return frame(kind, ledger=ledger, entry=entry, **columns)
