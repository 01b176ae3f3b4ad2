"""A run that did not end as expected says what to do next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evidence.findings import RunVerdict, Verdict
from evidence.folder import RunFolder
from harness import next_step
from plans.expected.comparison import Comparison, FoundAnomaly
from reports.results import ModeResult, RunResult

RUN = Path("results/a run/1")
FOLLOW = f"follow docs/how-to/find-new-bugs.md from step 2, with {RUN} as RUN"


def mode(name: str, verdict: Verdict = Verdict.ANOMALY, *, met: bool = False, **more: bool) -> ModeResult:
    judged = RunVerdict("s", name, verdict, "headline", {})
    return ModeResult(name, RunFolder(RUN / name), judged, Comparison(met, ("because",), **more))


def said(*modes: ModeResult) -> str:
    return next_step.next_step(RunResult("s", 1, RUN, modes))


def lost(ledger: str, first: int = -1) -> FoundAnomaly:
    return FoundAnomaly("durability", "lost", ledger, first=first, last=first)


@pytest.mark.parametrize(
    ("found", "subject"),
    [
        ([lost("main", 49)], "main:49"),
        ([lost("other"), lost("main.2", 0)], "main.2:0"),
        ([lost("ledger 12", 3)], "12:3"),
        ([lost("main")], "main"),
        ([lost("")], ""),
        ([], ""),
    ],
)
def test_an_unexpected_anomaly_has_the_command_that_shows_its_entry(
    found: list[FoundAnomaly], subject: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_step, "anomalies_unstated", lambda *_: found)
    explain = f"fencepost explain '{RUN}' {subject} --mode journal; then " if subject else ""
    unknown = mode("protected", Verdict.UNKNOWN)
    assert said(unknown, mode("journal", unexpected=True)) == explain + FOLLOW


def test_another_decision_is_followed_without_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_step, "anomalies_unstated", lambda *_: [])
    assert said(mode("journal", Verdict.VALID, contradicted=True)) == FOLLOW


def test_what_proves_too_little_is_repeated() -> None:
    assert "`needed:` above" in said(mode("journal", Verdict.UNKNOWN))
    damaged = mode("journal", Verdict.UNKNOWN)
    damaged = replace(damaged, verdict=replace(damaged.verdict, damage=("frames: gone",)))
    assert "`damaged evidence:` above" in said(damaged)
    assert "--times 5; what had to break" in said(mode("journal", Verdict.VALID, missed=True))
    assert "the lines below the verdict" in said(mode("journal", Verdict.VALID))


def test_as_expected_needs_no_step() -> None:
    assert said(mode("journal", met=True)) == ""
