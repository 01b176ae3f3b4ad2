"""Every checker against its naive twin, on nonsense and on simulated runs, cut at random places."""

import json
import pickle
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.judge import check_all, combined_facts, conclude_all, facts_of, join_all, judge
from tests.histories import twins
from tests.histories.simulator import facts_of_run, simulated
from tests.histories.story import chunk, run_facts
from tests.histories.strategies import blocks, cuts, nonsense, random_cuts, random_nonsense, steady

BY_ROWS = {"two_ends", "closed_unwritten", "malformed", "illegal_move", "went_back"}
BY_ROWS |= {"added_out_of_order", "read_out_of_order", "vanished"}


def things(judgement):
    """The findings in the form of the twins."""
    found, numbers = set(), Counter()
    for finding in judgement.findings:
        if finding.kind in BY_ROWS:
            numbers[finding.kind, finding.ledger] += finding.count
        else:
            assert finding.count == finding.last_entry - finding.first_entry + 1
            entries = range(finding.first_entry, finding.last_entry + 1)
            found |= {(finding.kind, finding.ledger, entry) for entry in entries}
    return frozenset(found | {(kind, ledger, number) for (kind, ledger), number in numbers.items()})


def as_text(verdict):
    return json.dumps(verdict.as_json(), sort_keys=True)


@steady(150)
@given(nonsense())
def test_every_checker_says_what_its_twin_says(history):
    assert_as_its_twin(judge([chunk(history)], run_facts()), history)


@pytest.mark.parametrize("block", range(10))
def test_long_nonsense_is_judged_as_the_twins_judge_it_wherever_it_is_cut(block):
    for seed in range(30 * block, 30 * block + 30):
        history = random_nonsense(seed)
        whole = judge([chunk(history)], run_facts())
        assert_as_its_twin(whole, history)
        parts = [chunk(part) for part in random_cuts(seed, history)]
        assert as_text(judge(parts, run_facts())) == as_text(whole), seed


def assert_as_its_twin(verdict, history):
    for name, twin in twins.TWINS.items():
        plain = twin(history)
        judgement = verdict.judgements[name]
        assert things(judgement) == plain.things, name
        assert judgement.verdict == plain.verdict, name


@steady(60)
@given(st.data())
def test_no_finding_depends_on_where_the_chunks_were_cut(data):
    history = data.draw(nonsense())
    whole = judge([chunk(history)], run_facts())
    parts = data.draw(cuts(history))
    assert as_text(judge([chunk(part) for part in parts], run_facts())) == as_text(whole)


@steady(40)
@given(st.data())
def test_no_finding_depends_on_how_batches_were_merged(data):
    history, run = data.draw(nonsense()), run_facts()
    batches = [chunk(part) for part in data.draw(cuts(history))]
    facts = combined_facts([pickle.loads(pickle.dumps(facts_of(batch))) for batch in batches])
    summaries = [pickle.loads(pickle.dumps(check_all(batch, run, facts))) for batch in batches]
    while len(summaries) > 1:
        at = data.draw(st.integers(0, len(summaries) - 2))
        summaries[at : at + 2] = [join_all(summaries[at : at + 2])]
    assert as_text(conclude_all(summaries[0], run, facts)) == as_text(judge([chunk(history)], run))


@pytest.mark.parametrize("seed", range(12))
def test_simulated_runs_are_judged_as_their_twins_judge_them(seed):
    losses = seed % 2 == 1
    simulation = simulated(500 + seed, losses=losses, flushes=False, crashes=5, bookies=4, steps=90)
    history, run = simulation.history(), facts_of_run()
    verdict = judge([chunk(history)], run)
    assert_as_its_twin(verdict, history)
    pieces = [chunk(block) for block in blocks(history, 7 + seed)]
    assert as_text(judge(pieces, run)) == as_text(verdict)
