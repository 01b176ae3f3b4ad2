"""What `fencepost list scenarios` says of each scenario in one line."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from cli import list as listing
from plans.load import scenarios


@pytest.fixture
def lines() -> dict[str, str]:
    """Each scenario's line, as a pipe gets it."""
    done = CliRunner().invoke(listing.command, ["scenarios"])
    assert done.exception is None, done.output
    return {line.split()[0]: line for line in done.output.splitlines()}


def test_every_scenario_has_one_line(lines: dict[str, str]) -> None:
    assert set(lines) - set(scenarios()) == {"scenario", "time:"}
    story = lines["scenario"].index("story")
    assert {line[story - 2 : story] for name, line in lines.items() if name != "time:"} == {"  "}


def test_time_and_needs_come_from_the_series_and_the_plan(lines: dict[str, str]) -> None:
    assert " 39 s " in lines["bp46/truncation"]  # 13 s in each of three modes
    assert "(needs" not in lines["bp46/truncation"]
    assert lines["bp46/disk-full"].endswith("(needs root)")
    assert lines["bp46/upgrade"].endswith("(needs BookKeeper 4.17.2)")


def test_a_terminal_gets_lines_of_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(listing, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True)))
    done = CliRunner().invoke(listing.command, ["scenarios"])
    assert max(map(len, done.output.splitlines())) <= 80
