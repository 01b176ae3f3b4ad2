"""What a search counts: kinds of failures, rates, and what was exercised."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cli.options import DURATION
from evidence.findings import Finding, Judgement, Verdict
from evidence.folder import RunFolder
from evidence.recorders import Recorder
from harness.recording.finals import NOT_QUIET
from plans.exploring.generate import REQUIRED
from search.coverage import FAULTS, PAIRS, Coverage, coverage_tables, whom
from search.explore import Exploration, _code
from search.rates import Rate, rate_of
from search.running import NEVER_QUIET, Ended, kinds
from tests.unit.search.simulated import anomaly, ending, judged

KNOWN = {"servers/full_check_early"}


def lost(count: int, loss: str, *, excused: int = 0) -> Judgement:
    finding = Finding("durability", "lost", count=count, loss=loss)
    counts = {"gone": count, f"lost_{loss}": count, "acknowledged_gone": count, "excused": excused}
    return Judgement("durability", Verdict.ANOMALY, "", findings=[finding], counts=counts)


def test_a_kind_is_the_property_and_what_was_found_with_the_class_of_a_loss() -> None:
    closed = Judgement("closing", Verdict.ANOMALY, "", findings=[Finding("closing", "closed_below")])
    valid = Judgement("order", Verdict.VALID, "")
    assert kinds([lost(2, "unexplained"), closed, valid]) == {
        "durability/lost/unexplained",
        "closing/closed_below",
    }


def test_what_the_allowance_excuses_is_no_failure() -> None:
    assert kinds([lost(2, "explained", excused=2)]) == frozenset()
    assert kinds([lost(2, "explained")]) == {"durability/lost/explained"}


def test_a_run_without_a_verdict_is_an_error_or_unknown() -> None:
    assert Ended(Path("r"), (), "the disk is full", 1.0).verdict == "error"
    assert Ended(Path("r"), (), "", 1.0).verdict == "unknown"
    assert Ended(Path("r"), (), "the disk is full", 1.0).headline == "the disk is full"


def test_kinds_stay_known_when_the_folder_is_gone() -> None:
    looks = iter([[lost(2, "unexplained")]])
    mode: Any = SimpleNamespace(
        verdict=SimpleNamespace(judgements=SimpleNamespace(values=lambda: next(looks))),
        folder=SimpleNamespace(steps=Path("none")),
    )
    ended = Ended(Path("gone"), (mode,), "", 1.0)
    assert ended.kinds == ended.kinds == {"durability/lost/unexplained"}


def test_a_run_that_was_never_quiet_is_a_kind_of_its_own_and_no_pass(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = RunFolder.create(tmp_path, "protected")
    with Recorder(folder.steps) as steps:
        steps.write({"step": "kill", "error": "something else"})
        steps.write({"step": NOT_QUIET, "error": "b1 answers limbo for ledger 3"})
    verdict = SimpleNamespace(verdict=Verdict.VALID, judgements={}, headline="0 of 9 entries lost")
    mode: Any = SimpleNamespace(verdict=verdict, folder=folder)
    facts = {"mode": "protected", "bookkeeper": "4.18.0", "plan": {}}
    monkeypatch.setattr(RunFolder, "run", lambda self: facts)
    ended = Ended(tmp_path, (mode,), "", 1.0)
    assert ended.kinds == {NEVER_QUIET}
    assert ended.verdict == "unknown"
    assert ended.headline == "never quiet: b1 answers limbo for ledger 3; 0 of 9 entries lost"
    assert _code(Exploration([ended])) == (3, f"found quiet/never in {tmp_path}")
    judgements = {"servers": anomaly("servers/full_check_early")}
    verdict = SimpleNamespace(verdict=Verdict.ANOMALY, judgements=judgements, headline="")
    beside_known: Any = SimpleNamespace(verdict=verdict, folder=folder)
    ended = Ended(tmp_path, (beside_known,), "", 1.0)
    assert _code(Exploration([ended])) == (3, f"found quiet/never in {tmp_path}")


@pytest.mark.parametrize(
    ("mode", "version", "news"),
    [("protected", "4.18.0", set()), ("unprotected", "4.18.0", KNOWN), ("protected", "4.14.7", KNOWN)],
)
def test_a_known_defect_that_any_plan_may_meet_is_no_news(mode: str, version: str, news: set[str]) -> None:
    ran = judged("anomaly", [anomaly("servers/full_check_early")], mode=mode, version=version)
    ended = Ended(Path("r"), (ran,), "", 1.0)
    assert (ended.kinds, ended.news) == (KNOWN, news)


@pytest.mark.parametrize(
    ("kind", "required", "news"),
    [
        ("replicas/under_replicated", REQUIRED, False),
        ("replicas/under_replicated", (), True),
        ("replicas/not_marked", REQUIRED, True),
        ("order/gap", REQUIRED, True),
    ],
)
def test_what_does_not_count_in_the_plan_is_no_news(kind: str, required: Sequence[str], news: bool) -> None:
    """A drawn plan does not count a missing copy, a plan that requires every property does."""
    ran = judged("valid", [anomaly(kind)], required=required)
    ended = Ended(Path("r"), (ran,), "", 1.0)
    assert (ended.kinds, ended.news) == ({kind}, {kind} if news else set())


def test_a_rate_is_quoted_with_its_bounds() -> None:
    assert str(Rate(5, 5, 5)) == "in 5 of 5 runs, between 47 % and 100 % with 95 % confidence"
    assert str(Rate(0, 0, 0)) == "in no run that says something"


def test_silent_runs_do_not_raise_a_rate() -> None:
    """A run that fails is always counted, one that does not only when its evidence is whole."""
    ran = [
        ending(verdict, *kinds)(Path("r"), (), "", 1.0)
        for verdict, *kinds in (["anomaly", "a/b"], ["unknown"])
    ]
    often = rate_of("a/b", ran * 5)
    assert often == Rate(5, 5, 10)
    assert often.bounds == (Rate(5, 10, 10).bounds[0], 1.0)
    assert rate_of("a/b", ran[1:] * 5).bounds == (0.0, 1.0)


def test_coverage_counts_runs_and_times() -> None:
    coverage = Coverage()
    coverage.add({FAULTS: {"kill bookie": 3}, PAIRS: {"cut + kill": 1}})
    coverage.add({FAULTS: {"kill bookie": 1}})
    assert coverage.runs == 2
    assert coverage.seen[FAULTS] == {"kill bookie": (2, 4)}
    assert coverage.seen[PAIRS] == {"cut + kill": (1, 1)}
    assert [table.show_header for table in coverage_tables(coverage)] == [True, True, False, False]


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("b1", "bookie"),
        ("b1,b2", "bookies"),
        ("w1-b2", "client-bookie"),
        ("b1-zk1", "bookie-zookeeper"),
        ("ar1", "autorecovery"),
    ],
)
def test_targets_are_told_by_what_they_are(target: str, text: str) -> None:
    assert whom(target) == text


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("5m", 300), ("1.5h", 5400), ("7", 7)])
def test_durations_have_units(text: str, seconds: float) -> None:
    assert DURATION.convert(text, None, None) == seconds
