"""``fencepost run --parallel``: results, folders, errors and the exit code; without a worker or a server."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from cli.main import fencepost
from evidence.findings import RunVerdict, Verdict
from evidence.folder import RunFolder, every_run
from harness import run as spine
from harness.cleaning import leftovers
from harness.experiments import parallel, series
from harness.experiments.series import exit_code
from harness.experiments.workers import Recording, RecordOrder
from harness.narrator import Narrator
from harness.preparing import Prepared
from harness.request import RunRequest
from harness.vocabulary import words
from plans.expected.comparison import Comparison
from plans.load import find, load
from protocol.errors import FencepostError, Interrupted, PrerequisiteError
from protocol.exit_codes import ExitCode
from reports.results import ModeResult, RunResult
from reports.trials import Trial

SCENARIO = "bp46/truncation"
MODES = ("unprotected", "protected", "journal")
Record = Callable[[RunRequest, Path], Recording]


class FakeRecorders:
    """A stand-in for the workers: calls ``execute``; ``stopped`` once it was asked to stop."""

    execute: Record
    stopped: threading.Event

    def __init__(self, _log: None, _results: Path, _parallel: int) -> None:
        FakeRecorders.stopped = threading.Event()

    def __enter__(self) -> FakeRecorders:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def record(self, order: RecordOrder) -> Recording:
        assert order.plan and order.plan.name == SCENARIO
        return FakeRecorders.execute(order.request, order.run)

    def stop(self) -> None:
        self.stopped.set()


def recorded(request: RunRequest, run: Path) -> Recording:
    """A mode is recorded well."""
    RunFolder.create(run, request.modes[0]).run_json.touch()
    return Recording()


def judged(folder: RunFolder, *_: object, **__: object) -> ModeResult:
    verdict = RunVerdict(SCENARIO, folder.mode, Verdict.VALID, "", {})
    return ModeResult(folder.mode, folder, verdict, Comparison(True, ()))


def prepared(results: Path, *, seed: int = 5) -> Prepared:
    plan = load(find(SCENARIO), words())
    return Prepared(RunRequest(scenario=SCENARIO, results=results), plan, seed, MODES, "4.18.0")


@pytest.fixture(autouse=True)
def _without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "Recorders", FakeRecorders)
    monkeypatch.setattr(parallel, "judge_mode", judged)
    monkeypatch.setattr(parallel, "conclude", lambda result, _: result)


def ended(
    runs: list[Prepared], record: Record, at_a_time: int = 2
) -> tuple[list[RunResult], FencepostError | None]:
    FakeRecorders.execute = staticmethod(record)
    judge: Any = SimpleNamespace(wait_warm=lambda: None)
    return series._results(runs, judge, Narrator(), at_a_time, as_json=False)


def carried_out(runs: list[Prepared], record: Record, at_a_time: int = 2) -> list[RunResult]:
    results, error = ended(runs, record, at_a_time)
    assert error is None
    return results


def test_each_mode_is_a_job_and_each_run_has_one_folder(tmp_path: Path) -> None:
    requests: list[RunRequest] = []

    def record(request: RunRequest, run: Path) -> Recording:
        requests.append(request)
        return recorded(request, run)

    results = carried_out([prepared(tmp_path, seed=5), prepared(tmp_path, seed=6)], record)
    assert sorted((request.seed or 0, *request.modes) for request in requests) == sorted(
        (seed, mode) for seed in (5, 6) for mode in MODES
    )
    assert [(one.seed, tuple(mode.mode for mode in one.modes)) for one in results] == [(5, MODES), (6, MODES)]
    assert sorted(one.path for one in results) == every_run(tmp_path)


def test_no_mode_of_a_run_is_cleaned_before_all_are_judged(tmp_path: Path) -> None:
    def left() -> list[Path]:
        return [path for path, _ in leftovers(tmp_path, tables=False, runs=True)]

    def record(request: RunRequest, run: Path) -> Recording:
        result = recorded(request, run)
        assert left() == []
        return result

    (result,) = carried_out([prepared(tmp_path)], record)
    assert left() == [result.path]


def test_results_are_in_the_order_of_the_runs_whichever_ends_first(tmp_path: Path) -> None:
    """The first run's first mode ends after all of the second run."""
    second_done = threading.Semaphore(0)

    def record(request: RunRequest, run: Path) -> Recording:
        if (request.seed, request.modes) == (5, MODES[:1]):
            for _ in MODES:
                assert second_done.acquire(timeout=30)
        result = recorded(request, run)
        if request.seed == 6:
            second_done.release()
        return result

    results = carried_out([prepared(tmp_path, seed=5), prepared(tmp_path, seed=6)], record)
    assert [one.seed for one in results] == [5, 6]
    assert tuple(mode.mode for mode in results[0].modes) == MODES


