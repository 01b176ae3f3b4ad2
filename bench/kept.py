"""The stored results of a series: one file in its results folder, consistent after every run.

Killing the bench loses the run it was at and nothing else.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from evidence.folder import read_json, write_json
from harness.experiments.experiment import Experiment
from protocol.errors import UsageError
from reports.trials import Trial

STATE = "series.json"
_LOCK = ".series.lock"


@dataclass(frozen=True)
class Measured:
    """What one unit showed, and on which release."""

    version: str
    trial: Trial


_UNITS = TypeAdapter(dict[str, Measured])


class Kept:
    """The results in one folder, by the key of their unit."""

    def __init__(self, results: Path) -> None:
        self._path = results / STATE
        self._results = results
        stored = read_json(self._path)["units"] if self._path.exists() else {}
        self._units = _UNITS.validate_python(stored)

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
        self._units[unit.key] = Measured(unit.version, trial)
        self._write()

    def drop(self, units: Iterable[Experiment]) -> int:
        """Forget these units, so that they run again; returns their number."""
        dropped = [self._units.pop(unit.key) for unit in units if self.has(unit)]
        if dropped:
            self._write()
        return len(dropped)

    def measured(self, units: Iterable[Experiment]) -> list[tuple[Experiment, Trial]]:
        """Those of these units that are kept, in their order, and what they showed."""
        return [(unit, self._units[unit.key].trial) for unit in units if self.has(unit)]

    def versions(self) -> list[str]:
        """Every release that something was measured with, sorted."""
        return sorted({kept.version for kept in self._units.values()})

    def _write(self) -> None:
        write_json(self._path, {"units": _UNITS.dump_python(self._units)})
