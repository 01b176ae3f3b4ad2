"""Documented commands that no other test executes, on a stored run."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from cli.main import fencepost
from tests.unit.reports.stored_run import stored_run


def run(*arguments: str) -> Result:
    return CliRunner().invoke(fencepost, list(arguments), standalone_mode=False)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    stored_run(tmp_path)
    monkeypatch.setenv("FENCEPOST_RESULTS", str(tmp_path))
    return tmp_path


def test_report_prints_an_issue(results: Path) -> None:
    done = run("report", "bp46/truncation", "--issue")
    assert done.stdout.startswith("# Bookie: 1 of 50 acknowledged entries lost")
    assert "In 1 of 1 stored runs of `bp46/truncation` in mode `unprotected`" in done.stdout


def test_report_opens_the_page_of_all_runs(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(click, "launch", opened.append)
    run("report", "--open")
    assert opened == [str(results / "index.html")]
    assert "bp46/truncation" in (results / "index.html").read_text()


def test_explain_shows_an_entry_and_export_a_trace(results: Path) -> None:
    life = run("explain", "bp46/truncation", "main:49").stdout
    assert "recovery read: ENOENTRY" in life
    assert life.index("mode unprotected") < life.index("mode protected"), "the order of the plan"
    assert run("export", "bp46/truncation", "--trace", "--mode", "unprotected").stdout.startswith("{")


def test_list_runs_names_a_stored_run(results: Path) -> None:
    assert "bp46/truncation" in run("list", "runs").stdout


def test_doctor_warns_of_a_setting_that_the_release_does_not_read(tmp_path: Path) -> None:
    conf = tmp_path / "bk_server.conf"
    conf.write_text("journalWriteDataa=false\n")
    done = run("doctor", "--bookie-conf", str(conf))
    assert "warn  journalWriteDataa: BookKeeper 4.18.0 does not read this key" in done.stdout
    assert "did you mean journalWriteData?" in done.stdout


def test_explore_prints_a_plan_that_can_be_loaded(tmp_path: Path) -> None:
    done = run("explore", "--seed", "7", "--show")
    plan = tmp_path / "drawn.yaml"
    plan.write_text(done.stdout)
    assert "steps:" in done.stdout
    assert run("run", str(plan), "--mode", "no-such-mode").exception is not None
