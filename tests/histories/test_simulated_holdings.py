"""What disks prove of simulated runs: classes of loss as the truth and a naive twin have them.

Who lost what is known to the simulator alone: an entry that no bookie has in the end was lost by
crashes, an entry that some bookie holds was not.
"""

import json
import random
from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest

from checkers.answers import Answers
from checkers.durability.checker import Durability
from checkers.judging.judge import judge
from evidence.codes import Kind, Outcome
from tests.histories import twins_holdings as twins
from tests.histories.cluster import Bugs
from tests.histories.simulator import simulated
from tests.histories.story import chunk
from tests.histories.strategies import random_cuts

LOSING = {"losses": True, "crashes": 12, "flushes": False, "steps": 250}
RUNS = {
    "nothing is flushed": LOSING,
    "some of it is flushed": {**LOSING, "flushes": True},
    "striped": {**LOSING, "shape": (5, 3, 2), "bookies": 7},
    "few bookies": {**LOSING, "bookies": 3, "crashes": 20},
    "one acknowledgement is enough": {**LOSING, "shape": (3, 2, 1), "bookies": 4},
    "bookies repair themselves": {**LOSING, "limbo": True, "bookies": 3, "crashes": 20, "flushes": True},
    "contested": {**LOSING, "contest": 1.0, "flushes": True},
    "copies are collected": {**LOSING, "contest": 1.0, "flushes": True, "collects": True},
}
LOSE_OFTEN = ("few bookies", "one acknowledgement is enough")
CHECKERS = (Durability(), Answers())


def facts_of(simulation):
    """With what a log says of each boot: the simulator's checks are logged in full."""
    facts = simulation.facts()
    logs = [{**row, "event": "log_read"} for row in facts.servers if row["event"] == "started"]
    return replace(facts, servers=(*facts.servers, *logs))


def classes_of(verdict):
    return {
        (finding.ledger, entry): finding.loss
        for finding in verdict.judgements["durability"].findings
        if finding.kind == "lost"
        for entry in range(finding.first_entry, finding.last_entry + 1)
    }


def runs(seeds, **settings):
    """Of each seed the simulation, its history, what it is judged with, and the verdict."""
    for seed in seeds:
        simulation = simulated(seed, **settings)
        history, facts = simulation.history(), facts_of(simulation)
        yield seed, simulation, history, facts, judge([chunk(history)], facts, checkers=CHECKERS)


def somebody_has(simulation, place):
    return any(bookie.holds(*place) for bookie in simulation.cluster.bookies.values())


@pytest.mark.parametrize("variant", RUNS)
def test_a_class_is_what_the_truth_and_the_twin_say(variant):
    seen = Counter()
    for seed, simulation, history, facts, verdict in runs(range(3000, 3025), **RUNS[variant]):
        found = classes_of(verdict)
        for place, loss in found.items():
            if loss != "undetermined":
                assert (loss == "unexplained") == somebody_has(simulation, place), (seed, place, loss)
            assert loss == twins.loss_class(history, facts, *place), (seed, place)
        seen.update(found.values())
    assert seen["explained"] > (20 if variant == "few bookies" else 0), seen


def test_a_copy_that_was_lawfully_collected_leaves_no_loss_unexplained():
    seen = Counter()
    for seed, simulation, *_, verdict in runs(range(3025, 3040), **RUNS["copies are collected"]):
        for place, loss in classes_of(verdict).items():
            assert loss != "unexplained" or somebody_has(simulation, place), (seed, place)
            seen[loss] += 1
    assert seen["undetermined"] > 1, seen


def test_no_crash_explains_the_loss_of_what_was_journaled():
    seen = Counter()
    settings = {**RUNS["few bookies"], "losses": False, "bugs": Bugs(journal_forgets=1.0)}
    for seed, _, history, facts, verdict in runs(range(3500, 3520), **settings):
        found = classes_of(verdict)
        for place, loss in found.items():
            assert loss == twins.loss_class(history, facts, *place), (seed, place)
        seen.update(found.values())
    assert seen["unexplained"] > 20 and not seen["explained"], seen


