"""Random small histories over logs: nonsense, and runs of a store that keeps or breaks its word."""

from __future__ import annotations

import random

from evidence.codes import Outcome
from evidence.exchange.transactions import Micro
from tests.histories.log_story import Op, Txn

KEYS = ("x", "y")
OUTCOMES = (Outcome.OK,) * 6 + (Outcome.FAIL, Outcome.UNKNOWN)


def any_history(rng: random.Random) -> list[Txn]:
    """Reads are mostly prefixes of one random order of each log, and sometimes nonsense."""
    number = rng.randint(1, 6)
    rows: list[list[Op]] = [[] for _ in range(number)]
    orders: dict[str, list[int]] = {}
    for key in KEYS[: rng.randint(1, 2)]:
        elements = list(range(1, rng.randint(1, 5)))
        for element in elements:
            for _ in range(1 + (rng.random() < 0.05)):
                rows[rng.randrange(number)].append((Micro.APPEND, key, element))
        rng.shuffle(elements)
        orders[key] = elements + ([9] if rng.random() < 0.05 else [])
    for key, order in orders.items():
        cut = len(order) - (rng.random() < 0.3)
        for _ in range(rng.randint(1, 5)):
            own = rows[rng.randrange(number)]
            own.insert(rng.randint(0, len(own)), (Micro.READ, key, shown(rng, order[: max(cut, 0)])))
    return one_at_a_time([timed(rng, Txn(tuple(own), rng.choice(OUTCOMES))) for own in rows])


def shown(rng: random.Random, order: list[int]) -> list[int] | None:
    """A prefix mostly; sometimes shuffled, with an element twice, or not known."""
    seen = order[: rng.randint(0, len(order))]
    chance = rng.random()
    if chance < 0.04:
        rng.shuffle(seen)
    elif chance < 0.08 and seen:
        seen.insert(rng.randint(0, len(seen)), rng.choice(seen))
    elif chance < 0.1:
        return None
    return seen


def timed(rng: random.Random, row: Txn) -> Txn:
    invoked = rng.randint(0, 12)
    return row.by(rng.randint(1, 3)).at(invoked, invoked + rng.randint(0, 6))


def simulated(rng: random.Random) -> list[Txn]:
    """A serial store whose transactions sometimes work on an old copy, or are lost once acknowledged."""
    logs: dict[str, list[int]] = {key: [] for key in KEYS}
    copies = [{key: list(log) for key, log in logs.items()}]
    rows, clock, element = [], 0, 0
    for _ in range(rng.randint(2, 7)):
        state = copies[-1] if rng.random() < 0.7 else rng.choice(copies)
        view = {key: list(log) for key, log in state.items()}
        micros: list[Op] = []
        for _ in range(rng.randint(1, 3)):
            key = rng.choice(KEYS)
            if rng.random() < 0.5:
                micros.append((Micro.READ, key, list(view[key])))
            else:
                element += 1
                micros.append((Micro.APPEND, key, element))
                view[key].append(element)
                if rng.random() < 0.9:
                    logs[key].append(element)
        copies.append({key: list(log) for key, log in logs.items()})
        begun = clock - rng.randint(0, 2)
        clock += rng.randint(1, 3)
        outcome = Outcome.OK if rng.random() < 0.9 else Outcome.UNKNOWN
        rows.append(Txn(tuple(micros), outcome).by(rng.randint(1, 2)).at(begun, clock))
    return one_at_a_time(rows)


def one_at_a_time(rows: list[Txn]) -> list[Txn]:
    """Transactions that overlap another of their process move to a new process."""
    free: dict[int, int] = {}
    moved = []
    for at, row in sorted(enumerate(rows), key=lambda pair: (pair[1].invoked or 0, pair[0])):
        assert row.process is not None
        assert row.completed is not None
        own = row if free.get(row.process, -99) < (row.invoked or 0) else row.by(100 + at)
        free[own.process or 0] = row.completed
        moved.append((at, own))
    return [row for _, row in sorted(moved, key=lambda pair: pair[0])]
