"""``lac/acked_too_soon`` against the simulator: writers that count as they should, and hasty ones."""

from dataclasses import replace

import pytest

from checkers.judging.judge import judge
from checkers.lac.checker import Lac
from evidence.codes import Kind, Outcome
from tests.histories.clients import Writer
from tests.histories.network import DUPLICATE, FORGE, HOLD, Rule
from tests.histories.simulator import simulated
from tests.histories.story import chunk, entries_of
from tests.histories.wire import OK

RULES = {
    "nothing": (),
    "held answers": (Rule(HOLD, ("add",), answers=True, chance=0.3),),
    "twice": (Rule(DUPLICATE, ("add",), chance=0.4),),
    "forged": (Rule(FORGE, ("add",), answers=True, chance=0.3, status=OK),),
}
SHAPES = [(3, 3, 2), (5, 3, 2), (3, 2, 2), (4, 3, 3)]


def acked_too_soon(simulation):
    verdict = judge([chunk(simulation.history())], simulation.facts(), checkers=(Lac(),))
    return entries_of(verdict.judgements["lac"], "acked_too_soon")


def runs(rules, seeds):
    for seed in seeds:
        shape = SHAPES[seed % len(SHAPES)]
        some = {"crashes": 4, "contest": 0.6, "late": seed % 3 == 0, "old_protocol": seed % 2 == 0}
        yield seed, simulated(seed, shape=shape, bookies=shape[0] + 2, rules=RULES[rules], **some)


@pytest.mark.parametrize("rules", RULES)
def test_a_writer_that_counts_its_answers_has_no_anomaly(rules):
    for seed, simulation in runs(rules, range(8)):
        assert not acked_too_soon(simulation), seed


@pytest.mark.parametrize("rules", RULES)
def test_a_writer_that_tells_ok_one_answer_too_soon_is_reported_for_these_adds_alone(rules, monkeypatch):
    as_due, early = Writer._acknowledge, set()

    def hasty(self):
        """As the writer does, with an ack quorum of one less; notes who had answered."""
        whole, waiting = self.meta, {entry: set(record) for entry, (_, record, _) in self.pending.items()}
        self.meta = replace(whole, shape=(*whole.shape[:2], whole.shape[2] - 1))
        as_due(self)
        self.meta = whole
        gone = waiting.keys() - self.pending.keys()
        early.update((self.ledger, entry) for entry in gone if len(waiting[entry]) < whole.shape[2])

    monkeypatch.setattr(Writer, "_acknowledge", hasty)
    caught = 0
    for seed, simulation in runs(rules, range(20, 28)):
        ok = {
            (row["ledger"], row["entry"])
            for row in simulation.writers[0].rows + simulation.writers[1].rows
            if (row["kind"], row["outcome"]) == (Kind.ADD, Outcome.OK)
        }
        found = acked_too_soon(simulation)
        assert found <= early & ok, seed
        caught += len(found)
        early.clear()
    assert caught > 10