def doctored(dice, history, facts):
    """One thing changed that may turn a class: the twin says which class results."""
    disks = [row for name, row in history if name == "holdings"]
    acks = [row for name, row in history if name == "frames" and row["boot"] and row["entry"] >= 0]
    what = dice.choice(["forgotten", "held", "unread", "no fault", "repaired", "unlogged"])
    servers, faults = list(facts.servers), list(facts.faults)
    if what == "forgotten" and disks:
        history = [*history]
        history.remove(("holdings", dice.choice(disks)))
    elif what == "held" and acks:
        row = dice.choice(acks)
        place = {name: row[name] for name in ("ledger", "entry", "bookie", "boot")}
        history = [*history, ("holdings", {**place, "last": row["entry"], "place": 1})]
    elif what in ("unread", "unlogged"):
        event = {"unread": "disk_read", "unlogged": "log_read"}[what]
        servers.remove(dice.choice([row for row in servers if row["event"] == event]))
    elif what == "no fault":
        faults.remove(dice.choice(faults))
    elif what == "repaired":
        begun = dice.choice([row for row in servers if row["event"] == "started"])
        at_ns = dice.choice([row["latest_ns"] for row in servers])
        done = {"event": "full_check_complete", "earliest_ns": at_ns, "latest_ns": at_ns}
        servers.append({**begun, **done})
    return history, replace(facts, servers=tuple(servers), faults=tuple(faults)), what


def wiped(dice, facts):
    """All disks wiped, behind some death or in the end."""
    ends = [row["latest_ns"] for row in facts.servers if row["event"] == "exit"]
    late = dice.choice([max(row["latest_ns"] for row in facts.servers), *ends]) + 1
    times = dict.fromkeys(("planned_ns", "injected_ns", "confirmed_ns", "healed_ns"), late)
    params = json.dumps({"what": dice.choice(("all", "all", "index"))})
    wipe = {**facts.faults[0], "fault": 99, "kind": "wipe", "params": params, **times}
    targets = sorted({one["target"] for one in facts.faults})
    return replace(facts, faults=(*facts.faults, *({**wipe, "target": target} for target in targets)))


@pytest.mark.parametrize("variant", RUNS)
def test_a_record_that_was_doctored_is_read_as_the_twin_reads_it(variant):
    turned, dice, wipes = Counter(), random.Random(7), random.Random(7)
    losing = (one for one in runs(range(3400, 3500), **RUNS[variant]) if classes_of(one[-1]))
    for seed, _, whole, facts, verdict in islice(losing, 8 if variant in LOSE_OFTEN else 3):
        before = classes_of(verdict)
        for _ in range(6):
            history, changed, what = doctored(dice, whole, facts)
            last = before
            for result, how in ((changed, what), (wiped(wipes, changed), "wiped")):
                found = classes_of(judge([chunk(history)], result, checkers=CHECKERS))
                for place, loss in found.items():
                    assert loss == twins.loss_class(history, result, *place), (seed, what, how, place)
                turned[how] += found != last
                last = found
    assert any(turned.values())
    if variant == "few bookies":
        assert {"held", "unread", "no fault", "repaired", "wiped"} <= {
            what for what in turned if turned[what]
        }, turned


@pytest.mark.parametrize("variant", RUNS)
def test_it_does_not_matter_where_the_rows_were_cut(variant):
    for seed, _, history, facts, whole in runs(range(3100, 3103), bugs=Bugs(denies=0.2), **RUNS[variant]):
        parts = [chunk(part) for part in random_cuts(seed, history)]
        assert judge(parts, facts, checkers=CHECKERS).as_json() == whole.as_json(), seed


@pytest.mark.parametrize("variant", ["some of it is flushed", "few bookies", "contested"])
def test_a_bookie_that_denies_what_its_disk_held_is_reported_for_each_entry(variant):
    seen = 0
    settings = {**RUNS[variant], "flushes": True, "bugs": Bugs(denies=0.3)}
    for seed, _, history, facts, verdict in runs(range(3200, 3215), **settings):
        deletes = [row for name, row in history if name == "operations" and row["kind"] == Kind.DELETE]
        released = {}
        for row in deletes:
            if row["outcome"] != Outcome.FAIL:
                released[row["ledger"]] = min(
                    row["invoked_ns"], released.get(row["ledger"], row["invoked_ns"])
                )
        found = Counter(
            (one.ledger, entry)
            for one in verdict.judgements["answers"].findings
            if one.kind == "denied_held"
            for entry in range(one.first_entry, one.last_entry + 1)
        )
        twin = twins.denied_though_held(history, facts, released)
        assert found == Counter((ledger, entry) for _, _, ledger, entry in twin), seed
        seen += len(twin)
    assert seen > 5


@pytest.mark.parametrize("variant", RUNS)
def test_bookies_that_deny_nothing_wrongly_are_not_flagged(variant):
    for seed, *_, verdict in runs(range(3300, 3315), **{**RUNS[variant], "flushes": True}):
        kinds = {one.kind for one in verdict.judgements["answers"].findings}
        assert "denied_held" not in kinds, seed
