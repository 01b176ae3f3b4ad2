"""Histories of closes, fences, losses and last looks: any rows at all, but likely to bear on each other.

Two ledgers of few entries on four bookies, so that what happens, happens to the same. A seed decides
everything. Plain acts come before ``LOOK_NS``, final opens and reads then, census passes on either side.
"""

from __future__ import annotations

import random
from typing import Any

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Direction, Flag, FrameFlag, Holding, Kind, Message, Outcome, Proof, Status
from tests.histories.boots import UNPROVEN, boot, fault
from tests.histories.exchanges import frame
from tests.histories.story import OBSERVER, Fact, answered, metadata, operation, run_facts

NUMBERS = {"b1": 1, "b2": 2, "b3": 3, "b4": 4}
ENTRIES = range(5)
LOOK_NS = 100
SHAPES = ((3, 3, 2), (3, 3, 2), (3, 2, 2), (4, 3, 2), (3, 3, 1))
FENCING = (Message.FENCING_LAC_READ, Message.FENCING_LAC_READ, Message.RECOVERY_READ, Message.LAC_READ)
SAID = (Status.EOK,) * 5 + (Status.ENOENTRY, Status.ENOLEDGER, Status.EFENCED, Status.EIO)


def random_fates(seed: int) -> tuple[list[Fact], RunFacts]:
    """A history and what it is judged with."""
    dice = random.Random(seed)
    facts: list[Fact] = []
    for ledger in (1, 2):
        facts += _versions(dice, ledger)
        facts += [_add(dice, ledger) for _ in range(dice.randint(0, 8))]
        facts += [_open(dice, ledger) for _ in range(dice.randint(0, 3))]
        facts += [_took(dice, ledger) for _ in range(dice.randint(0, 14))]
        facts += [_fenced(dice, ledger) for _ in range(dice.randint(0, 4))]
        facts += _last_look(dice, ledger)
        facts += _census(dice, ledger)
        if dice.random() < 0.1:
            outcome = dice.choice((Outcome.OK, Outcome.FAIL))
            facts.append(operation(Kind.DELETE, ledger=ledger, seq=900, outcome=outcome))
    numbered = [
        (name, {**row, "seq": at} if "seq" in row else row) for at, (name, row) in enumerate(facts, 1)
    ]
    return numbered, run_facts(
        bookies=NUMBERS,
        wire=dice.random() < 0.9,
        servers=tuple(_servers(dice)),
        faults=tuple(_faults(dice)),
        damage=("frames: something is missing",) if dice.random() < 0.05 else (),
    )


def _versions(dice: random.Random, ledger: int) -> list[Fact]:
    states = dice.choice(([1, 3], [1, 2, 3], [1, 2, 3, 3], [1, 2], [1, 2], [1, 2], [1], [1], [3], [1, 3, 0]))
    shape = dice.choice(SHAPES)
    names = dice.sample(sorted(NUMBERS), shape[0])
    end, at_ns, found = dice.choice((-1, -1, 0, 2, 4)), 5, []
    for number, state in enumerate(states):
        if dice.random() < 0.2:
            names = dice.sample(sorted(NUMBERS), shape[0])
        at_ns += dice.choice((1, 20))
        columns = dict(zip(("ensemble", "write_quorum", "ack_quorum"), shape, strict=True))
        closed_at = end if dice.random() < 0.9 else end + 1
        found.append(
            metadata(
                number,
                state,
                ledger=ledger,
                last_entry=closed_at if state == 3 else -2,
                fragments={0: names} if dice.random() < 0.8 else {0: names, 2: dice.sample(names, shape[0])},
                latest_ns=dice.choice((at_ns, at_ns + 5, NEVER)),
                **columns,
            )
        )
    return found if dice.random() < 0.95 else found[1:]


def _add(dice: random.Random, ledger: int) -> Fact:
    outcome = dice.choice((Outcome.OK, Outcome.OK, Outcome.OK, *Outcome))
    at_ns = dice.randint(1, 80)
    flags = dice.choice((0, 0, 0, Flag.DEFERRED_SYNC))
    times = {"invoked_ns": at_ns, "completed_ns": at_ns + 3}
    return operation(
        Kind.ADD, ledger=ledger, entry=dice.choice(ENTRIES), outcome=outcome, flags=flags, **times
    )


def _open(dice: random.Random, ledger: int) -> Fact:
    flags = dice.choice((Flag.RECOVERY, Flag.RECOVERY, 0))
    times = {"invoked_ns": 1, "completed_ns": dice.choice((*range(10, 70), NEVER))}
    outcome = dice.choice((Outcome.OK, Outcome.UNKNOWN))
    columns = {"ledger": ledger, "result": dice.choice((-1, 0, 2, 4)), "flags": flags, "outcome": outcome}
    return operation(Kind.OPEN, client=102, **columns, **times)


def _answer(dice: random.Random, kind: Message, ledger: int, entry: int, **columns: Any) -> Fact:
    at_ns = dice.randint(1, 80)
    status = dice.choice(SAID)
    row = {
        "asked_ns": at_ns if dice.random() < 0.95 else NEVER,
        "received_ns": at_ns + dice.randint(0, 4),
        "forwarded_ns": at_ns + 5 if dice.random() < 0.95 else NEVER,
        "status": status,
        "delivered": status if dice.random() < 0.9 else Status.NONE,
        "boot": dice.choice((1, 1, 1, 2, 2, 0)),
        "bookie": dice.choice((1, 2, 3, 4)),
        "source": dice.choice((101, 102, 2)),
    }
    way = Direction.ANSWER if dice.random() < 0.95 else Direction.REQUEST
    name, made = frame(kind, way=way, ledger=ledger, entry=entry, **{**row, **columns})
    if dice.random() < 0.1:
        made["flags"] |= int(dice.choice(UNPROVEN))
    return name, made


