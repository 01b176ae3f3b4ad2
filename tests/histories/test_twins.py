"""Every checker against its naive twin, on random histories and simulated runs, cut at random places."""

from collections import Counter

import pytest
from hypothesis import given

from checkers.judging.judge import judge
from evidence.codes import Holding
from tests.histories.agreement import SIDES, differences, disagreements, of_twins
from tests.histories.families import FAMILIES
from tests.histories.simulator import facts_of_run, simulated
from tests.histories.story import chunk, run_facts
from tests.histories.strategies import as_text, blocks, judged_wherever_cut, nonsense, steady
from tests.histories.strategies_placement import RACKS

BLOCKS = [(name, seeds) for name, one in FAMILIES.items() for seeds in range(0, one.seeds, 50)]


NOT_OF_FINDINGS = {"gone", "unavailable", "acknowledged_gone", "kept", "vanished_ledgers", "beyond_close"}
"""Counts that are no sum of what findings count."""


def assert_counts_are_of_findings(judgement):
    numbers = Counter()
    for one in judgement.findings:
        numbers[one.kind] += one.count
        numbers[f"{one.kind}_{one.loss}"] += one.count
    counts = {name: number for name, number in judgement.counts.items() if name not in NOT_OF_FINDINGS}
    assert counts == {name: numbers[name] for name in counts}
    assert {one.kind for one in judgement.findings} <= judgement.counts.keys()


SHOWN: dict[tuple[str, int], Counter[str]] = {}
"""What each history that was judged shows by its twins; a second test counts it over a family."""


def twins_said(name, seed, history, run):
    """What each twin says of a history of a family; what that shows is kept."""
    family = FAMILIES[name]
    said = of_twins([checker.name for checker in family.checkers], history, run)
    shown = SHOWN[name, seed] = Counter(family.also(history, run))
    for things, verdict in said.values():
        words = {part for thing in things for part in thing if isinstance(part, str)}
        shown.update(words | ({verdict} if verdict else set()))
    return said


def judged(history, run, name):
    return judge([chunk(history)], run, checkers=FAMILIES[name].checkers)


@steady(150)
@given(nonsense())
def test_every_checker_says_what_its_twin_says(history):
    assert not disagreements(judged(history, run_facts(), "nonsense"), history, run_facts())


@pytest.mark.parametrize(("name", "first"), BLOCKS)
def test_random_histories_are_judged_as_the_twins_judge_them_wherever_they_are_cut(name, first, is_long):
    """Cut at every fifth seed: ``test_blocks`` cuts histories of the same families."""
    family = FAMILIES[name]
    for seed in range(first, min(first + 50, family.seeds)):
        history, run = family.make(seed)
        if is_long or seed % 5 == 0:
            verdict = judged_wherever_cut(seed, history, run, family.checkers)
        else:
            verdict = judged(history, run, name)
        assert not differences(verdict, twins_said(name, seed, history, run)), seed
        for judgement in verdict.judgements.values():
            assert_counts_are_of_findings(judgement)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_histories_have_everything_that_can_be_told(name):
    family, seen = FAMILIES[name], Counter()
    for seed in range(family.seeds):
        if (name, seed) not in SHOWN:
            twins_said(name, seed, *family.make(seed))
        seen.update(SHOWN[name, seed])
    assert all(seen[word] >= family.least for word in family.shown), seen


@pytest.mark.parametrize("seed", range(12))
def test_simulated_runs_are_judged_as_their_twins_judge_them(seed):
    losses = seed % 2 == 1
    simulation = simulated(500 + seed, losses=losses, flushes=False, crashes=5, bookies=4, steps=90)
    history, run = simulation.history(), facts_of_run()
    verdict = judge([chunk(history)], run)
    assert not disagreements(judged(history, run, "nonsense"), history, run)
    pieces = [chunk(block) for block in blocks(history, 7 + seed)]
    assert as_text(judge(pieces, run)) == as_text(verdict)


def test_a_copy_taken_away_is_an_anomaly_only_where_it_was_owed():
    """A present answer of the judged pass turned into an absent one, in valid histories."""
    owed = others = 0
    for seed in range(120):
        history, run = FAMILIES["repairs"].make(seed)
        if SIDES["replicas"].twin(history, run)[1] != "valid":
            continue
        for at in range(0, len(history), 11):
            table, row = history[at]
            if table != "census" or row["holding"] != Holding.PRESENT:
                continue
            doctored = [*history]
            doctored[at] = table, {**row, "holding": int(Holding.ABSENT), "size_bytes": 0, "origin": 0}
            things, _ = SIDES["replicas"].twin(doctored, run)
            assert not disagreements(judged(doctored, run, "repairs"), doctored, run)
            assert {thing[1:] for thing in things} <= {(row["ledger"], row["entry"])}
            owed, others = owed + bool(things), others + (not things)
    assert owed > 20
    assert others > 20


def test_all_bookies_moved_into_one_rack_are_an_anomaly_wherever_two_are_wanted():
    misplaced = 0
    for seed in range(300):
        history, run = FAMILIES["metadata"].make(seed)
        if SIDES["placement"].twin(history, run)[1] != "valid":
            continue
        moved = run_facts(racks=dict.fromkeys(RACKS, "r1"), min_racks=run.min_racks)
        assert not disagreements(judged(history, moved, "metadata"), history, moved)
        misplaced += bool(SIDES["placement"].twin(history, moved)[0])
    assert misplaced > 20
