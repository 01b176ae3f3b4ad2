"""Scenarios of a document carried out together in one mode, each of which must come out as stated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tests.live.running import LAST, Fencepost, not_as_stated, runs_in

Start = Callable[..., Fencepost]


def as_stated(
    fencepost: Start, names: Sequence[str], mode: str, *more: str, document: str = "bp46"
) -> tuple[Fencepost, dict[str, dict[str, Any]]]:
    """The run, and the verdict of each of the scenarios ``names`` by its name; ``more`` are arguments."""
    run = fencepost("run", *(f"{document}/{name}" for name in names), "--mode", mode, *more, "--json")
    run.look()
    code, text = run.finish()
    found = runs_in(text)
    assert (code, not_as_stated(found)) == (0, {}), text[-LAST:]
    runs = {one["scenario"].removeprefix(f"{document}/"): one["modes"][mode] for one in found}
    assert tuple(runs) == tuple(names)
    return run, runs
