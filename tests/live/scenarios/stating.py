"""Scenarios of a document, run together in one mode; each result must be as expected.

Each scenario is in one test. Scenarios with a fault, a checker or a kind of boot that no other quick
scenario has are quick; the rest is marked ``long``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.live.running import Fencepost, Start, assert_as_stated


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
