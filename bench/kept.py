"""The stored results of a series: one file in its results folder, consistent after every run.

Killing the bench loses the run it was at and nothing else.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evidence.folder import read_json, write_json
from harness.experiments.experiment import Experiment
from protocol.errors import UsageError
from reports.trials import Trial, from_json

STATE = "series.json"
_LOCK = ".series.lock"


class Kept:
    """The results in one folder, by the key of their unit."""

    def __init__(self, results: Path) -> None:
        self._path = results / STATE
        self._results = results
        self._units: dict[str, Any] = read_json(self._path)["units"] if self._path.exists() else {}

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep every other bench out of the folder; ``UsageError`` when one is running there."""
        self._results.mkdir(parents=True, exist_ok=True)
        with (self._results / _LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UsageError(
                    f"another series is running in {self._results}",
                    remedy="wait for it, or name another folder with --results",
                ) from None
            yield

    def has(self, unit: Experiment) -> bool:
        """Whether the unit has a result."""
        return unit.key in self._units

    def add(self, unit: Experiment, trial: Trial) -> None:
        """Keep what a unit showed; on disk when it returns."""
        self._units[unit.key] = {"version": unit.version, "trial": trial.as_json()}
        write_json(self._path, {"units": self._units})

    def drop(self, units: Iterable[Experiment]) -> int:
        """Forget these units, so that they run again; returns their number."""
        dropped = [self._units.pop(unit.key) for unit in units if self.has(unit)]
        if dropped:
            write_json(self._path, {"units": self._units})
        return len(dropped)

    def measured(self, units: Iterable[Experiment]) -> list[tuple[Experiment, Trial]]:
        """Those of these units that are kept, in their order, and what they showed."""
        return [(unit, from_json(self._units[unit.key]["trial"])) for unit in units if self.has(unit)]

    def versions(self) -> list[str]:
        """Every release that something was measured with, sorted."""
        return sorted({str(kept["version"]) for kept in self._units.values()})
