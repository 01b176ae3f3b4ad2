"""The commands of the bench that make the table of series, or refuse: exit codes and what they print."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from bench.__main__ import bench
from bench.series import scenarios
from bench.series.rows import rows_of, write_rows
from bench.series.units import stated_units
from harness.experiments.experiment import Experiment
from tests.unit.bench.test_scenario_series import BEGIN, END, stated

all_units = cache(stated_units)


@pytest.fixture
def listed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs of all scenarios, which every table needs, are listed once for all tests: it takes seconds."""

    def listed(**asked: Any) -> list[Experiment]:
        return stated_units(**asked) if any(asked.values()) else all_units()

    monkeypatch.setattr(scenarios, "stated_units", listed)


@pytest.mark.usefixtures("listed_once")
def test_the_command_makes_the_table_of_what_is_kept(tmp_path: Path) -> None:
    document = tmp_path / "series.md"
    document.write_text(f"{BEGIN}\n{END}\n")
    arguments = ["--table", "--results", str(tmp_path / "results"), "--document", str(document)]
    for more in ([], ["--protocol", "V3", "--only", "bp46/truncation"]):
        result = CliRunner().invoke(scenarios.command, [*arguments, *more])
        assert (result.exit_code, result.output.splitlines()[3][:12]) == (3, "| scenario |")
        assert "control, bp46/truncation: mode unprotected, not run" in result.output
        assert result.output.endswith("nothing was measured: none of these runs has a result\n")


@pytest.mark.usefixtures("listed_once")
@pytest.mark.parametrize(("as_stated", "code"), [(1, 0), (0, 4)])
def test_a_row_of_the_document_that_was_not_as_expected_is_no_success(
    as_stated: int, code: int, tmp_path: Path
) -> None:
    """Its runs are counted in the document, and nothing of them is kept in the folder."""
    document, name = tmp_path / "series.md", "bp46/truncation"
    document.write_text(f"{BEGIN}\n{END}\n")
    units = stated_units(only=[name])
    trials = [(unit, stated(unit, as_stated=as_stated * unit.rounds, why="late")) for unit in units]
    write_rows(document.with_suffix(".json"), rows_of(trials))
    arguments = ["--table", "--only", name, "--results", str(tmp_path / "kept"), "--document", str(document)]
    assert CliRunner().invoke(scenarios.command, arguments).exit_code == code


@pytest.mark.parametrize("mistake", [["--again"], ["--only", "bp46/truncatoin"]])
def test_wrong_usage_of_the_command_has_its_exit_code(mistake: list[str], tmp_path: Path) -> None:
    result = CliRunner().invoke(bench, ["scenarios", *mistake, "--results", str(tmp_path)])
    assert (result.exit_code, result.output[:6]) == (2, "Error:")


def test_a_run_that_fails_is_an_error_and_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.__main__.subprocess.run", lambda *_, **__: SimpleNamespace(returncode=3))
    result = CliRunner().invoke(bench, ["run", "--times", "2"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "fencepost run bp46/truncation ended with exit code 3: its time says nothing" in result.stderr
