"""The trial itself on trial: checkers that are wrong in their verdict or numbers alone lower the score."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace

import pytest

from checkers.judging.judge import CHECKERS
from evidence.findings import Finding, Judgement, Verdict
from tests.histories.mutations.registry import Sign, mutant, span, unknown
from tests.histories.trial.mutation import full, score, tallies

NEXT = {"explained": "unexplained", "unexplained": "undetermined", "undetermined": "explained"}
OF_LOSSES = ("ack_moved_past_a_crash", "death_not_explained", "lac_beyond_end")
OF_ALL = (
    *OF_LOSSES,
    *("add_acknowledged_earlier", "add_acknowledged_after_close", "entry_repeated"),
    *("byte_of_read_entry_changed", "closed_ledger_reopened", "every_copy_removed"),
    *("fence_answered_by_one", "bookie_denies_acked_entry", "previous_boot_shut_down_cleanly"),
    *("recovery_of_open_ledger_refused", "bookies_moved_into_one_rack", "append_to_a_replaced_ledger"),
)
Spoil = Callable[[Judgement], Judgement]


def called_valid(judgement: Judgement) -> Judgement:
    return replace(judgement, verdict=Verdict.VALID) if judgement.verdict is Verdict.ANOMALY else judgement


def elsewhere(judgement: Judgement) -> Judgement:
    if judgement.property not in ("durability", "closing"):
        return judgement
    return with_findings(
        judgement,
        lambda one: replace(
            one, ledger=one.ledger + 7, first_entry=one.first_entry + 1000, last_entry=one.last_entry + 1000
        ),
    )


def of_another_class(judgement: Judgement) -> Judgement:
    return with_findings(judgement, lambda one: replace(one, loss=NEXT.get(one.loss, one.loss)))


def counted_once(judgement: Judgement) -> Judgement:
    return with_findings(judgement, lambda one: replace(one, count=1))


def with_findings(judgement: Judgement, change: Callable[[Finding], Finding]) -> Judgement:
    return replace(judgement, findings=tuple(map(change, judgement.findings)))


def sabotaged(spoil: Spoil) -> tuple[object, ...]:
    """All checkers, each with its conclusion spoiled."""

    def wrong(checker):
        other = copy(checker)
        other.conclude = lambda found, facts, run: spoil(checker.conclude(found, facts, run))
        return other

    return tuple(map(wrong, CHECKERS))


@pytest.mark.parametrize(
    ("spoil", "names", "share"),
    [
        (called_valid, OF_ALL, "0 %"),
        (elsewhere, OF_LOSSES, "0 %"),
        (of_another_class, OF_LOSSES, "0 %"),
        (counted_once, ("lac_beyond_end", "read_ends_early"), None),
    ],
)
def test_a_sabotaged_checker_lowers_the_score(spoil, names, share, monkeypatch):
    monkeypatch.setattr("tests.histories.mutations.registry.CHECKERS", sabotaged(lambda judgement: judgement))
    assert full(list(tallies(1, names)))
    monkeypatch.setattr("tests.histories.mutations.registry.CHECKERS", sabotaged(spoil))
    tried = list(tallies(3, names))
    line = next(score(tried))
    assert not full(tried)
    assert "mutation score 100 %" not in line
    assert share is None or f"mutation score {share}: 0 of " in line


def test_what_states_kinds_alone_is_caught_and_not_counted_as_exact():
    tried = list(tallies(2, ["element_read_twice"]))
    assert full(tried)
    assert "mutation score 0 %: 0 of 2 illegal mutants" in next(score(tried))
    assert "2 caught by kind and verdict only, 0 survived" in next(score(tried))


LOST = span("durability/lost", 1, 3, "explained")


@pytest.mark.parametrize(
    ("found", "verdict", "must"),
    [
        (LOST, Verdict.ANOMALY, LOST),
        (LOST, Verdict.VALID, {*LOST, Verdict.VALID}),
        (LOST, Verdict.ANOMALY, {"durability/lost"}),
        (LOST, Verdict.ANOMALY, {"durability/*", Verdict.ANOMALY}),
        ({*LOST, unknown("closing", ledger=2)}, Verdict.ANOMALY, LOST),
        ({*LOST, unknown("closing", ledger=2)}, Verdict.ANOMALY, {*LOST, unknown("closing", ledger=2)}),
        (set(), Verdict.UNKNOWN, {Verdict.UNKNOWN}),
    ],
)
def test_a_mutant_is_right(found, verdict, must):
    assert mutant(found, verdict, must).right


@pytest.mark.parametrize(
    ("found", "verdict", "must"),
    [
        (LOST, Verdict.VALID, LOST),
        (span("durability/lost", 1, 3, "unexplained"), Verdict.ANOMALY, LOST),
        (span("durability/lost", 1, 3, "explained", ledger=2), Verdict.ANOMALY, LOST),
        (span("durability/lost", 1, 2, "explained"), Verdict.ANOMALY, LOST),
        ({Sign("durability/lost", 1, 3, 1, "explained")}, Verdict.ANOMALY, LOST),
        ([*LOST, *LOST], Verdict.ANOMALY, LOST),
        (set(), Verdict.ANOMALY, LOST),
        (set(), Verdict.ANOMALY, {"durability/lost"}),
        (LOST, Verdict.ANOMALY, {"closing/*", Verdict.ANOMALY}),
        (LOST, Verdict.ANOMALY, {*LOST, unknown("closing", ledger=2)}),
        ({*LOST, unknown("closing", ledger=1)}, Verdict.ANOMALY, {*LOST, unknown("closing", ledger=2)}),
        (set(), Verdict.VALID, {Verdict.UNKNOWN}),
    ],
)
def test_a_mutant_is_wrong(found, verdict, must):
    assert not mutant(found, verdict, must).right
