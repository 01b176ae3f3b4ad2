"""From the judgements of the properties to the verdict of the run."""

import json
from dataclasses import replace

import pytest

from checkers.judging.judge import CHECKERS, judge
from checkers.judging.verdict import merged, run_verdict, undecided
from evidence.findings import Judgement, Verdict
from tests.histories.story import (
    acked,
    chunk,
    closed,
    created,
    deleted,
    facts,
    good_ending,
    judged,
    kept,
    run_facts,
    vanished,
)
from tests.unit.checkers.test_found import Broken


def judgement(name, verdict, **counts):
    return Judgement(property=name, verdict=verdict, needed="", counts=counts)


def of(**verdicts):
    known = {"evidence": Verdict.VALID, **verdicts}
    return {name: judgement(name, verdict) for name, verdict in known.items()}


V, A, U, N = Verdict.VALID, Verdict.ANOMALY, Verdict.UNKNOWN, Verdict.NOT_JUDGED


@pytest.mark.parametrize(
    ("verdicts", "required", "expected"),
    [
        ({"durability": V}, ("durability",), V),
        ({"durability": A, "order": U}, ("durability", "order"), A),
        ({"durability": V, "order": U}, ("durability",), V),
        ({"durability": V, "order": U}, ("durability", "order"), U),
        ({"durability": V, "order": A}, ("durability",), A),
        ({"durability": V, "servers": A}, ("durability",), V),
        ({"durability": V, "lac": A}, ("durability",), A),
        ({"durability": V, "servers": A}, ("durability", "servers"), A),
        ({"durability": V, "placement": N}, ("durability", "placement"), V),
        ({"durability": V}, ("durability", "fencing"), U),
        ({"durability": V, "order": U}, (), U),
        ({"evidence": U, "durability": V}, ("durability",), U),
        ({"evidence": U, "durability": A}, ("durability",), A),
    ],
)
def test_anomaly_else_unknown_else_valid_over_what_counts(verdicts, required, expected):
    assert merged(of(**verdicts), run_facts(required=required)) is expected


@pytest.mark.parametrize("name", [checker.name for checker in CHECKERS])
def test_an_anomaly_of_a_safety_property_counts_required_or_not_and_no_other(name):
    counts = name not in ("servers", "replicas", "placement", "log")
    assert merged({**of(durability=V), **of(**{name: A})}, run_facts(required=("order",))) is (
        A if counts else U
    )
    assert merged(of(**{name: A}), run_facts(required=(name,))) is A


@pytest.mark.parametrize(
    ("counting", "expected"),
    [((), V), (("replicas",), A), (("replicas/not_marked",), A), (("replicas/hole", "servers"), V)],
)
def test_an_anomaly_counts_by_its_property_or_kind_where_the_plan_says_so(counting, expected):
    found = {**of(durability=V, servers=N), "replicas": judgement("replicas", A, not_marked=2, hole=0)}
    assert merged(found, run_facts(required=("durability",), counting=counting)) is expected


LOSS = {"lost": 12, "gone": 12, "acknowledged_gone": 12, "corrupt": 0, "vanished": 0, "vanished_ledgers": 0}


def losing(excused, **more):
    counts = {**LOSS, "unavailable": 0, "excused": excused, **more}
    lost = Judgement(
        property="durability", verdict=A, needed="", counts=counts, seen={"acknowledged": 41_200}
    )
    return {"evidence": judgement("evidence", V), "durability": lost}


@pytest.mark.parametrize(
    ("judgements", "expected"),
    [
        (losing(12), V),
        (losing(11), A),
        (losing(0), A),
        (losing(12, corrupt=1, gone=13), A),
        (losing(12, vanished_ledgers=1), A),
        (losing(12, unavailable=1), A),
    ],
)
def test_a_run_is_valid_within_the_allowance_when_it_covers_every_loss(judgements, expected):
    assert merged(judgements, run_facts(required=("durability",))) is expected


def test_the_allowance_covers_no_run_that_leaves_the_fate_of_another_ledger_open():
    judgements = losing(12)
    judgements["durability"] = replace(judgements["durability"], undecided=(2,))
    assert merged(judgements, run_facts(required=("durability",))) is A


