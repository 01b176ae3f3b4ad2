"""What a worker is asked, and its answer for a run that could not start; nothing is started."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from evidence.findings import RunVerdict, Verdict
from evidence.folder import RunFolder
from harness.experiments import worker
from harness.experiments.experiment import Experiment, Status, digest_of, outcome_of
from harness.experiments.workers import HungError, JudgeOrder, RecordOrder, of_error
from harness.request import RunRequest
from harness.vocabulary import words
from plans.expected.comparison import Comparison
from plans.load import find, load
from plans.models import Plan
from protocol.errors import (
    FencepostError,
    IncapableError,
    PrerequisiteError,
    ServerError,
    UnplannedDeathError,
)
from reports.results import ModeResult, RunResult

REQUEST = RunRequest(
    scenario="mine.yaml",
    modes=("protected",),
    seed=1,
    bookie_conf=Path("bk_server.conf"),
    keep=True,
    results=Path("elsewhere"),
    settings=(("wide", "true"),),
    rounds=2,
    seed_defects=("fence-ignored",),
    repeat=("fencepost", "replay"),
)
EXPERIMENT = Experiment("mine", "protected", "4.18.0", (), 1, 1, "d1")


def sent(run: Path, plan: Plan | None = None) -> RecordOrder:
    """The order as the worker reads it."""
    taken, orders = Pipe(duplex=False)
    with taken, orders:
        orders.send(RecordOrder(REQUEST, run, plan))
        order: RecordOrder = taken.recv()
    return order


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (IncapableError("mounting needs root, this is user 1000"), Status.IMPOSSIBLE),
        (PrerequisiteError("the disk under results has 3 MB of free space"), Status.ERROR),
        (ServerError("b1 did not start", remedy="see its log"), Status.ERROR),
    ],
)
def test_only_what_the_machine_can_never_do_is_no_failure(
    error: FencepostError, status: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object, **__: object) -> NoReturn:
        raise error

    monkeypatch.setattr(worker, "prepare", refuse)
    result = worker._record(sent(tmp_path))
    assert result.error == error
    found = pickle.loads(pickle.dumps(result)).error
    assert (str(found), found.remedy, found.exit_code) == (str(error), error.remedy, error.exit_code)
    judged = of_error(EXPERIMENT, found)
    assert (judged.status, judged.why, judged.error) == (status, str(error), type(error).__name__)


def test_a_worker_carries_out_the_very_order_in_the_folder_that_was_made_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried_out: list[object] = []
    monkeypatch.setattr(worker, "prepare", lambda request, **_: request)
    monkeypatch.setattr(worker, "record_only", lambda request, path, _: carried_out.extend((request, path)))
    run = tmp_path / "mine" / "now-1"
    assert worker._record(sent(run)).error is None
    assert carried_out == [REQUEST, run]


def test_a_worker_says_what_a_run_took_and_how_busy_the_machine_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = iter((100.0, 112.5))

    def record(_request: object, path: Path, _narrator: object) -> None:
        folder = RunFolder.create(path, "protected")
        folder.run_json.write_text("{}")
        folder.write_end({"complete": True, "load": {"average": 3.5, "cpu_pressure": 0.75, "cpu_s": 12.0}})

    monkeypatch.setattr(worker, "prepare", lambda request, **_: request)
    monkeypatch.setattr(worker, "record_only", record)
    monkeypatch.setattr(worker, "cpu_s", lambda: next(spent))
    answer = worker._record(sent(tmp_path / "mine" / "now-1"))
    assert (answer.cpu_s, answer.cpu_pressure) == (12.5, 0.75)


@pytest.mark.parametrize("scenario", ["bp46/truncation", "soak/kill9", "bp46/power-loss"])
def test_a_worker_runs_the_very_plan_that_it_is_given(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = load(find(scenario), words())
    run: list[object] = []
    monkeypatch.setattr(worker, "prepare_plan", lambda request, plan: (request, plan))
    monkeypatch.setattr(worker, "record_only", lambda ready, *_: run.extend(ready))
    worker._record(sent(tmp_path / "mine" / "now-1", given))
    assert run == [REQUEST, given]


def judged_as(comparison: Comparison, results: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run that a judge finds so, in which the seeded defect acted seven times."""
    folder = RunFolder.create(results / "mine" / "now-1", "protected")
    folder.write_run({"repeat": ["fencepost", "replay"]})
    verdict = RunVerdict("mine", "protected", Verdict.ANOMALY, "1 lost", {})
    result = RunResult("mine", 1, folder.path.parent, [ModeResult("protected", folder, verdict, comparison)])
    acts = [SimpleNamespace(acts={"b1": 2, "b2": 1}), SimpleNamespace(acts={"b1": 4})]
    monkeypatch.setattr(worker, "judge_recorded", lambda found, *_: result if found.modes else None)
    monkeypatch.setattr(worker, "judge_again", lambda *_: result)
    monkeypatch.setattr(worker, "seeded", lambda _: acts)
    monkeypatch.setattr(worker, "broken_unstated", lambda *_: ("order",))
    monkeypatch.setattr(worker, "whole_but_for_skipped_steps", lambda *_: True)
    return folder.path.parent


