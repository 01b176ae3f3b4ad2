"""Placement, as stories of ledgers, their bookies and the racks that these stand in."""

from checkers.judging.judge import judge
from checkers.placement import Placement
from tests.histories.story import chunk, closed, created, facts, run_facts, vanished

RACKS = {"b1": "r1", "b2": "r1", "b3": "r1", "b4": "r2", "b5": "r2", "b6": "r3"}


def judged(*parts, racks=RACKS, min_racks=2, **run):
    run = run_facts(racks=racks, min_racks=min_racks, **run)
    return judge([chunk(facts(*parts))], run, checkers=(Placement(),)).judgements["placement"]


def findings_of(judgement):
    return [(one.kind, one.ledger, one.first_entry, one.last_entry) for one in judgement.findings]


def test_an_ensemble_over_two_racks_is_valid():
    judgement = judged(created(fragments={0: ("b1", "b2", "b4")}))
    assert (judgement.verdict, findings_of(judgement)) == ("valid", [])
    assert judgement.seen == {"racks": 3, "ledgers": 1, "fragments": 1}


def test_an_ensemble_in_one_rack_is_an_anomaly_that_names_the_racks():
    judgement = judged(created(), closed(9))
    assert findings_of(judgement) == [("too_few_racks", 1, 0, 9)]
    assert judgement.findings[0].text == "ledger 1: entries 0..9: a write set in 1 of 2 racks"
    assert judgement.findings[0].proof == (
        "metadata version 1: from entry 0 on b1 (r1), b2 (r1), b3 (r1)",
        "write set b1 (r1), b2 (r1), b3 (r1): only r1",
    )


def test_every_write_set_of_a_striped_ensemble_has_to_spread():
    shape = {"ensemble": 4, "write_quorum": 2, "ack_quorum": 2}
    assert judged(created(fragments={0: ("b1", "b4", "b2", "b5")}, **shape)).verdict == "valid"
    assert findings_of(judged(created(fragments={0: ("b1", "b2", "b4", "b5")}, **shape)))


def test_the_demand_is_no_more_than_the_write_quorum():
    shape = {"ensemble": 3, "write_quorum": 2, "ack_quorum": 2}
    spread = created(fragments={0: ("b1", "b4", "b6")}, **shape)
    assert judged(spread, min_racks=3).verdict == "valid"
    assert findings_of(judged(created(fragments={0: ("b1", "b2", "b4")}), min_racks=3))


def test_only_the_last_version_counts_and_each_of_its_fragments():
    good, bad = ("b1", "b4", "b6"), ("b1", "b2", "b3")
    assert judged(created(fragments={0: bad}), closed(9, fragments={0: good})).verdict == "valid"
    late = closed(9, fragments={0: good, 4: bad, 6: good, 8: bad})
    assert findings_of(judged(created(), late)) == [("too_few_racks", 1, 4, 5), ("too_few_racks", 1, 8, 9)]
    growing = created(fragments={0: good, 4: bad})
    assert findings_of(judged(growing)) == [("too_few_racks", 1, 4, -1)]


def test_a_deleted_ledger_is_not_judged():
    assert findings_of(judged(created(), vanished())) == []


def test_a_ledger_whose_metadata_was_removed_and_put_back_is_judged():
    good = created(ledger=2, fragments={0: ("b1", "b2", "b4")})
    removed = vanished(zxid=100, put_back=True)
    assert judged(created(), removed, good).verdict == "valid"
    back = created(zxid=101, put_back=True)
    assert findings_of(judged(created(), removed, back, good)) == [("too_few_racks", 1, 0, -1)]


def test_what_was_put_back_is_the_last_version():
    good, bad = {"fragments": {0: ("b1", "b2", "b4")}}, {"fragments": {0: ("b1", "b2", "b3")}}
    history = [created(**bad), closed(9, **good)]
    assert judged(history).verdict == "valid"
    assert findings_of(judged(history, created(zxid=100, put_back=True, **bad)))


def test_a_bookie_without_a_rack_leaves_it_open():
    judgement = judged(created(fragments={0: ("b1", "b4", "b7")}))
    assert (judgement.verdict, findings_of(judgement)) == ("unknown", [])
    assert judgement.notes == ("ledger 1: the fragment from entry 0 on names b7, of which no rack is known",)


def test_metadata_that_cannot_be_understood_leaves_it_open():
    assert judged(created(ack_quorum=4)).verdict == "unknown"
    assert judged(created(fragments={0: ("b1", "b4")})).verdict == "unknown"


def test_without_racks_nothing_is_judged_unless_the_plan_requires_it():
    assert judged(created(), racks={}).verdict == "not judged"
    judgement = judged(created(), racks={}, required=("placement",))
    assert (judgement.verdict, judgement.notes) == ("unknown", ("the plan gives no racks",))


def test_damaged_evidence_is_no_anomaly():
    judgement = judged(created(), closed(9), damage=("ledgers: changed",))
    assert (judgement.verdict, findings_of(judgement)) == ("unknown", [])
