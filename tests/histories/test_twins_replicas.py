"""``replicas`` against its naive twin, cut at random places, and its mutations."""

import pickle
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.judge import check_all, combined_facts, conclude_all, facts_of, join_all, judge
from checkers.replicas.checker import Replicas
from evidence.codes import Holding
from tests.histories import twins_replicas as twins
from tests.histories.story import chunk
from tests.histories.strategies import cuts, random_cuts, steady
from tests.histories.strategies_replicas import random_repair

CHECKERS = (Replicas(),)
SEEDS = st.integers(0, 2**31)


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
        whole = judged([chunk(history)], run)
        assert (found(whole), whole.verdict.value) == twins.replicas(history, run), seed
        assert judged([chunk(part) for part in random_cuts(seed, history)], run) == whole, seed


def test_the_histories_have_everything_that_can_be_told():
    seen = Counter()
    for seed in range(400):
        things, verdict = twins.replicas(*random_repair(seed))
        seen.update({kind for kind, _, _ in things} | {verdict})
    kinds = ("under_replicated", "hole", "differing", "not_copied", "not_marked", "unmarked_unrepaired")
    names = (*kinds, "valid", "unknown", "anomaly", "not judged")
    assert all(seen[name] >= 4 for name in names), seen


@steady(20)
@given(st.data(), SEEDS)
def test_no_finding_depends_on_how_the_summaries_were_cut_and_merged(data, seed):
    history, run = random_repair(seed)
    parts = data.draw(cuts(history))
    batches = [chunk(part) for part in parts]
    known = combined_facts([facts_of(batch, checkers=CHECKERS) for batch in batches], checkers=CHECKERS)
    summaries = [
        pickle.loads(pickle.dumps(check_all(batch, run, known, checkers=CHECKERS))) for batch in batches
    ]
    place = data.draw(st.integers(0, len(summaries) - 1))

    grouped = [join_all(part, checkers=CHECKERS) for part in (summaries[:place], summaries[place:]) if part]
    joined = conclude_all(join_all(grouped, checkers=CHECKERS), run, known, checkers=CHECKERS)
    assert joined.judgements["replicas"] == judged([chunk(history)], run)


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