def _took(dice: random.Random, ledger: int) -> Fact:
    kind = dice.choice((Message.ADD, Message.ADD, Message.ADD, Message.RECOVERY_ADD, Message.READ))
    return _answer(dice, kind, ledger, dice.choice(ENTRIES))


def _fenced(dice: random.Random, ledger: int) -> Fact:
    if dice.random() < 0.4:
        flags = FrameFlag.FORGED | FrameFlag.FENCING | FrameFlag.RECOVERY
        denial = dice.choice((Status.ENOENTRY, Status.ENOLEDGER, Status.EIO))
        made = {
            "flags": flags,
            "status": dice.choice((Status.NONE, Status.EOK)),
            "delivered": denial,
            "rule": 1,
        }
        return _answer(dice, Message.RECOVERY_READ, ledger, dice.choice((0, 0, 1, 3, 5)), **made)
    kind = dice.choice(
        (Message.FENCING_LAC_READ, Message.FENCING_LAC_READ, Message.RECOVERY_READ, Message.LAC_READ)
    )
    return _answer(dice, kind, ledger, -1 if kind != Message.RECOVERY_READ else dice.choice(ENTRIES))


def _last_look(dice: random.Random, ledger: int) -> list[Fact]:
    times = {"invoked_ns": LOOK_NS, "completed_ns": dice.choice((LOOK_NS + 5, LOOK_NS + 9))}
    known = {"ledger": ledger, "client": OBSERVER}
    found = []
    for _ in range(dice.randint(0, 2)):
        ok = dice.random() < 0.3
        outcome = Outcome.OK if ok else dice.choice((*(Outcome.UNKNOWN,) * 5, Outcome.PENDING))
        error = 0 if ok else dice.choice((-10, -10, -10, -23, -13, -25))
        flags, result = Flag.FINAL | Flag.RECOVERY, dice.choice((-1, 2, 4))
        row = {**known, **times, "outcome": outcome, "error": error, "flags": flags, "result": result}
        found.append(operation(Kind.OPEN, **row))
    for entry in ENTRIES:
        row = {**known, **times, "entry": entry, "flags": Flag.FINAL}
        if dice.random() < 0.2:
            proof = dice.choice((Proof.PROVES_ITSELF, Proof.PROVES_ITSELF, Proof.DAMAGED))
            size = {"size_bytes": dice.choice((0, 0, 64)), "origin": 101}
            found.append(operation(Kind.ENTRY, **row, proof=proof, expected=entry, **size))
        if dice.random() < 0.6:
            outcome = dice.choice((Outcome.OK, Outcome.UNKNOWN, Outcome.UNKNOWN, Outcome.UNKNOWN))
            error = dice.choice((-13, -13, -7, -23, -108))
            last = entry + dice.choice((0, 0, 0, 1))
            found.append(operation(Kind.READ, **row, last=last, outcome=outcome, error=error))
    return found


def _census(dice: random.Random, ledger: int) -> list[Fact]:
    found = []
    mood = dice.choice(((Holding.ABSENT,) * 6, (Holding.PRESENT,) * 2, (Holding.PRESENT, Holding.ABSENT)))
    for number in dice.choice(((1, 2), (1, 2), (2,), (1, 2, 3), ())):
        at_ns = {1: 90, 2: dice.choice((106, 120)), 3: 140}[number]
        for entry in ENTRIES:
            for bookie in NUMBERS.values():
                holding = dice.choice((*mood, *mood, *Holding))
                times = {"asked_ns": at_ns, "answered_ns": at_ns + dice.choice((1, 5))}
                if dice.random() < 0.95:
                    found.append(answered(entry, bookie, holding, number=number, ledger=ledger, **times))
    return found


def _servers(dice: random.Random) -> list[dict[str, Any]]:
    rows = []
    for bookie in NUMBERS.values():
        began = 1
        for number in range(1, dice.choice((1, 2, 2, 3)) + 1):
            end = dice.choice((0, 20, 40, 60)) or dice.choice((0, 0, 0, 0, 0, 95, 108, 200))
            end = end if end > began else 0
            how = dice.choice(("killed", "killed", "stopped"))
            rows += boot(bookie, number, began=began, **{how: end})
            began = end + 1
            if not end:
                break
    return rows if dice.random() < 0.95 else rows[1:]


def _faults(dice: random.Random) -> list[dict[str, Any]]:
    found = []
    for number in range(1, dice.choice((0, 0, 0, 0, 1, 2)) + 1):
        kind = dice.choice(("kill", "hold", "forge", "wipe", "unplanned"))
        target = dice.choice(("b1", "b2", "zk1", "writer-b1"))
        healed_ns = dice.choice((50, 50, 50, 50, 99, 103, NEVER))
        injected_ns = dice.choice((10, 10, 10, NEVER))
        found.append(
            fault(number, kind, target, injected_ns=injected_ns, confirmed_ns=20, healed_ns=healed_ns)
        )
    return found
