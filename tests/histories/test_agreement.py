"""No checker without a naive twin, and both say the same of every literal history and of simulated runs."""

import pytest

from checkers.judging.judge import CHECKERS, judge
from tests.histories.agreement import SIDES, disagreements
from tests.histories.literals_log import LITERALS
from tests.histories.simulator import simulated
from tests.histories.story import chunk


def test_every_checker_has_a_twin():
    assert set(SIDES) == {checker.name for checker in CHECKERS}


@pytest.mark.parametrize("name", LITERALS)
def test_of_a_literal_history_and_its_neighbour_the_twins_say_what_the_checkers_say(name):
    for history, run in LITERALS[name].both:
        assert not disagreements(judge([chunk(history)], run), history, run)


@pytest.mark.parametrize("seed", range(8))
def test_of_a_simulated_run_the_twins_say_what_the_checkers_say(seed):
    """All of them at once, of one record; odd seeds lose what was not flushed."""
    losing = {"losses": True, "crashes": 8, "flushes": False}
    simulation = simulated(700 + seed, bookies=4, steps=120, **(losing if seed % 2 else {}))
    history, run = simulation.history(), simulation.facts()
    assert not disagreements(judge([chunk(history)], run), history, run)
