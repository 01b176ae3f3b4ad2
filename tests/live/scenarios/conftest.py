"""Scenarios of a document, run together in one mode; each result must be as expected.

Each scenario is in one test, in a quick form: once, in one mode. ``scripts/bench scenarios`` runs the series
with their bounds. Scenarios with a fault, a checker or a kind of boot that no other quick scenario has are
quick; the rest is marked ``long``. A row such as ``protected replay repair`` is a mode and its scenarios.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.live.running import Start, assert_as_stated

Stated = Callable[..., dict[str, dict[str, Any]]]
"""Takes a row, the document and more options; returns each verdict by the scenario's name."""


@pytest.fixture
def stated(fencepost: Start, without_spark: None) -> Stated:
    def run(row: str, *options: str, document: str = "bp46") -> dict[str, dict[str, Any]]:
        mode, *names = row.split()
        call = fencepost("run", *(f"{document}/{name}" for name in names), "--mode", mode, *options, "--json")
        call.look()
        found = assert_as_stated(*call.finish())
        call.assert_nothing_left()
        runs = {
            one["scenario"].removeprefix(f"{document}/"): one["modes"][mode]
            | {"folder": Path(one["folder"]) / mode}
            for one in found
        }
        assert list(runs) == names
        return runs

    return run
