"""``docs/coverage.md`` has every scenario, and each of its rows has a result, or says what is missing."""

import re
from pathlib import Path

from checkers.judging.judge import CHECKERS

CELL = 700
OUTCOMES = ("holds", "breaks", "sometimes", "differs", "as described", "known gap", "not shown")
NAME = re.compile(r"`((?:bp46|closing|durability|fencing|protocol|soak)/[a-z0-9-]+)`")


def rows(root: Path) -> list[list[str]]:
    """The cells of every row of a table on the page, headings left out."""
    lines = (root / "docs" / "coverage.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in cells if len(row) == 4 and row[0] != "section" and set(row[0]) != {"-"}]


def test_every_scenario_that_the_page_names_is_there(root: Path) -> None:
    named = {name for row in rows(root) for cell in row for name in NAME.findall(cell)}
    assert named
    assert sorted(name for name in named if not (root / "scenarios" / f"{name}.yaml").is_file()) == []


def test_every_scenario_there_is_stands_on_the_page(root: Path) -> None:
    named = {name for row in rows(root) for name in NAME.findall(row[2])}
    there = {f"{plan.parent.name}/{plan.stem}" for plan in (root / "scenarios").glob("*/*.yaml")}
    assert sorted(there - named) == []


def test_every_row_says_what_came_out_and_the_page_says_what_that_means(root: Path) -> None:
    page = (root / "docs" / "coverage.md").read_text()
    assert [word for word in OUTCOMES if f"| {word} |" not in page] == []
    begins = re.compile(rf"(?:[^:]*: )?\[?(?:{'|'.join(OUTCOMES)})\b")
    assert [row[2] for row in rows(root) if not begins.match(row[2])] == []


def test_every_promise_can_be_read_alone(root: Path) -> None:
    assert [row[1] for row in rows(root) if re.match(r"(?:nor|so)\b", row[1])] == []


def test_no_cell_is_an_essay(root: Path) -> None:
    assert [row[1] for row in rows(root) if max(map(len, row)) > CELL] == []


def test_every_promise_has_a_scenario_and_a_checker_or_says_what_is_missing(root: Path) -> None:
    checkers = {checker.name for checker in CHECKERS}
    for section, promise, scenarios, judges in rows(root):
        if scenarios.startswith("not shown"):
            assert len(scenarios.partition(":")[2]) > 10, (section, promise)
            continue
        assert NAME.search(scenarios) or "every " in scenarios, (section, promise)
        assert set(re.findall(r"`([a-z]+)`", judges)) & checkers, (section, promise)
        assert set(re.findall(r"`([a-z]+)`", judges)) <= checkers, (section, promise)
