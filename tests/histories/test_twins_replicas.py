"""``replicas`` against its naive twin, cut at random places, and its mutations."""

from collections import Counter

import pytest

from checkers.judge import judge
from checkers.replicas.checker import Replicas
from evidence.codes import Holding
from tests.histories import twins_replicas as twins
from tests.histories.story import chunk
from tests.histories.strategies import judged_wherever_cut
from tests.histories.strategies_replicas import random_repair

CHECKERS = (Replicas(),)


def judged(chunks, run):
    return judge(chunks, run, checkers=CHECKERS).judgements["replicas"]


def found(judgement):
    return frozenset(
        (one.kind, one.ledger, entry)
        for one in judgement.findings
        for entry in range(one.first_entry, one.last_entry + 1)
    )


@pytest.mark.parametrize("block", range(10))
def test_repairs_are_judged_as_the_twin_judges_them_wherever_they_are_cut(block):
    for seed in range(20 * block, 20 * block + 20):
        history, run = random_repair(seed)
        whole = judged_wherever_cut(seed, history, run, CHECKERS).judgements["replicas"]
        assert (found(whole), whole.verdict.value) == twins.replicas(history, run), seed


def test_the_histories_have_everything_that_can_be_told():
    seen = Counter()
    for seed in range(400):
        things, verdict = twins.replicas(*random_repair(seed))
        seen.update({kind for kind, _, _ in things} | {verdict})
    kinds = ("under_replicated", "hole", "differing", "not_copied", "not_marked", "unmarked_unrepaired")
    names = (*kinds, "valid", "unknown", "anomaly", "not judged")
    assert all(seen[name] >= 4 for name in names), seen


def test_a_copy_taken_away_convicts_only_where_it_was_owed():
    """A present answer of the judged pass turned into an absent one, in valid histories."""
    owed = others = 0
    for seed in range(120):
        history, run = random_repair(seed)
        if twins.replicas(history, run)[1] != "valid":
            continue
        for at in range(0, len(history), 11):
            table, row = history[at]
            if table != "census" or row["holding"] != Holding.PRESENT:
                continue
            doctored = [*history]
            doctored[at] = table, {**row, "holding": int(Holding.ABSENT), "size_bytes": 0, "origin": 0}
            judgement, (things, _) = judged([chunk(doctored)], run), twins.replicas(doctored, run)
            assert found(judgement) == things
            assert {thing[1:] for thing in things} <= {(row["ledger"], row["entry"])}
            owed, others = owed + bool(things), others + (not things)
    assert owed > 20
    assert others > 20
