"""The last line of a campaign: it names an exit code only where the command ends with that code."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.campaigns import campaign, sensitivity
from harness.campaigns.campaign import Options, run_campaign
from harness.campaigns.listing import units_of
from harness.campaigns.sensitivity import experiments_with, measure
from harness.experiments.experiment import Experiment, Outcome, Status, outcome_of
from harness.experiments.store import Store, begin, executions
from plans.campaign import load_campaign
from protocol.errors import Interrupted, UsageError

GATE = load_campaign("gate")
UNITS = units_of(GATE, plans=Path("/nowhere"))
DEFECT = ("fence-ignored",)
Begin = Callable[[Path], int]


def interrupted(store: Store, waiting: Any, **_: object) -> Iterator[Outcome]:
    """A stand-in for the runs: one is as expected, then Ctrl-C is pressed."""
    outcome = outcome_of(next(iter(waiting)), Status.AS_EXPECTED)
    store.add(outcome)
    yield outcome
    raise Interrupted(signal.SIGINT)


def run_gate(results: Path) -> int:
    resumable = GATE.model_copy(update={"resume": True, "unfinished": "later"})
    return run_campaign(resumable, Options(results, quiet=True))


def run_sensitivity(results: Path) -> int:
    place = results / "place"
    return measure(UNITS[:2], DEFECT, place, sensitivity.Options(quiet=True), about="gate", run_s=1)


@pytest.mark.parametrize("run", [run_gate, run_sensitivity])
def test_what_is_interrupted_names_no_exit_code(
    run: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(campaign, "run_pending", interrupted)
    monkeypatch.setattr(sensitivity, "run_pending", interrupted)
    with pytest.raises(Interrupted):
        run(tmp_path)
    last = capsys.readouterr().out.splitlines()[-1]
    assert ("ended early" in last, "exit" in last) == (True, False), last


@pytest.mark.parametrize(
    ("run", "place", "units"),
    [(run_gate, "campaigns/gate", UNITS), (run_sensitivity, "place", experiments_with(UNITS[:2], DEFECT))],
)
def test_a_campaign_that_runs_elsewhere_is_left_alone(
    run: Begin, place: str, units: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = begin(tmp_path / place, "gate", units)
    store.add(outcome_of(units[0], Status.AS_EXPECTED))
    with store.alone(), pytest.raises(UsageError, match="already running"):
        run(tmp_path)
    assert capsys.readouterr().out == ""
    assert sorted(path.name for path in store.path.iterdir()) == [".lock", "campaign.json"]
    assert len(list(executions(tmp_path / place))) == 1


@pytest.mark.parametrize(
    ("run", "at", "units"),
    [
        (run_gate, campaign, UNITS),
        (run_sensitivity, sensitivity, experiments_with(UNITS[:2], DEFECT)),
    ],
)
def test_what_another_process_stored_in_the_last_moment_is_not_run_again(
    run: Begin, at: ModuleType, units: Sequence[Experiment], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, begun = Status.ANOMALY, []

    def found(place: Path, *_: object) -> Store:
        store = begin(place, "mine", units)
        other = next(executions(place))
        for unit in units:
            other.add(outcome_of(unit, stored))
        return store

    def runs(_store: Store, waiting: Iterable[Experiment], **_: object) -> Iterator[Outcome]:
        begun.extend(waiting)
        yield from ()

    monkeypatch.setattr(at, "unfinished", found)
    monkeypatch.setattr(at, "run_pending", runs)
    run(tmp_path)
    (store,) = (one for place in ("campaigns/gate", "place") for one in executions(tmp_path / place))
    assert begun == []
    assert {one.status for one in store.outcomes} == {stored}


def test_a_defect_that_no_run_can_have_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run of gate is on a release that has fence-ignored"):
        measure([], DEFECT, tmp_path, sensitivity.Options(), about="gate", run_s=1)


def test_a_resumed_campaign_names_the_runs_that_other_checkers_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign, "run_pending", lambda *_, **__: (one for one in ()))
    store = begin(tmp_path / "campaigns" / "gate", "gate", UNITS)
    ours, theirs = (outcome_of(unit, Status.AS_EXPECTED) for unit in UNITS[:2])
    store.add(ours)
    store.add(replace(theirs, judged_by="of an earlier version"))
    run_gate(tmp_path)
    summary = (store.path / campaign.SUMMARY).read_text(encoding="utf-8")
    assert "1 run judged by another version of the checkers." in summary
