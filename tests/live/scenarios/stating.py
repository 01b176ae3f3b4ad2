"""Scenarios of a document carried out together in one mode, each of which must come out as stated.

Each scenario stands in one test. Quick are those with a fault, a checker or a way to boot that no other
quick one has; the rest is marked ``long``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.live.running import Fencepost, assert_as_stated

Start = Callable[..., Fencepost]


def as_stated(
    fencepost: Start, names: Sequence[str], mode: str, *more: str, document: str = "bp46"
) -> tuple[Fencepost, dict[str, dict[str, Any]]]:
    """The run, and the verdict of each of the scenarios ``names`` by its name; ``more`` are arguments."""
    run = fencepost("run", *(f"{document}/{name}" for name in names), "--mode", mode, *more, "--json")
    run.look()
    found = assert_as_stated(*run.finish())
    runs = {one["scenario"].removeprefix(f"{document}/"): one["modes"][mode] for one in found}
    assert tuple(runs) == tuple(names)
    return run, runs
