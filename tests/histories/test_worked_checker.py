"""The checker that docs/writing-a-checker.md builds works as it is printed there, and passes its tests."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from checkers.judging.checker import Checker
from checkers.judging.judge import judge
from evidence.findings import Verdict
from tests.histories.lawful import lawful
from tests.histories.simulator import simulated
from tests.histories.story import chunk, kinds_found, run_facts
from tests.histories.strategies import random_cuts, random_nonsense

PAGE = Path(__file__).parents[2] / "docs" / "writing-a-checker.md"


@pytest.fixture(scope="module")
def page() -> dict[str, object]:
    """What the page's programs define, run one after the other."""
    names: dict[str, object] = {"__name__": "page"}
    for program in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S):
        exec(compile(program, str(PAGE), "exec", dont_inherit=True), names)
    return names


def judged(page, histories, run=None):
    checker: Checker = page["Handles"]()
    return judge([chunk(part) for part in histories], run or run_facts(), checkers=(checker,))


def test_its_history_is_reported_and_the_neighbour_is_not(page):
    verdict = judged(page, [page["VIOLATION"]])
    assert kinds_found(verdict) == {"handles/added_on_closed_handle"}
    assert verdict.judgements["handles"].findings[0].proof == (
        "writer had closed its handle 1 by 20 ns",
        "writer invoked an add at 21 ns, and it was acknowledged",
    )
    assert judged(page, [page["LAWFUL"]]).judgements["handles"].verdict is Verdict.VALID
    assert judged(page, [[]]).judgements["handles"].verdict is Verdict.UNKNOWN
    assert page["Handles"].needed == verdict.judgements["handles"].needed
    torn = run_facts(damage=("operations: torn",))
    assert judged(page, [page["LAWFUL"]], torn).judgements["handles"].verdict is Verdict.UNKNOWN


def test_it_says_what_its_twin_says_wherever_rows_are_cut(page):
    seen = 0
    for seed in range(300):
        history, run = random_nonsense(seed), run_facts()
        whole = judged(page, [history])
        judgement = whole.judgements["handles"]
        expected = page["twin"](history, run)
        assert judgement.counts["added_on_closed_handle"] == len(expected), seed
        assert {one.ledger for one in judgement.findings} == {ledger for _, _, ledger in expected}
        assert judged(page, random_cuts(seed, history)) == whole, seed
        seen += bool(expected)
    assert seen > 10


def test_its_mutation_is_an_anomaly_exactly_when_it_is_illegal(page):
    reached = set()
    for seed in range(60):
        dice = Random(seed)
        case = lawful(dice)
        history, must = page["an_add_comes_after_the_close_of_its_handle"](case, dice)
        assert not kinds_found(judged(page, [case.history], case.run)), seed
        assert kinds_found(judged(page, [history], case.run)) == must, seed
        reached.add(bool(must))
    assert reached == {True, False}


def test_simulated_runs_have_no_anomaly(page):
    for seed in range(5):
        simulation = simulated(seed, contest=1.0)
        assert not kinds_found(judged(page, [simulation.history()], simulation.facts())), seed
