"""Fencing, availability and classes of loss against the simulator, which shares none of their theory."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from checkers.availability import Availability
from checkers.durability.checker import Durability
from checkers.fencing import Fencing
from checkers.judging.judge import judge
from evidence.findings import Verdict
from tests.histories.cluster import Bugs
from tests.histories.network import DUPLICATE, FORGE, HOLD, Rule
from tests.histories.simulator import Settings, Simulation, simulated
from tests.histories.story import chunk, entries_of

CHECKERS = (Durability(), Fencing(), Availability())
RULES = {
    "nothing": (),
    "held answers": (Rule(HOLD, ("add",), answers=True, chance=0.2),),
    "twice": (Rule(DUPLICATE, ("add", "fence"), chance=0.3),),
    "forged": (Rule(FORGE, ("recovery read", "fence"), answers=True, chance=0.2),),
}
BUGS = {"none": Bugs(), "forgets": Bugs(crash_forgets_fences=True), "ignores": Bugs(ignores_fences=0.3)}


def judged(simulation):
    names = {f"b{number}": number for number in simulation.cluster.bookies}
    run = replace(simulation.facts(), bookies=names)
    return judge([chunk(simulation.history())], run, checkers=CHECKERS)


def entries(finding):
    return range(finding.first_entry, finding.last_entry + 1)


def took_though_fenced(judgement):
    found = set()
    for finding in judgement.findings:
        if finding.kind == "accepted_when_fenced":
            bookie, boot = re.search(r"b(\d+) boot (\d+) took", finding.text).groups()
            found |= {(int(bookie), int(boot), finding.ledger, entry) for entry in entries(finding)}
    return found


@pytest.mark.parametrize("bugs", BUGS)
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("old_protocol", [False, True])
def test_fencing_reports_exactly_what_happened(bugs, rules, old_protocol):
    seen = Counter()
    for seed in range(700, 712):
        settings = {"bugs": BUGS[bugs], "rules": RULES[rules], "old_protocol": old_protocol, "dated": 1.0}
        simulation = simulated(seed, contest=1.0, crashes=4, steps=220, fences_dropped=0.2, **settings)
        judgement, truth = judged(simulation).judgements["fencing"], simulation.truth()
        late, took = entries_of(judgement, "added_after_close"), took_though_fenced(judgement)
        assert late == truth.acked_after_close, seed
        # An add reached the bookie after the fence for certain only if it reached the proxy after it.
        assert took <= truth.took_though_fenced, seed
        assert (judgement.verdict is Verdict.ANOMALY) == bool(late or took), seed
        seen["late"] += len(late)
        seen["took"] += len(took)
        seen["in truth"] += len(truth.took_though_fenced)
        seen["valid"] += judgement.verdict is Verdict.VALID
    assert bugs != "none" or (seen["late"] == seen["in truth"] == 0 and seen["valid"] > 6), seen
    assert bugs != "ignores" or seen["took"] > 0, seen


@pytest.mark.parametrize("shape", [(3, 3, 2), (3, 2, 2), (5, 3, 2)])
def test_a_loss_is_unexplained_only_where_somebody_never_lost_the_entry(shape):
    seen = Counter()
    for seed in range(200, 230):
        crashing = {"losses": True, "crashes": 12, "flushes": False, "steps": 250}
        simulation = simulated(seed, shape=shape, bookies=shape[0] + 1, **crashing)
        durability, truth = judged(simulation).judgements["durability"], simulation.truth()
        for finding in durability.findings:
            places = {(finding.ledger, entry) for entry in entries(finding)} & truth.acked
            seen[finding.loss] += len(places)
        # A bookie that was replaced may still have what its successors lost.
        gone = truth.cut_off | truth.nowhere
        held = {place for place in gone if any(place in own for own in what_they_have(simulation))}
        unexplained = {
            (one.ledger, entry)
            for one in durability.findings
            if one.loss == "unexplained"
            for entry in entries(one)
        }
        assert unexplained & truth.acked <= held, seed
        # A bookie that owes the entry no more may collect its copy: that it still holds it proves nothing.
        assert {place for place in held if responsible_have(simulation, *place)} <= unexplained, seed
    assert seen["explained"] > 0 and not seen["forged"]


def responsible_have(simulation, ledger, entry):
    """Whether a bookie to which the last version gives an entry holds it."""
    targets = simulation.cluster.versions[ledger][-1].targets(entry)
    return any(simulation.cluster.bookies[number].holds(ledger, entry) for number in targets)


def what_they_have(simulation):
    """What each bookie has in the end of the adds that it acknowledged."""
    for bookie in simulation.cluster.bookies.values():
        yield {**bookie.durable, **bookie.volatile}


def test_without_bugs_nothing_is_stuck_and_what_was_read_was_there():
    seen = Counter()
    for seed in range(300, 340):
        limbo = {"losses": True, "limbo": True, "flushes": False, "crashes": 3}
        verdict = judged(simulated(seed, bookies=3, **limbo))
        judgement = verdict.judgements["availability"]
        assert not judgement.findings, (seed, judgement)
        seen[judgement.verdict] += 1
        seen["stalled"] += judgement.seen["stalled"]
    assert seen[Verdict.VALID] > 20 and seen["stalled"] > 0, seen


def lost_fence(bugs):
    """BP-46, scenario 1: b3 is never fenced, b2 crashes, b1's refusal comes late."""
    simulation = Simulation(Settings(1, bookies=3, writers=1, crashes=0, steps=0, dated=1.0, bugs=bugs))
    cluster, writer, recoverer = simulation.cluster, simulation.writers[0], simulation.readers[0]
    cluster.network.cut(recoverer.number, 3)
    recoverer.recover(writer.ledger)
    simulation.drain()
    cluster.crash(2)
    cluster.start(2)
    late = cluster.network.act_by(Rule(HOLD, ("add",), answers=True, bookies=(1,)))
    writer.add()
    simulation.drain()
    cluster.network.release(late)
    return simulation.run()


def test_a_fence_that_a_crash_forgot_is_told_by_both_answers_of_its_bookie():
    judgement = judged(lost_fence(Bugs(crash_forgets_fences=True))).judgements["fencing"]
    (finding,) = judgement.findings
    assert finding.text == "ledger 1: entry 0 acknowledged after the close"
    proof = [re.sub(r"[\d.]+ s\b|frame \d+|operation \d+", "..", line) for line in finding.proof]
    assert proof[:5] == [
        "metadata version 2: CLOSED at -1, in force by ..",
        "r1 had recovered it by .. and received its end -1 (..)",
        "w1 invoked the add of entry 0 at .. and got ok at .. (..)",
        "b2 boot 1 answered ENOENTRY to the fencing read of the LAC by r1 at .. (..)",
        "b2 boot 1 was killed at ..",
    ]
    assert sorted(proof[5:]) == [  # whichever of the two was first
        "b2 boot 2 acknowledged entry 0 at .. (..)",
        "b3 answered no fencing read of this ledger",
        "b3 boot 1 acknowledged entry 0 at .. (..)",
    ]


def test_a_fence_that_survives_the_crash_keeps_the_ledger_closed():
    judgement = judged(lost_fence(Bugs())).judgements["fencing"]
    assert judgement.verdict is Verdict.VALID and not judgement.findings
