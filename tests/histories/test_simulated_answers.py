"""What the wire says of simulated runs: lawful ones have no anomaly, bugs are found as ``Truth`` has them.

The simulator shares no theory with the checkers. Where it knows more than the record can prove (who
wrote a close, what a bookie still owed after it had been replaced), less may be found, never more.
"""

from collections import Counter

import pytest

from checkers.judging.judge import CHECKERS, judge
from evidence.findings import Verdict
from tests.histories.cluster import CLOSED, DELETED, Bugs
from tests.histories.network import DROP, DUPLICATE, FORGE, HOLD, Rule
from tests.histories.simulator import simulated
from tests.histories.story import chunk, entries_of

NAMES = ("fencing", "recovery", "answers", "availability")
FROM_THE_WIRE = tuple(checker for checker in CHECKERS if checker.name in NAMES)
BUSY = {"contest": 1.0, "crashes": 4, "steps": 220}
LOSING = {**BUSY, "losses": True, "flushes": False}
TWICE = Rule(DUPLICATE, chance=0.2)
LAWFUL = {
    "plain": {},
    "contested": BUSY,
    "fencing is dropped": {**BUSY, "fences_dropped": 0.4},
    "crashes lose entries": {**LOSING, "crashes": 8},
    "bookies in limbo": {**LOSING, "limbo": True, "crashes": 3},
    "limbo, no bookie to spare": {**LOSING, "limbo": True, "crashes": 3, "bookies": 3},
    "messages late and twice": {
        **BUSY,
        "rules": (Rule(HOLD, chance=0.1), TWICE, Rule(HOLD, answers=True, chance=0.1)),
    },
    "answers are dropped": {**BUSY, "rules": (Rule(DROP, answers=True, chance=0.1),)},
    "answers are forged": {
        **BUSY,
        "rules": (
            Rule(FORGE, ("recovery read", "fence"), chance=0.2),
            Rule(FORGE, ("recovery read", "fence", "add", "read"), answers=True, chance=0.1),
        ),
    },
    "old protocol": {**BUSY, "old_protocol": True, "rules": (TWICE,)},
    "deferred": {**BUSY, "late": True, "crashes": 0},
    "striped": {**BUSY, "shape": (5, 3, 2), "bookies": 7},
    "ack quorum of one": {**BUSY, "shape": (4, 2, 1)},
    "versions unseen": {**BUSY, "coalesced": True},
}


def verdict_of(simulation):
    return judge([chunk(simulation.history())], simulation.facts(), checkers=FROM_THE_WIRE)


def places(answers):
    return {(ledger, entry) for _, _, ledger, entry in answers}


def test_every_property_from_the_wire_is_judged():
    assert {checker.name for checker in FROM_THE_WIRE} == set(NAMES)


@pytest.mark.parametrize("variant", LAWFUL)
def test_lawful_runs_have_no_anomaly(variant):
    valid = Counter()
    for seed in range(1000, 1020):
        verdict = verdict_of(simulated(seed, **LAWFUL[variant]))
        for name, judgement in verdict.judgements.items():
            assert not judgement.findings, (seed, name, judgement.findings)
            valid[name] += judgement.verdict is Verdict.VALID
    few = {"versions unseen": {"recovery"}, "limbo, no bookie to spare": {"recovery"}}.get(variant, set())
    assert {name for name in NAMES if valid[name] < 4} <= few, valid


DROPPED = Rule(DROP, ("fence",), answers=True, chance=0.5)
HASTY = {
    "ended_too_soon": (
        "closed_on_too_few",
        {"bugs": Bugs(one_negative_closes=True), "contest": 0.8, "steps": 200, "fences_dropped": 0.2},
    ),
    "fenced_too_few": (
        "fenced_too_few",
        {"bugs": Bugs(one_answer_fences=True), "steps": 120, "shape": (4, 4, 2), "rules": (DROPPED,)},
    ),
}
"""Recoverers that trust one denial, or go on after one answer to fencing: the truth, and the runs."""


@pytest.mark.parametrize("kind", HASTY)
def test_a_hasty_recoverer_is_reported_where_nobody_else_can_have_closed(kind):
    seen = 0
    truth_is, settings = HASTY[kind]
    for seed in range(2000, 2080 if kind == "fenced_too_few" else 2040):
        simulation = simulated(seed, **{"contest": 1.0, "dated": 1.0, **settings})
        findings = verdict_of(simulation).judgements["recovery"].findings
        found = {finding.ledger for finding in findings if finding.kind == kind}
        truth = getattr(simulation.truth(), truth_is)
        assert found <= truth, seed
        for ledger in truth - found:
            assert the_writer_may_have_closed(simulation, ledger), (seed, ledger)
        seen += len(found)
    assert seen > 4


def the_writer_may_have_closed(simulation, ledger):
    (writer,) = (one for one in simulation.writers if one.ledger == ledger)
    return simulation.cluster.versions[ledger][-1].last == writer.acked - 1


@pytest.mark.parametrize("variant", ["contested", "old protocol", "messages late and twice"])
def test_a_bookie_that_denies_what_it_took_is_reported_for_each_entry(variant):
    """Except for ledgers that it may have forgotten."""
    seen = Counter()
    for seed in range(2000, 2030):
        simulation = simulated(seed, bugs=Bugs(denies=0.2), dated=1.0, **LAWFUL[variant])
        found = entries_of(verdict_of(simulation).judgements["answers"], "denied_own_ack")
        truth = simulation.truth().denied
        assert found <= places(truth), seed
        for bookie, _, ledger, entry in truth:
            assert (ledger, entry) in found or may_forget(simulation, bookie, ledger), (seed, ledger, entry)
        seen["found"] += len(found)
    assert seen["found"] > 20


def may_forget(simulation, bookie, ledger):
    """A ledger that was deleted, or after whose close replication replaced the bookie."""
    return any(
        version.state == DELETED
        or (version.state == CLOSED and all(bookie not in bookies for _, bookies in version.fragments))
        for version in simulation.cluster.versions[ledger]
    )


def test_a_bookie_that_hides_its_limbo_is_reported_for_what_it_denied():
    seen = Counter()
    for seed in range(2000, 2040):
        simulation = simulated(seed, bugs=Bugs(hides_limbo=True), dated=1.0, **LAWFUL["bookies in limbo"])
        found = entries_of(verdict_of(simulation).judgements["answers"], "limbo_not_shown")
        truth = places(simulation.truth().denied_in_limbo)
        assert found <= truth, seed
        seen["found"] += len(found)
        seen["truth"] += len(truth)
    assert seen["found"] > 10 and seen["found"] > 0.8 * seen["truth"], seen
