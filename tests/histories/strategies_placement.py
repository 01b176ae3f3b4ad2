"""Random metadata of ledgers whose bookies are in racks, for ``placement``."""

from __future__ import annotations

import random

from checkers.judging.contract import RunFacts
from tests.histories.story import Fact, closed, created, run_facts, vanished

RACKS = {"b1": "r1", "b2": "r1", "b3": "r2", "b4": "r2", "b5": "r3"}
SHAPES = ((3, 3, 2), (3, 2, 2), (4, 2, 1), (2, 1, 1))


def random_metadata(seed: int) -> tuple[list[Fact], RunFacts]:
    """A history and what it is judged with."""
    dice, back = random.Random(seed), random.Random(f"put back {seed}")
    history: list[Fact] = []
    for ledger in range(1, dice.randint(2, 4)):
        ensemble, write, ack = dice.choice(SHAPES)
        shape = {"ledger": ledger, "ensemble": ensemble, "write_quorum": write, "ack_quorum": ack}
        names = ["b1", "b2", "b3", "b4", "b5", *(["b6"] if dice.random() < 0.1 else [])]
        firsts = sorted(dice.sample(range(1, 6), dice.choice((0, 0, 1, 2))))
        fragments = {first: tuple(dice.sample(names, ensemble)) for first in (0, *firsts)}
        history.append(created(fragments={0: fragments[0]}, **shape))
        history.append(closed(dice.choice((2, 9)), fragments=fragments, **shape))
        if dice.random() < 0.5:
            repaired = {first: tuple(dice.sample(names, ensemble)) for first in fragments}
            history.append(closed(9, number=2, fragments=repaired, **shape))
        if dice.random() < 0.1:
            history.append(vanished(number=5, ledger=ledger))
            if back.random() < 0.5:
                moved = {first: tuple(back.sample(names, ensemble)) for first in fragments}
                end = {"zxid": 100, "put_back": True, **shape}
                history.append(closed(9, number=2, fragments=moved, **end))
    dice.shuffle(history)
    return history, run_facts(
        racks=RACKS if dice.random() < 0.9 else {},
        min_racks=dice.choice((1, 2, 2, 3)),
        required=("placement",) if dice.random() < 0.5 else (),
        damage=("ledgers: torn",) if dice.random() < 0.05 else (),
    )
