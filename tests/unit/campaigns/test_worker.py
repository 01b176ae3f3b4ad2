"""What a worker is asked, and its answer for a run that could not start; nothing is started."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import pytest

from evidence.folder import RunFolder
from harness.experiments import worker
from harness.experiments.outcomes import Status
from harness.experiments.workers import Recorders
from harness.request import RunRequest
from harness.vocabulary import words
from plans.load import find, load
from plans.models import Plan
from protocol.errors import FencepostError, IncapableError, PrerequisiteError, ServerError

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


class Pipe:
    """A stand-in for a worker: keeps what it was asked."""

    asked: dict[str, Any]

    def ask(self, asked: dict[str, Any], _timeout_s: float | None) -> dict[str, Any]:
        self.asked = json.loads(json.dumps(asked))
        return {}


def sent(request: RunRequest, run: Path | None = None, plan: Plan | None = None) -> dict[str, Any]:
    """The request as the worker reads it."""
    recorders: Any = Recorders(None, Path(), 0)
    recorders._idle.put(pipe := Pipe())
    recorders.record(request, plan=plan, run=run)
    return pipe.asked


@pytest.mark.parametrize(
    ("error", "came"),
    [
        (IncapableError("mounting needs root, this is user 1000"), Status.IMPOSSIBLE),
        (PrerequisiteError("the disk under results has 3 MB of free space"), Status.ERROR),
        (ServerError("b1 did not start", remedy="see its log"), Status.ERROR),
    ],
)
def test_only_what_the_machine_can_never_do_is_no_failure(
    error: FencepostError, came: Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(worker, "prepare", refuse)
    told = worker._record(sent(REQUEST), tmp_path)
    assert (told["folder"], told["error"]["came"], told["error"]["why"]) == ("", came, str(error))
    assert (told["error"]["remedy"], told["error"]["exit_code"]) == (error.remedy, error.exit_code)


def test_a_worker_carries_out_the_very_order_in_the_folder_that_was_made_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    carried_out: list[object] = []
    monkeypatch.setattr(worker, "prepare", lambda request: request)
    monkeypatch.setattr(worker, "record_only", lambda request, path, _: carried_out.extend((request, path)))
    run = tmp_path / "mine" / "now-1"
    assert worker._record(sent(REQUEST, run), tmp_path)["folder"] == "mine/now-1"
    assert carried_out == [REQUEST, run]


def test_a_worker_says_what_a_run_took_and_how_busy_the_machine_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = iter((100.0, 112.5))

    def record(_request: object, path: Path, _narrator: object) -> None:
        folder = RunFolder.create(path, "protected")
        folder.run_json.write_text("{}")
        folder.write_end({"complete": True, "load": {"average": 3.5, "cpu_pressure": 0.75, "cpu_s": 12.0}})

    monkeypatch.setattr(worker, "prepare", lambda request: request)
    monkeypatch.setattr(worker, "record_only", record)
    monkeypatch.setattr(worker, "cpu_s", lambda: next(spent))
    answer = worker._record(sent(REQUEST, tmp_path / "mine" / "now-1"), tmp_path)
    assert (answer["cpu_s"], answer["cpu_pressure"]) == (12.5, 0.75)


@pytest.mark.parametrize("scenario", ["bp46/truncation", "soak/kill9", "bp46/power-loss"])
def test_a_worker_runs_the_very_plan_that_it_is_given(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = load(find(scenario), words())
    run: list[object] = []
    monkeypatch.setattr(worker, "prepared", lambda request, plan: (request, plan))
    monkeypatch.setattr(worker, "record_only", lambda ready, *_: run.extend(ready))
    worker._record(sent(REQUEST, tmp_path / "mine" / "now-1", given), tmp_path)
    assert run == [REQUEST, given]
