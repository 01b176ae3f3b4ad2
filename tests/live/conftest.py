"""The fixture of all tests that run the command line, and the order of the files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.running import Fencepost, Start, begun

LONGEST = (
    "test_interrupted_runs.py",
    "test_local_cluster.py",
    "test_lost_fence.py",
    "test_disks.py",
    "test_exploring.py",
    "test_storage_faults.py",
    "test_versions.py",
    "test_soak.py",
    "test_documents.py",
    "test_loads.py",
    "test_truncation.py",
)
"""Files that begin first, so that no worker is left alone with one of them at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


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
