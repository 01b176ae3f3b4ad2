"""What `fencepost list` says of each scenario and each stored run in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from cli import list as listing
from cluster.releases.versions import DEFAULT_VERSION
from harness.provenance import CHECKOUT
from harness.vocabulary import words
from plans.load import load, scenarios
from protocol.modes import MODES
from tests.unit.reports.stored_run import stored_run


@pytest.fixture(scope="module", autouse=True)
def each_plan_is_loaded_once() -> Iterator[None]:
    known = cache(lambda path: load(path, words()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plans.load.load", lambda path, _: known(path))
        yield


@pytest.fixture(scope="module")
def lines() -> dict[str, str]:
    """Each scenario's line, as a pipe gets it."""
    done = CliRunner().invoke(listing.command, ["scenarios"])
    assert done.exception is None, done.output
    return {line.split()[0]: line for line in done.output.splitlines()}


def test_every_scenario_has_one_line(lines: dict[str, str]) -> None:
    assert set(lines) - set(scenarios()) == {"scenario", "time:"}
    story = lines["scenario"].index("story")
    assert {line[story - 2 : story] for name, line in lines.items() if name != "time:"} == {"  "}


def test_needs_come_from_the_plan(lines: dict[str, str]) -> None:
    assert "(needs" not in lines["bp46/truncation"]
    assert lines["bp46/disk-full"].endswith("(needs root)")
    assert lines["bp46/upgrade"].endswith("(needs BookKeeper 4.17.2)")


def test_a_time_is_that_of_the_longest_series_of_each_mode(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    row = {"scenario": "bp46/truncation", "protocol": "V3", "release": DEFAULT_VERSION, "settings": ""}
    row |= {"unit": "runs"}
    rows = [row | {"mode": mode, "of": 10, "took_s": [12.0, 13.0, 19.0]} for mode in MODES]
    rows += [row | {"mode": "journal", "of": 1, "took_s": [60.0]}]  # one run, on a busy machine
    rows += [row | {"mode": "journal", "of": 20, "protocol": "V2", "took_s": [50.0]}]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "series.json").write_text(json.dumps(rows), encoding="utf-8")
    monkeypatch.setattr(listing, "CHECKOUT", tmp_path)
    done = CliRunner().invoke(listing.command, ["scenarios"])
    times = {line.split()[0]: line for line in done.output.splitlines()}
    assert " 39 s " in times["bp46/truncation"]  # 13 s in each of three modes
    assert times["bp46/upgrade"].split()[:2] == ["bp46/upgrade", "Rolling"]  # no time: not measured


def test_a_terminal_gets_lines_of_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(listing, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    done = CliRunner().invoke(listing.command, ["scenarios"])
    assert max(map(len, done.output.splitlines())) <= 80


@pytest.mark.parametrize("left", ["{", "{}"])
def test_a_run_whose_verdict_is_damaged_does_not_hide_the_others(tmp_path: Path, left: str) -> None:
    damaged, whole = stored_run(tmp_path, seed=1), stored_run(tmp_path, seed=2)
    (damaged.path / "verdict.json").write_text(left)
    done = CliRunner().invoke(listing.command, ["runs", "--results", str(tmp_path)])
    first, second = done.output.splitlines()
    assert f"fencepost check {damaged.path}`" in first
    assert (whole.path.name in second, "as expected" in second) == (True, True)


def test_a_reader_that_has_seen_enough_is_no_failure() -> None:
    argv = [sys.executable, "-c", "from cli.main import main; main()", "list", "scenarios"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=CHECKOUT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.wait(60), process.stderr.read()) == (0, b"")


def test_what_is_to_be_listed_is_asked() -> None:
    result = CliRunner().invoke(listing.command, [])
    assert (result.exit_code, "list what? scenarios, faults, " in result.output) == (2, True)
