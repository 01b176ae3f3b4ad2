"""Locks and files of recording and judging, with a judge that returns a given verdict; clients' decisions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from evidence.findings import RunVerdict, Verdict
from evidence.folder import FoundRun, RunFolder, read_json
from harness import run as spine
from harness.cleaning import is_in_use
from harness.experiments.series import check_series
from harness.judging import decisions
from harness.narrator import Narrator
from harness.preparing import Prepared
from harness.request import RunRequest
from harness.run import judge_again, run
from harness.vocabulary import words
from plans.expected.comparison import Comparison
from plans.expected.decisions import Decided, Decision
from plans.load import find, load
from protocol.errors import EvidenceError, ServerError
from reports.text import decision_lines, decision_table
from tests.unit.reports.stored_run import stored_run

QUIET = Narrator(quiet=True)


class Judging:
    """Returns the same verdict each time; records which folders are in use meanwhile."""

    def __init__(self, *busy: RunFolder) -> None:
        self.busy = busy
        self.seen: list[list[str]] = []

    def verdict(self, folder: RunFolder) -> RunVerdict:
        self.seen.append([one.mode for one in self.busy or (folder,) if is_in_use(one)])
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
    assert not any(map(is_in_use, found.modes))


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


def test_what_was_unpacked_from_a_bundle_is_judged_without_naming_files_that_go_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, judge = stored_run(tmp_path), cast("Any", Judging())
    judge_again(found, judge, Narrator(), stays=False)
    assert str(tmp_path) not in capsys.readouterr().out
    judge_again(found, judge, Narrator())
    assert f"results: {found.path}" in capsys.readouterr().out


def test_a_run_that_is_gone_or_was_never_recorded_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match=f"{tmp_path} has no mode with a run.json"):
        again(FoundRun(tmp_path, ()), Judging())


def test_a_run_without_one_of_its_judged_modes_is_not_judged_as_a_whole(tmp_path: Path) -> None:
    found = stored_run(tmp_path)
    before = (found.path / "verdict.json").read_bytes()
    (found.path / "unprotected" / "run.json").unlink()
    with pytest.raises(EvidenceError, match="has the mode unprotected, of which"):
        check_series([str(found.path)], tmp_path, quiet=True, as_json=False)
    assert (found.path / "verdict.json").read_bytes() == before


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
        run(ready, judge, Narrator())
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
        busy.append([one.mode for one in folders if is_in_use(one)])

    monkeypatch.setattr(spine, "record", recorded)
    judge: Any = Judging(*folders)
    monkeypatch.setattr(spine, "new_run", lambda *_: tmp_path / "run")
    run(Prepared(RunRequest(plan.name, results=tmp_path), plan, 7, modes, "4.18.0"), judge, QUIET)
    assert busy == judge.seen == [["protected"], ["protected", "unprotected"]]
    assert not any(map(is_in_use, folders))


RECOVER = {"step": "recover", "params": {"client": "reader", "ledger": "fig9"}, "round": 2, "began_ns": 5}
MET = Decided("fig8", "two negatives close the ledger", "ok", "ok, last entry -1", "", 1, 1, True, False)
DIFFERS = Decided(
    "fig9",
    "the recoverer cannot tell whether entry 11 was acknowledged and must not close | or must wait",
    "unknown",
    "ok, last entry 10",
    "closes",
    0,
    1,
    False,
    True,
    (1,),
)


def recorded(tmp_path: Path, *records: dict[str, Any]) -> list[Decision]:
    folder = RunFolder.create(tmp_path, "protected")
    folder.steps.write_text("".join(json.dumps(one) + "\n" for one in records))
    return list(decisions(folder))


def test_a_read_a_tail_and_an_append_tell_what_they_learned(tmp_path: Path) -> None:
    read = RECOVER | {"step": "read", "outcome": "ok", "facts": {"entries": 5, "lac": 4}}
    fenced = {"entries": 0, "lac": -1, "error": "LedgerFenced", "code": -101}
    append = RECOVER | {"step": "append", "outcome": "unknown", "facts": fenced}
    tail = RECOVER | {"step": "tail", "outcome": "ok", "facts": {"entries": 7}}
    assert [str(one) for one in recorded(tmp_path, read, tail, append)] == [
        "ok, entries 5, LAC 4",
        "ok, entries 7",
        "unknown, entries 0, LAC -1, LedgerFenced (-101)",
    ]


def test_recover_and_close_decide_and_an_open_does_not(tmp_path: Path) -> None:
    ok = RECOVER | {"outcome": "ok", "facts": {"last_entry": 10}}
    refused = RECOVER | {"outcome": "unknown", "facts": {"error": "LedgerFenced", "code": -101}}
    found = recorded(
        tmp_path,
        {"step": "named", "ledger": 0, "name": "fig9.1"},
        ok,
        refused,
        ok | {"step": "close"},
        ok | {"step": "open"},
        RECOVER | {"error": "no reply"},
    )
    assert [(one.step, one.round, str(one)) for one in found] == [
        ("recover", 2, "ok, last entry 10"),
        ("recover", 2, "unknown, LedgerFenced (-101)"),
        ("close", 2, "ok, last entry 10"),
    ]


def test_only_a_recovery_is_silent_after_a_time_out(tmp_path: Path) -> None:
    late = RECOVER | {"outcome": "unknown", "facts": {"error": "Timeout", "code": -23}}
    found = recorded(
        tmp_path, late, late | {"step": "read"}, RECOVER | {"outcome": "unknown", "facts": {"code": -10}}
    )
    assert [(one.step, one.silent) for one in found] == [
        ("recover", True),
        ("read", False),
        ("recover", False),
    ]


def test_a_run_recorded_before_there_were_rounds_has_one(tmp_path: Path) -> None:
    (one,) = recorded(tmp_path, {key: RECOVER[key] for key in RECOVER if key != "round"} | {"outcome": "ok"})
    assert (one.round, one.last_entry) == (1, None)


def test_the_table_has_a_row_for_each_decision_and_wraps_long_cells() -> None:
    lines = list(decision_lines([MET, DIFFERS]))
    assert lines[0][0].split() == ["case", "document", "decision", "difference"]
    assert "fig8  two negatives close the ledger" in lines[1][0]
    assert lines[1][0].endswith("-")
    assert all(len(text) < 140 for text, _ in lines)
    assert len(lines) == 5
    assert [style for _, style in lines] == ["dim", "", "red", "red", "red"]
    assert list(decision_lines([])) == []


def test_the_markdown_table_says_what_was_not_as_stated() -> None:
    _, _, met, differs = decision_table([MET, DIFFERS])
    assert met == "| fig8 | two negatives close the ledger | ok, last entry -1 | - | yes |"
    assert differs.endswith("| ok, last entry 10 | closes | NO |")
    assert "\\| or" in differs