@pytest.mark.parametrize(
    ("comparison", "status", "why"),
    [
        (Comparison(True, ("as expected: holds",)), Status.AS_EXPECTED, ""),
        (Comparison(True, ("not seen this time",), absent=("defect lac",)), Status.AS_EXPECTED, ""),
        (Comparison(False, ("lost main",), unexpected=True), Status.ANOMALY, "protected: lost main"),
        (Comparison(False, ("read 3",), contradicted=True), Status.ANOMALY, "protected: read 3"),
        (
            Comparison(False, ("expected, but not found",), missed=True),
            Status.UNKNOWN,
            "protected: expected, but not found",
        ),
    ],
)
def test_the_outcome_of_a_run_is_that_of_its_exit_code(
    comparison: Comparison, status: Status, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = judged_as(comparison, tmp_path, monkeypatch)
    judge: Any = None
    assert worker._judge(JudgeOrder(EXPERIMENT, run), judge) == outcome_of(
        EXPERIMENT,
        status,
        why=why,
        headline="1 lost",
        repeat="fencepost replay",
        acted=7,
        showed=("order", "decision") if comparison.contradicted else ("order",),
        missed=comparison.missed,
        absent=comparison.absent,
    )
    control = replace(EXPERIMENT, breaks=("order",))
    of_control = worker._judge(JudgeOrder(control, run), judge)
    assert (of_control.status, of_control.absent) == (Status.AS_EXPECTED, ())
    monkeypatch.setattr(worker, "whole_but_for_skipped_steps", lambda *_: False)
    of_control = worker._judge(JudgeOrder(control, run), judge)
    assert (of_control.status, "the evidence is not whole" in of_control.why) == (Status.UNKNOWN, True)


DIED = UnplannedDeathError("writer ended on its own: killed by signal 9")
LOST, HOLDS = Comparison(False, ("lost main",), unexpected=True), Comparison(True, ("as expected: holds",))


@pytest.mark.parametrize(
    ("comparison", "breaks", "error", "status", "why"),
    [
        (LOST, (), DIED, Status.ANOMALY, f"protected: lost main; the run ended early: {DIED}"),
        (LOST, (), HungError("not finished"), Status.ANOMALY, "lost main; the run ended early: not finished"),
        (LOST, ("order",), DIED, Status.ERROR, f"{DIED}"),
        (HOLDS, (), DIED, Status.ERROR, f"{DIED}"),
        (HOLDS, (), HungError("not finished"), Status.HUNG, "not finished"),
    ],
)
def test_an_error_hides_no_anomaly_and_not_that_the_defect_acted(
    comparison: Comparison,
    breaks: tuple[str, ...],
    error: FencepostError,
    status: Status,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    experiment, judge = replace(EXPERIMENT, breaks=breaks), cast("Any", None)
    order = JudgeOrder(experiment, judged_as(comparison, tmp_path, monkeypatch), error)
    outcome = worker._judge(order, judge)
    assert (outcome.status, why in outcome.why) == (status, True), outcome.why
    assert (outcome.acted, outcome.headline, outcome.repeat) == (7, "1 lost", "fencepost replay")
    assert outcome.error == type(error).__name__


def test_a_run_of_which_nothing_can_be_judged_is_what_its_error_says(tmp_path: Path) -> None:
    judge: Any = None
    outcome = worker._judge(JudgeOrder(EXPERIMENT, tmp_path, DIED), judge)
    assert (outcome.status, outcome.why) == (Status.ERROR, str(DIED))


INTERRUPTED = """
import os, signal, sys
from contextlib import contextmanager
from pathlib import Path
from harness.experiments import worker

@contextmanager
def judging(results):
    try:
        yield
    finally:
        os.kill(os.getpid(), signal.SIGINT)
        (results / "closed").touch()

worker.judging = judging
orders, end = os.pipe()
os.close(end)
worker.main("judge", Path(sys.argv[1]), orders, os.pipe()[1])
"""


def test_a_second_interrupt_does_not_cut_the_shutdown_short(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    subprocess.run([sys.executable, "-c", INTERRUPTED, tmp_path], env=environment, capture_output=True)
    assert (tmp_path / "closed").exists()


def test_a_plan_that_was_changed_after_its_run_was_listed_is_not_counted_as_the_one_before(
    tmp_path: Path,
) -> None:
    file = tmp_path / "mine.yaml"
    text = find("bp46/truncation").read_text(encoding="utf-8")
    file.write_text(text, encoding="utf-8")
    listed = digest_of(load(file, words()))
    file.write_text(text.replace("entries: 50}", "entries: 51}", 1), encoding="utf-8")
    assert digest_of(load(file, words())) != listed
    request = RunRequest(str(file), modes=("protected",), results=tmp_path)
    result = worker._record(RecordOrder(request, tmp_path / "run", digest=listed))
    assert "was changed after this run of it was listed" in str(result.error)
    assert not (tmp_path / "run").exists()


def test_a_full_disk_ends_the_run_and_not_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "prepare", lambda *_, **__: Path("/dev/full").write_text("a file"))
    result = worker._record(sent(tmp_path / "run"))
    assert (type(result.error), str(result.error)) == (FencepostError, "the disk is full")
    assert result.error is not None and result.error.remedy.startswith("free space")
