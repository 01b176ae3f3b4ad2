"""The fixture of all tests that run the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.running import Fencepost, Start, begun, no_spark


@pytest.fixture
def without_spark() -> Iterator[None]:
    """Runs of this test are judged without Spark; for tests that are not about how runs are judged."""
    with no_spark():
        yield


@pytest.fixture
def fencepost(tmp_path: Path) -> Iterator[Start]:
    """Start ``fencepost`` with arguments; whatever is left of it at the end is killed.

    An argument of several lines is the text of a file, which it is given the name of.
    """
    calls: list[Fencepost] = []

    def named(argument: str) -> str:
        if "\n" not in argument:
            return argument
        (file := tmp_path / f"given-{len(calls)}.yaml").write_text(argument)
        return str(file)

    def start(*arguments: str, results: Path | None = None, stdin: int | None = None) -> Fencepost:
        where = results or tmp_path / "results"
        calls.append(begun(*map(named, arguments), results=where, stdin=stdin))
        return calls[-1]

    yield start
    for call in calls:
        call.end()