def test_the_modes_of_a_plan_that_is_to_run_alone_run_one_after_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = prepared(tmp_path)
    carried_out([replace(one, plan=one.plan.model_copy(update={"alone": True}))], recorded, at_a_time=3)
    shown = [line for line in capsys.readouterr().out.splitlines() if "begins " in line or "seed 5, " in line]
    assert ["begins" in line for line in shown[-6:]] == [True, False] * 3


def test_an_error_ends_the_others_and_says_what_can_be_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def record(request: RunRequest, run: Path) -> Recording:
        result = recorded(request, run)
        if request.modes == ("unprotected",):
            return replace(result, error=PrerequisiteError("no space", remedy="free some"))
        assert FakeRecorders.stopped.wait(30)
        return replace(result, error=FencepostError("interrupted"))

    with pytest.raises(FencepostError, match="no space") as raised:
        carried_out([prepared(tmp_path)], record)
    assert (raised.value.exit_code, raised.value.remedy) == (ExitCode.USAGE, "free some")
    out = capsys.readouterr().out
    assert "begins journal" not in out
    left = [line for line in out.splitlines() if "can be judged: " in line]
    assert [line.rpartition("/")[2] for line in left] == ["unprotected", "protected"]


@pytest.mark.parametrize("ending", [FencepostError("b1 did not start"), Interrupted(signal.SIGINT)], ids=str)
def test_runs_that_ended_before_an_error_or_an_interruption_are_counted(
    ending: FencepostError | Interrupted,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    concluded = threading.Event()

    def conclude(result: RunResult, _: Narrator) -> RunResult:
        concluded.set()
        return result

    def record(request: RunRequest, run: Path) -> Recording:
        if request.seed == 5:
            return recorded(request, run)
        assert concluded.wait(30)
        raise ending

    counted: list[RunResult] = []

    def trials(results: list[RunResult]) -> list[Trial]:
        counted.extend(results)
        return []

    monkeypatch.setattr(parallel, "conclude", conclude)
    monkeypatch.setattr(series, "trials", trials)
    with pytest.raises(type(ending), match=str(ending)):
        carried_out([prepared(tmp_path, seed=5), prepared(tmp_path, seed=6)], record)
    assert [one.seed for one in counted] == [5]
    assert "run 2 of 2" in capsys.readouterr().out


@pytest.mark.parametrize("at_a_time", [1, 2])
@pytest.mark.parametrize("ending", [FencepostError("b1 did not start"), Interrupted(signal.SIGINT)], ids=str)
@pytest.mark.parametrize("unexpected", [True, False])
def test_no_error_after_an_anomaly_makes_it_a_failure_of_the_harness(
    at_a_time: int,
    ending: FencepostError | Interrupted,
    unexpected: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first of three modes is judged, then the second ends with an error."""
    first = threading.Event()

    def judge_mode(folder: RunFolder, *_: object, **__: object) -> ModeResult:
        first.set()
        return replace(UNEXPECTED if unexpected else AS_EXPECTED, mode=folder.mode, folder=folder)

    def record(request: RunRequest, run: Path) -> Recording:
        if request.modes == MODES[:1]:
            return recorded(request, run)
        assert first.wait(30)
        raise ending

    def recorded_here(prepared: Prepared, folder: RunFolder, *_: object) -> None:
        folder.run_json.touch()
        if folder.mode != MODES[0]:
            raise ending

    def trials(results: list[RunResult]) -> list[Trial]:
        counted.extend(mode.mode for result in results for mode in result.modes)
        return []

    counted: list[str] = []
    monkeypatch.setattr(spine, "record", recorded_here)
    monkeypatch.setattr(spine, "introduction", lambda *_: ())
    monkeypatch.setattr(spine, "judge_mode", judge_mode)
    monkeypatch.setattr(parallel, "judge_mode", judge_mode)
    monkeypatch.setattr(series, "trials", trials)
    if isinstance(ending, Interrupted) or not unexpected:
        with pytest.raises(type(ending), match=str(ending)):
            ended([prepared(tmp_path)], record, at_a_time)
        assert counted == [MODES[0]]
        return
    results, error = ended([prepared(tmp_path)], record, at_a_time)
    assert error is ending
    assert series._finish(results, Narrator(), error, as_json=False) == ExitCode.ANOMALY
    assert counted == [MODES[0]]
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith("exit 4: unprotected: lost main; ended early: b1 did not start")


def test_a_single_mode_runs_in_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = Prepared(
        RunRequest(scenario=SCENARIO, results=tmp_path), prepared(tmp_path).plan, 5, MODES[:1], "4.18.0"
    )
    here = RunResult(SCENARIO, 5, tmp_path, [])
    monkeypatch.setattr(parallel, "run", lambda *_, **__: here)
    assert carried_out([one], lambda *_: pytest.fail("a worker was used"), at_a_time=8) == [here]


@pytest.mark.parametrize(
    ("option", "reason"),
    [("--parallel=2", "--parallel"), ("--quiet", "--quiet and --json"), ("--json", "--quiet and --json")],
)
def test_a_pause_needs_the_terminal_for_one_run_and_its_words(option: str, reason: str) -> None:
    done = CliRunner().invoke(fencepost, ["run", SCENARIO, "--pause-on", "end", option])
    assert (done.exit_code, f"leave out {reason}" in done.output) == (ExitCode.USAGE, True)


def came_out(verdict: Verdict, *, met: bool, reason: str = "because", **more: bool) -> ModeResult:
    judged = RunVerdict("s", "m", verdict, "headline", {})
    comparison = Comparison(met, (reason,), **more)
    return ModeResult("m", RunFolder(Path("nowhere/m")), judged, comparison)


AS_EXPECTED = came_out(Verdict.ANOMALY, met=True)
UNEXPECTED = came_out(Verdict.ANOMALY, met=False, reason="lost main", unexpected=True)
NOT_WHOLE = came_out(Verdict.ANOMALY, met=False, reason="the evidence is not whole")
UNKNOWN = came_out(Verdict.UNKNOWN, met=False)
DECIDED_OTHERWISE = came_out(Verdict.VALID, met=False, reason="fig9: the document says", contradicted=True)
CONTROL_DID_NOT_BITE = came_out(Verdict.VALID, met=False, reason="expected, but not found")


@pytest.mark.parametrize(
    ("modes", "code"),
    [
        ([AS_EXPECTED], 0),
        ([AS_EXPECTED, UNKNOWN], 3),
        ([UNKNOWN, UNEXPECTED], 4),
        ([UNEXPECTED, UNKNOWN], 4),
        ([CONTROL_DID_NOT_BITE], 3),
        ([NOT_WHOLE], 3),
        ([UNKNOWN, DECIDED_OTHERWISE], 4),
    ],
)
def test_the_worst_mode_decides(modes: list[ModeResult], code: int) -> None:
    assert exit_code(modes)[0] == code


def test_the_reason_names_the_mode_and_what_was_wrong() -> None:
    assert exit_code([AS_EXPECTED, UNEXPECTED])[1] == "m: lost main"
