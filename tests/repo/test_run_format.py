"""The page on the format is held against the code: layouts, columns, codes; its readers are run."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from evidence import codes, collection, folder
from evidence.codes import Kind, Outcome
from evidence.raw import history, wirelog
from evidence.schemas import TABLES
from tests.histories.simulator import simulated
from tests.spark.rawfolder import Story, make
from tests.spark.storedruns import rows_of, stored

LAYOUTS = (
    history.HEADER,
    history.INVOKED,
    history.COMPLETED,
    wirelog.HEADER,
    wirelog.RECORD,
)
ROW = re.compile(r"^\| (\d+) \| `(\w+)` \| `([^`]+)` \| .+ \|$")


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs" / "run-format.md").read_text()


def layouts(page: str) -> list[list[tuple[int, str, str]]]:
    """The page's binary tables, one after the other."""
    found: list[list[tuple[int, str, str]]] = []
    for line in page.splitlines():
        if line.startswith("| offset |"):
            found.append([])
        elif row := ROW.match(line):
            found[-1].append((int(row[1]), row[2], row[3]))
    return found


def described(layout: np.dtype) -> list[tuple[int, str, str]]:
    """The same of one layout of the code."""
    assert layout.names and layout.fields
    fields = [(name, *layout.fields[name][:2]) for name in layout.names]
    return [(int(at), name, kind.str.lstrip("|")) for name, kind, at in fields]


def test_the_binary_layouts_are_those_of_the_code(page: str) -> None:
    assert layouts(page) == [described(layout) for layout in LAYOUTS]


def test_the_columns_are_those_of_the_schemas(page: str) -> None:
    for name, schema in TABLES.items():
        (line,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` | `")]
        result = re.findall(r"`(\w+)` (\w+)", line.removeprefix(f"| `{name}` | "))
        assert [column for column, _ in result] == schema.names, name
        kinds = {column: str(schema.field(column).type) for column in schema.names}
        assert all(kind in (kinds[column], "list") for column, kind in result), name


def test_the_codes_are_those_of_the_code(page: str) -> None:
    for name in re.findall(r"^\| `([A-Z]\w+)` \|", page, flags=re.M):
        (line,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        results = {(int(number), word) for number, word in re.findall(r"(-?\d+) ([A-Z_]+)", line)}
        assert results == {(int(code), code.name) for code in getattr(codes, name)}, name


def test_the_versions_are_those_of_the_code(page: str) -> None:
    result = re.findall(r"^\| [a-z ]+ \| .+ \| (\d+) \|$", page, flags=re.M)
    versions = (folder.FORMAT, history.VERSION, wirelog.VERSION, collection.FORMAT)
    assert [int(version) for version in result] == list(versions)


def readers(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page, flags=re.S)


def output(program: str, argument: Path) -> list[list[str]]:
    """The output of a program of the page, run without this project on its path."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(argument)], capture_output=True, text=True, check=True
    )
    return [line.split() for line in done.stdout.splitlines()]


def test_the_readers_have_ten_lines_and_nothing_of_ours(page: str) -> None:
    for program in readers(page):
        assert len([line for line in program.splitlines() if line.strip()]) <= 10
        assert "evidence" not in program and "pipeline" not in program


def test_the_first_reader_reads_a_recorded_history_and_sees_a_torn_slot(page: str, tmp_path: Path) -> None:
    recorded = make(tmp_path, Story({7: 20}))
    history = recorded.operations / "writer-001-000001.hist"
    program = readers(page)[0]
    lines = output(program, history)
    assert Counter(line[2] for line in lines) == {str(int(Kind.ADD)): 20, "1": 1, "3": 1}
    assert {line[-1] for line in lines} == {str(int(Outcome.OK))}
    with history.open("r+b") as file:
        file.seek(128 * 5 + 17)
        file.write(b"\xff")
    assert [line[0] for line in output(program, history) if line[1] == "torn"] == [str(2**40 + 5)]


def test_the_second_reader_counts_acknowledged_adds(page: str, tmp_path: Path) -> None:
    recorded = stored(tmp_path / "run", simulated(7, contest=1.0))
    adds = [row for name, row in rows_of(recorded)[0] if name == "operations" and row["kind"] == Kind.ADD]
    acked = Counter(str(row["ledger"]) for row in adds if row["outcome"] == Outcome.OK)
    assert {line[0]: int(line[1]) for line in output(readers(page)[1], recorded.path)} == acked
