"""The outcome of one experiment. Data only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter

from harness.experiments.experiment import Experiment


class Status(StrEnum):
    """Kinds of outcomes, the worst first; all but the last two need attention."""

    ANOMALY = "anomaly"
    ERROR = "error"
    HUNG = "hung"
    UNKNOWN = "unknown"
    IMPOSSIBLE = "impossible here"
    AS_EXPECTED = "as expected"


@dataclass(frozen=True)
class Outcome:
    """One unit's run; ``name`` and ``key`` are its unit's.

    ``folder`` is the run's, relative to the folder of the night's runs, empty where none is kept. ``why`` is
    the first reason where the outcome was not as expected, ``repeat`` the command that repeats it; ``tries``
    counts the runs it took, ``took_s`` is the wall time of the last. ``acted`` is how often the run's seeded
    defects acted. ``error`` names the class of the error that ended the run early, or its judging. ``cpu_s``
    is the processor time of the last run, of the worker that recorded it and of its servers and clients;
    ``cpu_pressure`` the share of its time in which a process of the machine waited for a core. Both are None
    where they are not known.
    """

    key: str
    name: str
    scenario: str
    mode: str
    version: str
    seed: int
    came: Status
    why: str = ""
    headline: str = ""
    folder: str = ""
    repeat: str = ""
    took_s: float = 0.0
    tries: int = 1
    acted: int = 0
    error: str = ""
    cpu_s: float | None = None
    cpu_pressure: float | None = None

    def as_json(self) -> dict[str, object]:
        """A plain tree; :func:`from_json` reads it back."""
        tree: dict[str, object] = TypeAdapter(Outcome).dump_python(self, mode="json")
        return tree


def from_json(tree: object) -> Outcome:
    """The inverse of :meth:`Outcome.as_json`."""
    return TypeAdapter(Outcome).validate_python(tree)


def outcome_of(unit: Experiment, came: Status, **told: Any) -> Outcome:
    """An outcome of a unit."""
    return Outcome(unit.key, str(unit), unit.scenario, unit.mode, unit.release, unit.number, came, **told)


def counts(outcomes: Sequence[Outcome]) -> dict[Status, int]:
    """Number of outcomes of each kind, the worst first, without zeros."""
    return {came: number for came in Status if (number := sum(one.came is came for one in outcomes))}
