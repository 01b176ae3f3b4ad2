"""The last add confirmed never goes back on a handle and never covers what cannot be."""

import pytest

from evidence.codes import Flag, Kind, Outcome
from evidence.findings import Verdict
from tests.histories.story import (
    acked,
    closed,
    created,
    judged,
    kinds,
    opened,
    operation,
    recovered,
    recovering,
    refused,
    told,
    unsure,
)


def lac(*parts, **run):
    return judged(*parts, **run).judgements["lac"]


def test_a_lac_that_grows():
    assert lac(acked(0), acked(1, lac_before=0)).verdict is Verdict.VALID


def test_a_lac_that_goes_back_on_its_handle():
    verdict = judged(acked(5, lac_before=5, lac=3, seq=8))
    assert kinds(verdict, "lac") == [("went_back", 3, 3)]
    assert verdict.judgements["lac"].findings[0].proof == (
        "writer, operation 8: told LAC 3 on a handle that had been told 5 before it asked",
    )


def test_a_best_effort_lac_read_may_answer_less_than_the_handle_knows():
    judgement = lac(told(5, lac_before=5, result=3))
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen["low_answers"] == 1


def test_what_the_handle_holds_after_a_lac_read_does_not_go_back():
    assert kinds(judged(told(3, lac_before=5, result=3)), "lac") == [("went_back", 3, 3)]


@pytest.mark.parametrize("kind", [Kind.WATCHED, Kind.CENSUS, Kind.DELETE])
def test_the_lac_column_of_other_kinds_tells_no_lac(kind):
    assert lac(operation(kind, lac=1, lac_before=5)).verdict is Verdict.UNKNOWN


def test_a_lac_told_after_a_close_and_beyond_it():
    history = [created(), closed(2, latest_ns=10)]
    assert kinds(judged(*history, told(4, invoked_ns=11)), "lac") == [("beyond_close", 3, 4)]
    assert not lac(*history, told(2, invoked_ns=11)).findings


def test_a_lac_told_before_the_close_or_at_an_unknown_time_does_not_convict():
    assert not lac(created(), closed(2, latest_ns=10), told(4, invoked_ns=10)).findings
    assert not lac(created(), closed(2), told(4, invoked_ns=11)).findings


def test_the_highest_of_all_later_tellings_counts():
    later = [told(3, invoked_ns=11, seq=1), told(9, invoked_ns=12, seq=2), told(1, invoked_ns=13, seq=3)]
    earlier = told(50, invoked_ns=9, seq=4)
    verdict = judged(created(), closed(2, latest_ns=10), later, earlier)
    assert kinds(verdict, "lac") == [("beyond_close", 3, 9)]


def test_a_lac_over_an_add_that_was_never_sent():
    history = [created(), acked(0), refused(1)]
    assert kinds(judged(*history, told(1)), "lac") == [("covers_unsent", 1, 1)]
    assert not lac(*history, told(0)).findings


def test_an_observer_that_found_the_ledger_closed_did_not_recover_it():
    history = [created(), acked(0), refused(1), told(1)]
    assert kinds(judged(*history, closed(1), opened(1)), "lac") == [("covers_unsent", 1, 1)]
    assert not lac(*history, recovering(), closed(1, 2), opened(1)).findings


def test_an_id_that_another_add_used_was_sent():
    assert not lac(created(), acked(0), refused(1), unsure(1), told(1)).findings


@pytest.mark.parametrize("recovery", [recovering(), recovered(1), recovered(1, outcome=Outcome.UNKNOWN)])
def test_after_a_recovery_the_lac_says_nothing_of_the_writer(recovery):
    assert not lac(created(), acked(0), refused(1), told(1), recovery).findings


def test_unseen_metadata_may_hide_a_recovery():
    assert not lac(acked(0), refused(1), told(1)).findings
    assert not lac(created(), closed(0, 2), acked(0), refused(1), told(1)).findings


def test_torn_histories_may_hide_the_add():
    history = [created(), acked(0), refused(1), told(1)]
    assert not lac(*history, damage=("operations: writer torn",)).findings


def test_no_lac_told_nothing_proven():
    assert lac(acked(0, lac=-1)).verdict is Verdict.UNKNOWN


def test_an_open_tells_a_lac():
    assert lac(operation(Kind.OPEN, lac=0, flags=Flag.RECOVERY)).verdict is Verdict.VALID
