"""Locks and files of recording and judging, with a judge that returns a given verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evidence.findings import RunVerdict, Verdict
from evidence.folder import FoundRun, RunFolder, read_json
from harness import run as spine
from harness.cleaning import is_at_work
from harness.narrator import Narrator
from harness.preparing import Prepared
from harness.request import RunRequest
from harness.run import judge_again, run
from harness.vocabulary import words
from plans.comparison import Comparison
from plans.load import find, load
from protocol.errors import ServerError
from tests.unit.reports.stored_run import stored_run

QUIET = Narrator(quiet=True)


class Judging:
    """Returns the same verdict each time; records which folders are in use meanwhile."""

    def __init__(self, *busy: RunFolder) -> None:
        self.busy = busy
        self.seen: list[list[str]] = []

    def verdict(self, folder: RunFolder) -> RunVerdict:
        self.seen.append([one.mode for one in self.busy or (folder,) if is_at_work(one)])
        return RunVerdict("bp46/truncation", folder.mode, Verdict.UNKNOWN, "judged again", {})


@pytest.fixture(autouse=True)
def _stated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spine, "compare_with_plan", lambda *_: Comparison(False, ("because",)))


def again(found: FoundRun, judge: Any) -> None:
    judge_again(found, judge, QUIET)


def test_a_run_is_at_work_while_it_is_judged_and_not_afterwards(tmp_path: Path) -> None:
    found = stored_run(tmp_path)
    judge = Judging(*found.modes)
    again(found, judge)
    assert judge.seen == [["protected"], ["protected", "unprotected"]]
    assert not any(map(is_at_work, found.modes))


@pytest.mark.parametrize("modes", [("protected",), ("protected", "unprotected")])
def test_the_whole_run_says_what_was_judged_last(tmp_path: Path, modes: tuple[str, ...]) -> None:
    found = stored_run(tmp_path, modes=modes)
    again(found, Judging())
    whole = read_json(found.path / "verdict.json")
    assert (whole["met"], set(whole["modes"])) == (False, set(modes))
    assert "judged again" in (found.path / "summary.md").read_text()
    assert (found.path / "report.html").exists()


def test_one_mode_of_several_says_nothing_of_the_whole_run(tmp_path: Path) -> None:
    found = stored_run(tmp_path)
    before = read_json(found.path / "verdict.json")
    again(FoundRun(found.path, found.modes[:1]), Judging())
    assert read_json(found.path / "verdict.json") == before


@pytest.mark.parametrize("recorded", [True, False])
def test_only_what_was_recorded_is_offered_to_be_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], recorded: bool
) -> None:
    def ends_early(_: object, folder: RunFolder, *__: object) -> None:
        if recorded:
            folder.write_run({})
        raise ServerError("b1 did not start")

    monkeypatch.setattr(spine, "record", ends_early)
    plan = load(find("bp46/truncation"), words())
    ready = Prepared(RunRequest(scenario=plan.name, results=tmp_path), plan, 7, ("protected",), "4.18.0")
    judge: Any = Judging()
    with pytest.raises(ServerError):
        run(ready, judge, Narrator(), path=tmp_path / "run")
    assert ("what was recorded can be judged" in capsys.readouterr().out) == recorded


def test_a_run_is_at_work_from_its_recording_to_its_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = stored_run(tmp_path / "other").modes[0].run()
    plan = load(find("bp46/truncation"), words())
    modes = ("protected", "unprotected")
    folders = [RunFolder(tmp_path / "run" / mode) for mode in modes]
    busy: list[list[str]] = []

    def recorded(_: object, folder: RunFolder, *__: object) -> None:
        folder.write_run({**facts, "mode": folder.mode})
        busy.append([one.mode for one in folders if is_at_work(one)])

    monkeypatch.setattr(spine, "record", recorded)
    judge: Any = Judging(*folders)
    request = RunRequest(scenario=plan.name, results=tmp_path)
    run(Prepared(request, plan, 7, modes, "4.18.0"), judge, QUIET, path=tmp_path / "run")
    assert busy == judge.seen == [["protected"], ["protected", "unprotected"]]
    assert not any(map(is_at_work, folders))
