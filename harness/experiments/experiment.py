"""One experiment, which is a scenario in one mode with one seed, and its outcome.

Its key names everything that a result depends on, the plan included, so that what was measured
with another plan is never counted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, Field

from evidence.collection import code_stamp
from harness.request import RunRequest
from plans.models import Plan, plan_tree
from plans.reading.document import Tree

DECISION = "decision"
V2 = "v2"
"""The parameter by which a plan lets its clients speak the second version of the wire protocol."""
_OF_NO_EFFECT = ("about", "alone", "control", "series", "source", "title")
_LATER: Mapping[str, object] = {"zookeeper": "prompt", "loss": "process", "cures": [], "zk2": []}
"""Parameters that plans gained after they were measured: with this value a plan keeps its digest."""


@dataclass(frozen=True)
class Experiment:
    """One run of a scenario in one mode on one release."""

    scenario: str
    mode: str
    version: str
    settings: tuple[tuple[str, str], ...]
    rounds: int
    number: int
    """Counts from 1, and is the seed."""
    digest: str
    """Of the plan (``digest_of``)."""
    file: str = ""
    """The plan's path where it is no scenario of the repository."""
    defects: tuple[str, ...] = ()
    """Seeded in its BookKeeper (:mod:`plans.defects`)."""
    modified: str = ""
    """What its own plan changes in BookKeeper, as reports write it after the release."""
    breaks: tuple[str, ...] = ()
    """Of a control: the properties that the defects must break."""
    alone: bool = False
    """Whether nothing else may run at the same time."""

    @property
    def protocol(self) -> str:
        """V2 or V3, that of its clients."""
        return "V2" if (V2, "true") in self.settings else "V3"

    @property
    def release(self) -> str:
        """Its release, with what its plan changes in it."""
        return f"{self.version}{self.modified}"

    @property
    def key(self) -> str:
        """Identifies the stored outcome; that of a control also names the properties that it must break."""
        return " ".join([f"{self} {self.digest}", *self.breaks])

    def __str__(self) -> str:
        settings = "".join(f" {name}={value}" for name, value in self.settings)
        rounds = f" rounds={self.rounds}" if self.rounds > 1 else ""
        defects = "".join(f" defect={defect}" for defect in self.defects)
        return f"{self.scenario} {self.mode} {self.release}{settings}{rounds}{defects} #{self.number}"

    def request(self, results: Path) -> RunRequest:
        """The same as a request of ``fencepost run``."""
        return RunRequest(
            scenario=self.file or self.scenario,
            modes=(self.mode,),
            seed=self.number,
            version=self.version,
            results=results,
            settings=self.settings,
            rounds=self.rounds,
            seed_defects=self.defects,
        )


def digest_of(plan: Plan) -> str:
    """A short name for all of a plan that a result depends on."""
    tree = {key: value for key, value in plan_tree(plan).items() if key not in _OF_NO_EFFECT}
    if "vary" in tree:
        tree["vary"] = _measured(plan.vary)
    tree["cluster"] = _measured(tree["cluster"])
    tree["expect"] = {mode: [_compared(entry) for entry in stated] for mode, stated in tree["expect"].items()}
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:16]


def _measured(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if _LATER.get(name) != value}


def _compared(entry: Tree | str) -> Tree | str:
    """An expectation as a run is compared with it: the page that a decision refers to is only printed."""
    if isinstance(entry, dict) and "decides" in entry:
        return {"decides": {name: value for name, value in entry["decides"].items() if name != "reference"}}
    return entry


class Status(StrEnum):
    """Kinds of outcomes, the worst first; all but the last two need attention."""

    ANOMALY = "anomaly"
    ERROR = "error"
    HUNG = "hung"
    UNKNOWN = "unknown"
    IMPOSSIBLE = "impossible here"
    AS_EXPECTED = "as expected"


@dataclass(frozen=True)
class Earlier:
    """An inconclusive run of an experiment that was run again: its folder, as in the outcome, and why."""

    folder: str
    why: str


@dataclass(frozen=True)
class Outcome:
    """The outcome of an experiment; ``key`` and ``name`` are the experiment's."""

    key: str
    name: str
    scenario: str
    mode: str
    version: str
    seed: int
    # Files that were written before 2026-11-27 call it ``came``.
    status: Annotated[Status, Field(validation_alias=AliasChoices("status", "came"))]
    why: str = ""
    """The first reason, where the outcome was not as expected."""
    headline: str = ""
    folder: str = ""
    """The run's, relative to the folder of all runs; empty where none is kept."""
    repeat: str = ""
    """The command that repeats it."""
    took_s: float = 0.0
    """Wall time of the last run."""
    tries: int = 1
    """Number of runs that it took."""
    earlier: tuple[Earlier, ...] = ()
    """Those before the last; empty in outcomes stored before there was this field."""
    acted: int = 0
    """How often the seeded defects had an effect."""
    error: str = ""
    """Class of the error that ended the run or its judging early."""
    cpu_s: float | None = None
    """Processor time of the last run: the worker that recorded it, servers and clients. None if not known."""
    cpu_pressure: float | None = None
    """Share of the time in which a process of the machine waited for a core. None if not known."""
    judged_by: str = ""
    """Checksum of the code that judges (``code_stamp``); empty in outcomes stored before there was one."""
    showed: tuple[str, ...] = ()
    """Properties with an anomaly that nothing states; ``decision`` where a decision or a figure differed."""
    missed: bool = False
    """Whether a run that is ``unknown`` proves that what had to break did not."""
    absent: tuple[str, ...] = ()
    """Defects that the plan states as ``sometimes`` and that did not show."""


def outcome_of(unit: Experiment, status: Status, **fields: Any) -> Outcome:
    """An outcome of a unit."""
    what = unit.key, str(unit), unit.scenario, unit.mode, unit.release, unit.number, status
    return Outcome(*what, judged_by=code_stamp(), **fields)


def judged_by_other_code(outcomes: Sequence[Outcome]) -> int:
    """Number of outcomes that other code judged: it may have missed what this code finds."""
    return sum(one.judged_by != code_stamp() for one in outcomes)


def counts(outcomes: Sequence[Outcome]) -> dict[Status, int]:
    """Number of outcomes of each kind, the worst first, without zeros."""
    return {status: number for status in Status if (number := sum(one.status is status for one in outcomes))}
