"""``placement`` against its naive twin, over random metadata cut at random places, and its mutations."""

import random
from collections import Counter

import pytest

from checkers.judge import judge
from checkers.placement import Placement
from tests.histories import twins_placement as twins
from tests.histories.story import chunk, closed, created, run_facts, vanished
from tests.histories.strategies import judged_wherever_cut

RACKS = {"b1": "r1", "b2": "r1", "b3": "r2", "b4": "r2", "b5": "r3"}
SHAPES = ((3, 3, 2), (3, 2, 2), (4, 2, 1), (2, 1, 1))


def random_metadata(seed):
    """A history and what it is judged with."""
    dice = random.Random(seed)
    history = []
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
    dice.shuffle(history)
    return history, run_facts(
        racks=RACKS if dice.random() < 0.9 else {},
        min_racks=dice.choice((1, 2, 2, 3)),
        required=("placement",) if dice.random() < 0.5 else (),
        damage=("ledgers: torn",) if dice.random() < 0.05 else (),
    )


def judged(chunks, run):
    return judge(chunks, run, checkers=(Placement(),)).judgements["placement"]


def found(judgement):
    return frozenset((one.ledger, one.first_entry) for one in judgement.findings)


@pytest.mark.parametrize("block", range(5))
def test_metadata_is_judged_as_the_twin_judges_it_wherever_it_is_cut(block):
    for seed in range(60 * block, 60 * block + 60):
        history, run = random_metadata(seed)
        whole = judged_wherever_cut(seed, history, run, (Placement(),)).judgements["placement"]
        assert (found(whole), whole.verdict.value) == twins.placement(history, run), seed


def test_the_histories_have_everything_that_can_be_told():
    seen = Counter(twins.placement(*random_metadata(seed))[1] for seed in range(300))
    assert all(seen[name] >= 4 for name in ("valid", "unknown", "anomaly", "not judged")), seen


def test_all_bookies_moved_into_one_rack_convict_wherever_two_are_wanted():
    convicted = 0
    for seed in range(300):
        history, run = random_metadata(seed)
        if twins.placement(history, run)[1] != "valid":
            continue
        moved = run_facts(racks=dict.fromkeys(RACKS, "r1"), min_racks=run.min_racks)
        judgement, (things, _) = judged([chunk(history)], moved), twins.placement(history, moved)
        assert found(judgement) == things
        convicted += bool(things)
    assert convicted > 20
