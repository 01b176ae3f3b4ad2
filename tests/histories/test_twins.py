"""Every checker against its naive twin, on nonsense and on simulated runs, cut at random places."""

from collections import Counter

import pytest
from hypothesis import given

from checkers.judge import judge
from tests.histories import twins
from tests.histories.simulator import facts_of_run, simulated
from tests.histories.story import chunk, run_facts
from tests.histories.strategies import (
    as_text,
    blocks,
    judged_wherever_cut,
    nonsense,
    random_nonsense,
    steady,
)

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


@steady(150)
@given(nonsense())
def test_every_checker_says_what_its_twin_says(history):
    assert_as_its_twin(judge([chunk(history)], run_facts()), history)


@pytest.mark.parametrize("block", range(10))
def test_long_nonsense_is_judged_as_the_twins_judge_it_wherever_it_is_cut(block):
    for seed in range(30 * block, 30 * block + 30):
        history = random_nonsense(seed)
        assert_as_its_twin(judged_wherever_cut(seed, history, run_facts()), history)


def assert_as_its_twin(verdict, history):
    for name, twin in twins.TWINS.items():
        plain = twin(history)
        judgement = verdict.judgements[name]
        assert things(judgement) == plain.things, name
        assert judgement.verdict == plain.verdict, name


@pytest.mark.parametrize("seed", range(12))
def test_simulated_runs_are_judged_as_their_twins_judge_them(seed):
    losses = seed % 2 == 1
    simulation = simulated(500 + seed, losses=losses, flushes=False, crashes=5, bookies=4, steps=90)
    history, run = simulation.history(), facts_of_run()
    verdict = judge([chunk(history)], run)
    assert_as_its_twin(verdict, history)
    pieces = [chunk(block) for block in blocks(history, 7 + seed)]
    assert as_text(judge(pieces, run)) == as_text(verdict)