@pytest.mark.parametrize("name", ["fencing", "servers"])
def test_a_property_whose_checker_failed_counts_required_or_not(name):
    broken = type("Broken", (Broken,), {"name": name})("check")
    checkers = tuple(broken if checker.name == name else checker for checker in CHECKERS)
    run = run_facts(required=("durability", "closing"))
    batch = chunk(facts(acked(0), good_ending(0)))
    verdict = judge([batch], run, checkers=checkers)
    assert (judge([batch], run).verdict, verdict.verdict) == (V, U)
    assert name in verdict.headline
    assert (name, -1) in undecided(run.required, verdict.judgements)


def test_headlines():
    assert judged([acked(entry) for entry in range(1200)], good_ending(1199), wire=True).headline == (
        "0 of 1,200 acknowledged entries lost"
    )
    within = run_verdict(losing(12), run_facts(required=("durability",)))
    assert within.headline == "valid within allowance: 12 lost of 41,200 acknowledged entries"
    more = run_verdict(losing(15, gone=15), run_facts(required=("durability",)))
    assert more.headline == (
        "valid within allowance: 12 lost of 41,200 acknowledged entries; 3 more promised entries lost"
    )
    torn = judged(acked(0), good_ending(0), complete=False)
    assert torn.headline.startswith("0 of 1 acknowledged entry lost; unknown: evidence, durability")
    cut = judged([acked(entry) for entry in range(50)], created(), closed(-1))
    assert cut.headline.startswith("50 of 50 acknowledged entries lost; closing: 50 closed_below")
    torn_and_cut = judged([acked(entry) for entry in range(50)], created(), closed(-1), complete=False)
    assert torn_and_cut.headline.startswith(
        "50 of 50 acknowledged entries lost; closing: 50 closed_below; "
        "unknown: evidence, fencing, order, lac, content, metadata"
    )
    whole = judged([acked(entry) for entry in range(50)], good_ending(49), closed(-1, 2))
    assert "unknown" not in whole.headline
    left_out = judged(acked(0), created(), deleted(), good_ending(0), wire=True).headline
    assert left_out.startswith(
        "0 of 0 acknowledged entries lost; 1 promised entry of deleted ledgers left out"
    )
    assert "1 ledger vanished" in judged(acked(0), created(), vanished()).headline


def test_a_run_without_census_and_final_reads_is_never_valid():
    assert judged(acked(0), created(), closed(0)).verdict is U
    assert judged(acked(0), created(), closed(0), kept(0)).verdict is U


def test_a_released_ledger_leaves_the_others_to_prove_the_run():
    history = [acked(0), good_ending(0), acked(0, ledger=2), created(ledger=2), closed(0, ledger=2)]
    assert judged(*history, wire=True).verdict is U
    assert judged(*history, deleted(ledger=2), wire=True).verdict is V


def test_a_verdict_is_plain_data():
    verdict = judged(acked(0), acked(1), created(), closed(0))
    text = json.dumps(verdict.as_json(), sort_keys=True)
    assert json.loads(text)["verdict"] == "anomaly"
    assert text == json.dumps(judged(acked(0), acked(1), created(), closed(0)).as_json(), sort_keys=True)


def test_what_stays_unknown_is_said_by_ledger_beside_an_anomaly():
    lost_elsewhere = [acked(0, ledger=2), created(ledger=2), closed(-1, ledger=2)]
    verdict = judged(acked(0), created(), lost_elsewhere)
    assert verdict.verdict is A
    unknown = list(undecided(("durability", "closing", "lac"), verdict.judgements))
    assert ("durability", 1) in unknown
    assert ("closing", 1) in unknown
    assert {ledger for name, ledger in unknown if name in ("durability", "closing")} == {1}


def test_a_checker_that_crashed_leaves_the_whole_run_unknown():
    checkers = tuple(Broken("conclude") if checker.name == "order" else checker for checker in CHECKERS)
    history = [chunk(facts(acked(0), created(), closed(-1)))]
    judgements = judge(history, run_facts(), checkers=checkers).judgements
    assert ("order", -1) in undecided(("order", "closing"), judgements)
    assert ("fencing", -1) not in undecided(("closing",), judgements)
    assert ("magic", -1) in undecided(("magic",), judgements)
