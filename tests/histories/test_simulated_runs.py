"""Runs of the simulator: without loss they are valid, with loss their anomalies are exactly the truth."""

import pytest

from checkers.judging.judge import CHECKERS, judge
from evidence.findings import Verdict
from tests.histories.simulator import Settings, Simulation, simulated
from tests.histories.story import chunk, entries_of

SHAPES = [(3, 3, 2), (3, 2, 2), (4, 3, 2), (5, 3, 2), (3, 3, 3), (4, 2, 1)]


def verdict_of(simulation):
    """Of all but ``servers``, which rests on bookies' logs: the simulator writes no logs."""
    checkers = tuple(checker for checker in CHECKERS if checker.name != "servers")
    return judge([chunk(simulation.history())], simulation.facts(), checkers=checkers)


def found_in(verdict):
    return {
        (name, finding.kind, finding.text)
        for name, judgement in verdict.judgements.items()
        for finding in judgement.findings
    }


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("late", [False, True])
def test_runs_without_loss_have_no_anomaly_and_are_valid(shape, late, is_long):
    """Deferred adds are not durable before a force, so their runs have no crashes."""
    acked = 0
    for seed in range(16 if is_long else 10):
        crashes = 0 if late else 2
        simulation = simulated(seed, shape=shape, bookies=shape[0] + 2, late=late, crashes=crashes)
        verdict = verdict_of(simulation)
        truth = simulation.truth()
        assert not truth.unreadable, seed
        assert not found_in(verdict), seed
        if truth.acked:
            assert verdict.verdict is Verdict.VALID, (seed, verdict.headline, verdict.judgements)
        acked += len(truth.acked)
    assert acked > 60


@pytest.mark.parametrize("shape", SHAPES)
def test_runs_whose_metadata_was_only_watched_have_no_anomaly(shape, is_long):
    for seed in range(100, 120 if is_long else 112):
        verdict = verdict_of(simulated(seed, shape=shape, bookies=shape[0] + 2, coalesced=True))
        assert not found_in(verdict), seed


@pytest.mark.parametrize("shape", SHAPES)
def test_runs_with_loss_have_an_anomaly_exactly_when_an_acknowledged_entry_is_lost(shape, is_long):
    """Cut off by a close or on no bookie: lost. On some bookie but not readable: not proven, never valid."""
    bitten = 0
    for seed in range(200, 245 if is_long else 225):
        crashing = {"losses": True, "crashes": 12, "flushes": False, "steps": 250}
        simulation = simulated(seed, shape=shape, bookies=shape[0] + 1, **crashing)
        verdict, truth = verdict_of(simulation), simulation.truth()
        gone = truth.cut_off | truth.nowhere
        durability = verdict.judgements["durability"]
        assert entries_of(durability) & truth.acked == gone, seed
        if gone:
            assert verdict.verdict is Verdict.ANOMALY
            assert durability.counts["acknowledged_gone"] == len(gone)
        elif truth.unreadable:
            assert verdict.verdict is not Verdict.VALID
        closing = verdict.judgements["closing"]
        assert bool(truth.cut_off) <= (closing.verdict is Verdict.ANOMALY)
        bitten += bool(gone)
    assert bitten > 3


def test_a_bookie_in_limbo_denies_nothing_and_a_single_crash_loses_nothing(is_long):
    seeds = range(300, 360 if is_long else 325)
    stalled = 0
    for seed in seeds:
        simulation = simulated(seed, losses=True, limbo=True, crashes=1, bookies=3, flushes=False)
        verdict = verdict_of(simulation)
        assert not found_in(verdict), seed
        assert not simulation.truth().cut_off, seed
        stalled += verdict.verdict is Verdict.UNKNOWN
    assert stalled < len(seeds)


def truncated(**settings):
    """BP-46, scenario 2: b2 never gets the entries, b1 forgets them, b3 does not reach the recoverer."""
    simulation = Simulation(Settings(1, bookies=3, writers=1, crashes=0, steps=0, **settings))
    cluster, writer, recoverer = simulation.cluster, simulation.writers[0], simulation.readers[0]
    cluster.network.cut(writer.number, 2)
    for _ in range(5):
        writer.add()
    simulation.drain()
    cluster.crash(1)
    cluster.start(1)
    cluster.network.cut(recoverer.number, 3)
    recoverer.recover(writer.ledger)
    simulation.drain()
    return simulation.run()


def test_recovery_cuts_off_what_a_bookie_forgot():
    verdict = verdict_of(truncated(losses=True))
    assert verdict.headline.startswith("5 of 5 acknowledged entries lost; closing: 5 closed_below")
    assert {(name, kind) for name, kind, _ in found_in(verdict)} == {
        ("durability", "lost"),
        ("closing", "closed_below"),
    }


@pytest.mark.parametrize("settings", [{"losses": True, "limbo": True}, {"losses": False}])
def test_recovery_keeps_what_a_bookie_in_limbo_or_with_a_journal_does_not_deny(settings):
    simulation = truncated(**settings)
    verdict = verdict_of(simulation)
    assert verdict.verdict is Verdict.VALID, verdict.headline
    assert len(simulation.truth().acked) == 5


def test_a_bookie_that_forgets_its_fence_lets_a_writer_go_on_after_the_close():
    simulation = Simulation(Settings(1, bookies=3, writers=1, crashes=0, steps=0))
    cluster, writer, recoverer = simulation.cluster, simulation.writers[0], simulation.readers[0]
    cluster.network.cut(recoverer.number, 3)
    recoverer.recover(writer.ledger)
    simulation.drain()
    cluster.bookies[2].fences.clear()
    cluster.network.cut(writer.number, 1)
    writer.add()
    simulation.drain()
    simulation.run()
    found = {(name, kind) for name, kind, _ in found_in(verdict_of(simulation))}
    assert {("durability", "lost"), ("closing", "closed_below")} <= found
