"""``docs/series.md`` says what ``docs/series.json`` counts, of the plans as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.series.rows import PART, Row, read_rows, series_table
from bench.series.units import stated_units
from cluster.releases.versions import DEFAULT_VERSION
from harness.experiments.experiment import Experiment
from harness.vocabulary import words
from plans.expected.expectations import Defect
from plans.load import find, load, scenarios
from reports.marks import between


@pytest.fixture(scope="module")
def rows(root: Path) -> list[Row]:
    return read_rows(root / "docs" / "series.json")


@pytest.fixture(scope="module")
def units() -> list[Experiment]:
    return stated_units()


@pytest.fixture(scope="module")
def present(rows: list[Row], units: list[Experiment]) -> list[Row]:
    """The rows of the plans as they are, on the default release."""
    digests = {unit.digest for unit in units}
    ours = (row for row in rows if row.plan in digests and not row.settings)
    return [row for row in ours if row.release == DEFAULT_VERSION]


def test_the_table_is_made_of_the_counts(root: Path, rows: list[Row], units: list[Experiment]) -> None:
    made = series_table(rows, units)
    assert between(root / "docs" / "series.md", PART) == made, "run scripts/bench scenarios --table"


def test_no_two_rates_of_the_table_look_like_the_same_measurement(
    rows: list[Row], units: list[Experiment]
) -> None:
    lines = series_table(rows, units)
    rates = lines[lines.index("| scenario | with | defect | shown | rate |") + 2 :]
    rates = [line.rsplit(" | ", 2)[0] for line in rates[: rates.index("")]]
    assert len(rates) > 50
    assert len(rates) == len(set(rates))


def test_every_row_counts_a_scenario_that_there_is_and_adds_up(rows: list[Row]) -> None:
    assert len({(row.key, row.plan) for row in rows}) == len(rows)
    assert {row.scenario for row in rows} <= set(scenarios())
    for row in rows:
        assert 0 <= row.as_stated + row.unknown <= row.of, row.key
        assert len(row.runs) <= row.of, row.key
        assert bool(row.wrong) == (row.as_stated < row.of), row.key
        assert all(one.shown <= one.of <= row.of for one in row.sometimes), row.key


def test_the_front_page_counts_the_trials_of_the_series(root: Path, present: list[Row]) -> None:
    """Its figures may also have runs from before the series, so they are at least as high."""
    table = re.findall(
        r"^\|.*\| [a-z ]*(\d+) of \1 [^|]*\| (.+?) \| `fencepost run ([\w/-]+)`",
        (root / "README.md").read_text(),
        re.M,
    )
    assert len(table) > 10
    for figure, modes, scenario in table:
        trials = [row for row in present if row.scenario == scenario]
        shown = sum(row.as_stated for row in trials if modes == "all" or f"`{row.mode}`" in modes)
        assert shown <= int(figure), scenario


def showing(row: Row) -> int:
    """In how many of its trials the defects of its plan showed."""
    stated = load(find(row.scenario), words()).expect.get(row.mode, ())
    rates = {one.rate for one in stated if isinstance(one, Defect)}
    shown = [one.shown for one in row.sometimes] if rates == {"sometimes"} else []
    return max(shown, default=row.as_stated)


def test_a_head_that_names_the_series_has_its_trials(root: Path, present: list[Row]) -> None:
    """A finding that did not show in each trial has to name it."""
    named = []
    for page in sorted((root / "docs" / "findings").glob("*.md")):
        head = page.read_text().split("\n## ")[0]
        scenario = re.search(r"\*\*Reproduce\*\* \| `fencepost run ([\w/-]+)", head)
        releases = re.search(r"\*\*Releases\*\* \| (.*) \|", head)
        if scenario and releases:
            modes = re.findall(r"`(unprotected|protected|journal|nosync)`", releases[1])
            trials = [row for row in present if row.scenario == scenario[1]]
            trials = [row for row in trials if not modes or row.mode in modes]
            shown, of = sum(map(showing, trials)), sum(row.as_stated for row in trials)
            stated = re.search(r"(\d+) of (\d+)[\w ]* in the \[series\]", releases[1])
            named += [page.stem] * bool(stated)
            assert stated is not None or shown == of, f"{page}: {shown} of {of}"
            assert stated is None or (int(stated[1]), int(stated[2])) == (shown, of), page
    assert len(named) > 5
