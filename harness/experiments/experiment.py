"""One experiment: a scenario in one mode with one seed. Series and campaigns consist of experiments.

Its key names everything that a result depends on, the plan included, so that what was measured
with another plan is never counted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.request import RunRequest
from plans.models import Plan, plan_tree

V2 = "v2"
"""The parameter by which a plan lets its clients speak the second version of the wire protocol."""
_OF_NO_EFFECT = ("about", "alone", "control", "series", "source", "title")
_LATER: Mapping[str, object] = {"zookeeper": "prompt", "loss": "process", "cures": []}
"""Parameters that plans got when they had been measured, with the value for which they are what they were."""


@dataclass(frozen=True)
class Experiment:
    """One run; ``number`` counts from 1 and is its seed.

    ``file`` is where its plan lies when that is no scenario of the repository; ``defects`` are seeded in its
    BookKeeper (:mod:`plans.defects`); of a control, ``breaks`` is the property that they must break.
    ``modified`` is what its own plan changes in BookKeeper, as reports put it after the release, or empty.
    Nothing runs beside it when it is to run ``alone``.
    """

    scenario: str
    mode: str
    version: str
    settings: tuple[tuple[str, str], ...]
    rounds: int
    number: int
    digest: str
    file: str = ""
    defects: tuple[str, ...] = ()
    modified: str = ""
    breaks: str = ""
    alone: bool = False

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
        """What the kept result is found by."""
        return f"{self} {self.digest}"

    def __str__(self) -> str:
        settings = "".join(f" {name}={value}" for name, value in self.settings)
        rounds = f" rounds={self.rounds}" if self.rounds > 1 else ""
        defects = "".join(f" defect={defect}" for defect in self.defects)
        return f"{self.scenario} {self.mode} {self.release}{settings}{rounds}{defects} #{self.number}"

    def request(self, results: Path) -> RunRequest:
        """The same as an order of ``fencepost run``."""
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
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:16]


def _measured(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if _LATER.get(name) != value}
