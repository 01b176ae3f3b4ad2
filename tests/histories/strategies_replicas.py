"""Histories of repair: two ledgers, deaths, marks, audits, and a census; a seed decides everything."""

from __future__ import annotations

import random
from typing import Any

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Holding
from tests.histories.boots import boot, fault
from tests.histories.repairs import audit, elected, event, marked, unmarked
from tests.histories.story import (
    Fact,
    answered,
    closed,
    created,
    deleted,
    lac_read,
    opened,
    run_facts,
    vanished,
)

BOOKIES = {f"b{number}": number for number in range(1, 5)}
ENTRIES = range(5)
SHAPES = ((3, 3, 2), (3, 2, 2), (3, 2, 1))


def random_repair(seed: int) -> tuple[list[Fact], RunFacts]:
    """A history and what it is judged with.

    Where b4 has no copies, it is killed after the census that is judged: that excuses nothing.
    """
    dice = random.Random(seed)
    history = [fact for ledger in (1, 2) for fact in _ledger(dice, ledger)]
    wrong = dice.choice((0.0, 0.02, 0.1))
    gone = dice.choice(ENTRIES) if dice.random() < 0.1 else -1
    behind = BOOKIES["b4"] if dice.random() < 0.4 else 0
    history += [
        fact
        for ledger in (1, 2)
        for number in dice.choice(((1, 2), (1, 2), (1, 2), (2, 3), (1,)))
        for bookie in BOOKIES.values()
        for entry in ENTRIES
        for fact in _answers(
            dice, ledger, number, bookie, entry, 1.0 if entry == gone or bookie == behind else wrong
        )
    ]
    dice.shuffle(history)
    history += _put_back(random.Random(f"put back {seed}"), history)
    return history, run_facts(
        bookies=BOOKIES,
        servers=(
            *_servers(dice),
            *_read_only(random.Random(f"read-only {seed}")),
            *(boot(4, killed=2150) if behind else ()),
        ),
        faults=tuple(_faults(dice)),
        damage=("census: torn",) if dice.random() < 0.03 else (),
        required=("replicas",) if dice.random() < 0.3 else (),
    )


def _ledger(dice: random.Random, ledger: int) -> list[Fact]:
    ensemble, write, ack = dice.choice(SHAPES)
    shape: dict[str, Any] = {
        "ledger": ledger,
        "ensemble": ensemble,
        "write_quorum": write,
        "ack_quorum": ack,
        "fragments": {0: ("b1", "b2", "b3")},
    }
    if dice.random() < 0.3:
        shape["fragments"] = {0: ("b1", "b2", "b3"), dice.choice((1, 2, 4)): ("b1", "b4", "b3")}
    facts = [created(**shape, earliest_ns=10, latest_ns=12)]
    at = dice.choice((20, 20, 20, 1050, 1500))
    number = dice.choice((1, 1, 1, 1, 2))
    end = dice.choice((4, 4, 2, -1))
    if dice.random() < 0.8:
        facts.append(closed(end, number=number, **shape, earliest_ns=at, latest_ns=at + dice.choice((2, 60))))
        if dice.random() < 0.3:
            late = dice.choice((700, 700, 980, 1050, 1500))
            moved = {
                first: ("b4", *names[1:]) for first, names in shape["fragments"].items() if "b4" not in names
            }
            shape["fragments"] = {**shape["fragments"], **moved}
            facts.append(closed(end, number=number + 1, **shape, earliest_ns=late, latest_ns=late + 40))
    facts += [lac_read(dice.choice((0, 3, 4)), ledger=ledger) for _ in range(dice.choice((0, 1, 2)))]
    facts += [opened(4, ledger=ledger)]
    if dice.random() < 0.08:
        facts.append(dice.choice((deleted(ledger=ledger), vanished(9, ledger=ledger, earliest_ns=900))))
    return facts


def _put_back(dice: random.Random, history: list[Fact]) -> list[Fact]:
    """Sometimes a fault removes the metadata of one ledger, and puts its last version back."""
    if dice.random() < 0.85:
        return []
    (_, last) = max((fact for fact in history if fact[0] == "ledgers"), key=lambda fact: fact[1]["zxid"])
    columns = {"ledger": last["ledger"], "earliest_ns": 800, "put_back": True}
    back = {**last, "zxid": 101, "earliest_ns": 850, "latest_ns": NEVER, "put_back": True}
    return [vanished(last["version"] + 1, zxid=100, **columns), ("ledgers", back)][: dice.choice((1, 2, 2))]


def _answers(
    dice: random.Random, ledger: int, number: int, bookie: int, entry: int, wrong: float
) -> list[Fact]:
    """One answer as a rule; sometimes none, and sometimes two that do not agree."""
    times = {"asked_ns": number * 1000, "answered_ns": number * 1000 + 100}
    holdings = [Holding.PRESENT]
    if wrong == 1:
        holdings = [Holding.ABSENT]
    elif dice.random() < wrong:
        holdings = dice.choice(
            ([], [Holding.ABSENT], [Holding.DAMAGED], [Holding.UNKNOWN], [Holding.PRESENT, Holding.ABSENT])
        )
    size = 64 if dice.random() < wrong / 4 else 100
    return [
        answered(entry, bookie, holding, number=number, ledger=ledger, **times)
        if holding is not Holding.PRESENT
        else answered(entry, bookie, holding, number=number, ledger=ledger, size_bytes=size, **times)
        for holding in holdings
    ]


def _servers(dice: random.Random) -> list[dict[str, Any]]:
    rows = [elected()] if dice.random() < 0.93 else []
    rows += boot(1, began=1)
    if dice.random() < 0.6:
        rows += boot(2, began=1, killed=(death := dice.choice((90, 300, 600, 860))))
        rows += [event(death + 5, "b2", "znode_gone")] if dice.random() < 0.8 else []
    else:
        rows += boot(2, began=1)
    at = 100
    while at < 1200:
        length = dice.choice((5, 20, 60, 5))
        if dice.random() < 0.8:
            rows += audit(at, at + length)
        at += length + dice.choice((10, 80, 300))
    for ledger in (1, 2):
        if dice.random() < 0.5:
            there, gone = dice.choice(((400, 500), (400, 700), (650, 990), (650, 1050)))
            rows.append(marked(there + ledger, *dice.choice((("b2",), ("b1", "b2"), ())), ledger=ledger))
            if dice.random() < 0.9:
                rows.append(unmarked(gone + ledger, ledger=ledger))
    if dice.random() < 0.15:
        rows.append(event(200, "zk1", "repair_disabled", zxid=hex(200)))
        if dice.random() < 0.6:
            rows.append(event(300, "zk1", "repair_enabled", zxid=hex(300)))
    dice.shuffle(rows)
    return rows


def _read_only(dice: random.Random) -> list[dict[str, Any]]:
    """Sometimes b2 is registered as read-only, for a time or until the end."""
    if dice.random() < 0.8:
        return []
    began = dice.choice((50, 150, 700))
    over = [event(dice.choice((98, 310, 610)), "b2", "readonly_gone")] if dice.random() < 0.7 else []
    return [event(began, "b2", "readonly_created"), *over]


def _faults(dice: random.Random) -> list[dict[str, Any]]:
    found = []
    if dice.random() < 0.3:
        found.append(fault(1, kind="cut", target="writer-b2", healed_ns=dice.choice((200, 500, 980))))
    if dice.random() < 0.3:
        found.append(fault(2, kind="wipe", target="b2", confirmed_ns=dice.choice((200, 800)), healed_ns=999))
    return found
