"""Limits of work: an unfinished search is not called valid, and what is certain is reported."""

from __future__ import annotations

from checkers.log.checker import SearchLimits, judge_log
from evidence.findings import Verdict
from tests.histories.log_story import Txn, append, ok, read, story
from tests.histories.test_log_stories import ANOMALIES, SEEN

NOTHING = SearchLimits(edges=0)


def three_in_a_ring() -> tuple[Txn, ...]:
    """A G-single of three transactions: too long to be found without a search."""
    return (
        ok(append("x", 1), append("z", 1)),
        ok(read("x", 1), append("y", 1)),
        ok(read("y", 1), read("z")),
        ok(read("z", 1)),
    )


def test_a_search_that_ended_early_is_unknown() -> None:
    judgement = judge_log(story(*three_in_a_ring()), limits=NOTHING)
    assert judgement.verdict is Verdict.UNKNOWN
    assert "G-single: undecided, the search reached its limit of 0 edges" in judgement.notes


def test_with_work_enough_it_is_decided() -> None:
    judgement = judge_log(story(*three_in_a_ring()))
    assert judgement.verdict is Verdict.ANOMALY
    assert judgement.counts == {"G-single": 1}
    assert "has 3" in judgement.findings[0].text


def test_a_limit_is_no_matter_to_a_model_that_allows_the_class() -> None:
    judgement = judge_log(story(*three_in_a_ring()), model="read-committed", limits=NOTHING)
    assert judgement.verdict is Verdict.VALID


def test_a_cycle_of_two_needs_no_search() -> None:
    assert judge_log(story(*ANOMALIES["G2-item"]), limits=NOTHING).counts == {"G2-item": 1}


def test_what_theory_proves_is_told_without_a_witness() -> None:
    ring = (
        ok(append("x", 1), read("z", 1)),
        ok(read("x", 1), append("y", 1)),
        ok(read("y", 1), append("z", 1)),
    )
    judgement = judge_log(story(*ring), limits=NOTHING)
    assert judgement.counts == {"G1c": 1}
    assert judgement.findings[0].text.endswith("proven by their edges; its search reached its limit")


def test_enough_is_seen_beside() -> None:
    assert judge_log(story(*SEEN)).verdict is Verdict.VALID
