"""``docs/series.md`` says what ``docs/series.json`` counts, of the plans as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.series.rows import PART, Row, read_rows, series_table
from bench.series.units import stated_units
from plans.load import scenarios
from reports.marks import between


@pytest.fixture(scope="module")
def rows(root: Path) -> list[Row]:
    return read_rows(root / "docs" / "series.json")


def test_the_table_is_made_of_the_counts(root: Path, rows: list[Row]) -> None:
    made = series_table(rows, stated_units())
    assert between(root / "docs" / "series.md", PART) == made, "run scripts/bench scenarios --table"


def test_every_row_counts_a_scenario_that_there_is_and_adds_up(rows: list[Row]) -> None:
    assert len({(row.key, row.plan) for row in rows}) == len(rows)
    assert {row.scenario for row in rows} <= set(scenarios())
    for row in rows:
        assert 0 <= row.as_stated + row.unknown <= row.of, row.key
        assert len(row.runs) <= row.of, row.key
        assert bool(row.wrong) == (row.as_stated < row.of), row.key
        assert all(one.shown <= one.of <= row.of for one in row.sometimes), row.key
