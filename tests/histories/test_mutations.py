"""Lawful histories are valid; mutants have an anomaly where they are illegal, and only there."""

from functools import cache

import pyarrow.compute as pc
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from checkers.judging.contract import Batch
from checkers.judging.judge import CHECKERS, judge
from checkers.order import Order
from evidence.findings import Verdict
from tests.histories.lawful import lawful
from tests.histories.mutations.every import OPERATORS, made
from tests.histories.mutations.fencing import OURS, five_bookies
from tests.histories.story import chunk, kinds_found
from tests.histories.strategies import steady
from tests.histories.trial.__main__ import trial
from tests.histories.trial.mutation import NEVER, Tally, tallies, unreached

ASKED_FOR = (
    *("acknowledged_add_removed", "entries_swapped", "closed_ledger_reopened"),
    *("add_acknowledged_after_close", "ack_moved_past_a_crash", "close_lowered"),
    *("byte_of_read_entry_changed", "lac_beyond_end", "entry_repeated"),
    "unknown_add_reported_ok",
)
DICE = st.randoms(use_true_random=False)


@cache
def tally(name: str, mutants: int) -> Tally:
    """What became of an operator's mutants; two tests ask for the same."""
    [found] = tallies(mutants, (name,))
    return found


@pytest.fixture
def mutants(is_long: bool) -> int:
    """Illegal mutants of each operator."""
    return 40 if is_long else 8


@steady(40)
@given(DICE)
def test_lawful_histories_are_valid(dice):
    case = lawful(dice)
    verdict = judge([chunk(case.history)], case.run)
    assert not kinds_found(verdict)
    assert verdict.verdict is Verdict.VALID, verdict.headline


@steady(30)
@given(DICE)
def test_lawful_histories_are_fenced_and_available(dice):
    case = five_bookies(dice)
    judgements = judge([chunk(case.history)], case.run).judgements
    assert {name: judgements[name].verdict for name in OURS} == dict.fromkeys(OURS, Verdict.VALID)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_mutation_is_an_anomaly_exactly_when_it_is_illegal(name, mutants):
    """An operator whose precondition never held would prove nothing."""
    assert not tally(name, mutants).wrong
    assert not tally(name, mutants).idle


def test_the_operators_that_were_asked_for_are_there():
    assert set(ASKED_FOR) <= set(OPERATORS)


def test_the_mutants_of_all_operators_reach_every_finding_of_every_checker(mutants):
    assert not unreached(tally(name, mutants) for name in OPERATORS)


def test_every_operator_says_what_it_does_and_when_that_is_illegal():
    assert all(one.does and one.illegal for one in OPERATORS.values())
    assert sum(one.illegal == NEVER for one in OPERATORS.values()) > 10


class Blind(Order):
    """Sees nothing out of order."""

    def check(self, batch, facts, run):
        return super().check(Batch({}), facts, run)


def test_a_checker_that_sees_nothing_lets_mutants_survive_and_they_are_shown_with_their_seeds(monkeypatch):
    broken = tuple(Blind() if checker.name == "order" else checker for checker in CHECKERS)
    monkeypatch.setattr("tests.histories.mutations.registry.CHECKERS", broken)
    words = ["mutation", "--mutants", "2", "--operator", "entry_repeated"]
    result = CliRunner().invoke(trial, words)
    assert result.exit_code == 1
    assert "survived: --operator entry_repeated --seed 0: found order/unknown" in result.output
    assert "mutation score 0 %: 0 of 2 illegal mutants" in result.output
    assert "2 survived" in result.output


def test_a_checker_that_finds_fault_with_every_history_is_shown_as_well(monkeypatch):
    eager = tuple(Eager() if checker.name == "order" else checker for checker in CHECKERS)
    monkeypatch.setattr("tests.histories.mutations.registry.CHECKERS", eager)
    result = CliRunner().invoke(trial, ["mutation", "--mutants", "2", "--operator", "final_read_removed"])
    assert result.exit_code == 1
    assert "was flagged: --operator final_read_removed --seed 0" in result.output


class Eager(Order):
    """Takes every add for one out of order."""

    def check(self, batch, facts, run):
        table = batch.table("operations")
        later = table.drop(["expected"]).append_column("expected", pc.add(table["expected"], 1))
        return super().check(Batch({**batch.tables, "operations": later}), facts, run)


def test_one_mutant_is_made_again_by_its_operator_and_seed():
    words = ["mutation", "--operator", "close_lowered", "--seed", "7"]
    outputs = {CliRunner().invoke(trial, words).output for _ in range(2)}
    assert len(outputs) == 1
    assert made("close_lowered", 7) == made("close_lowered", 7)
