"""The fixture of all tests that run the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.live.running import Fencepost, begun


@pytest.fixture
def fencepost(tmp_path: Path) -> Iterator[Callable[..., Fencepost]]:
    """Start ``fencepost`` with arguments; whatever is left of it at the end is killed."""
    calls: list[Fencepost] = []

    def start(*arguments: str, results: Path | None = None, stdin: int | None = None) -> Fencepost:
        calls.append(begun(*arguments, results=results or tmp_path / "results", stdin=stdin))
        return calls[-1]

    yield start
    for call in calls:
        call.end()
