"""Autorecovery that ends on its own: what explains such an end, and what does not."""

import pytest

from evidence.codes import NEVER
from evidence.findings import Verdict
from tests.histories.boots import fault, repairer
from tests.histories.story import acked, good_ending, judged

LATE = 200 * 10**9


def judgements_of(*rows, ended=0, code=0, signal=None, read=True, **run):
    servers = repairer(*rows, ended=ended, code=code, signal=signal, read=read)
    return judged(acked(0), good_ending(0), servers=servers, **run)


def kinds(*rows, **run):
    return [one.kind for one in judgements_of(*rows, **run).judgements["servers"].findings]


def test_a_worker_that_died_by_an_exception_is_reported_whatever_exit_code_it_leaves():
    verdict = judgements_of(("worker_died", 8), ended=10)
    [finding] = verdict.judgements["servers"].findings
    assert (finding.kind, finding.text) == (
        "repair_ended",
        "ar1 boot 1 ended on its own, and repaired nothing from then on",
    )
    assert finding.proof == (
        "ar1 boot 1 ended with code 0 at 0.000000010 s, and no step asked for that",
        "an uncaught exception had ended its worker by 0.000000008 s",
    )


def test_it_counts_although_the_plan_does_not_require_servers():
    required = ("durability", "closing")
    assert judgements_of(ended=10, required=required).verdict is Verdict.ANOMALY
    assert judgements_of(required=required).verdict is Verdict.VALID


def test_a_lost_session_explains_the_end_unless_the_worker_had_died_before():
    assert kinds(ended=10) == ["repair_ended"]
    assert not kinds(("session_lost", 8), ended=10)
    assert not kinds(("session_lost", 8), ("worker_died", 8), ended=10)
    assert kinds(("worker_died", 7), ("session_lost", 8), ended=10) == ["repair_ended"]


@pytest.mark.parametrize("target", ["ar1", "zk1", "ar1-zk1", "b1,ar1"])
def test_a_fault_near_it_explains_the_end_but_no_exception(target):
    near = fault(kind="cut", target=target, injected_ns=2, healed_ns=4)
    assert not kinds(ended=10, faults=(near,))
    assert kinds(("worker_died", 8), ended=10, faults=(near,)) == ["repair_ended"]
    assert kinds(ended=LATE, faults=(near,)) == ["repair_ended"]
    assert not kinds(ended=LATE, faults=({**near, "healed_ns": NEVER},))
    assert kinds(ended=10, faults=({**near, "injected_ns": 11, "healed_ns": 12},)) == ["repair_ended"]


def test_a_fault_of_others_and_an_earlier_stop_explain_nothing():
    assert kinds(ended=10, faults=(fault(kind="cut", target="b1-zk2"),)) == ["repair_ended"]
    stop = fault(kind="stop", target="ar1", injected_ns=2, healed_ns=4)
    assert kinds(ended=10, faults=(stop,)) == ["repair_ended"]
    assert not kinds(ended=10, faults=({**stop, "healed_ns": 10},))


def test_a_plan_that_waits_for_the_end_states_it():
    assert not kinds(("worker_died", 8), ended=10, may_end={"ar1": 1})
    assert kinds(ended=10, may_end={"ar2": 1}) == ["repair_ended"]


def test_a_wait_for_one_end_excuses_no_second_one():
    boots = (*repairer(ended=30, number=2), *repairer(ended=10))  # in any order
    verdict = judged(acked(0), good_ending(0), servers=boots, may_end={"ar1": 1})
    [finding] = verdict.judgements["servers"].findings
    assert finding.text == "ar1 boot 2 ended on its own, and repaired nothing from then on"
    twice = judged(acked(0), good_ending(0), servers=boots, may_end={"ar1": 2})
    assert not twice.judgements["servers"].findings


def test_an_end_by_a_signal_or_an_error_is_a_death_and_judged_as_such():
    assert not kinds(ended=10, code=143)
    assert not kinds(ended=10, code=1)
    assert not kinds(ended=10, code=None, signal=9)


def test_without_its_log_or_with_damage_nothing_is_said():
    assert not kinds(ended=10, read=False)
    assert not kinds(ended=10, damage=("servers: torn",))
