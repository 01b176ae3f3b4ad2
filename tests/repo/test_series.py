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


def test_a_page_says_in_how_many_trials_of_the_series_its_defect_did_not_show(
    root: Path, present: list[Row]
) -> None:
    """Where all that the plan states is ``sometimes``, and some trials of a mode had none of it."""
    rare = set()
    for row in present:
        plan = load(find(row.scenario), words())
        stated = [one for one in plan.expect.get(row.mode, ()) if isinstance(one, Defect)]
        best = max(row.sometimes, key=lambda one: one.shown, default=None)
        if best and best.shown < best.of and {one.rate for one in stated} == {"sometimes"}:
            rare.add((stated[0].reference, row.scenario))
    heads = {name: (root / page).read_text() for page, name in rare if page.startswith("docs/findings/")}
    heads = {name: head for name, head in heads.items() if f"Reproduce** | `fencepost run {name}" in head}
    assert len(heads) > 3
    for name, head in heads.items():
        found = re.search(r"\*\*Releases\*\* .*?(\d+) of (\d+) in the \[series\]", head)
        assert found, name
        assert int(found[1]) < int(found[2]), name
