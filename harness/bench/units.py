"""What a series consists of: for each scenario so many runs in each mode, and with each wire protocol.

A unit is one run in one mode. Its key names everything that a result depends on, the plan
included, so that what was measured with another plan is never counted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.versions import DEFAULT_VERSION
from harness.order import Order
from harness.vocabulary import loads, words
from plans.load import SCENARIOS, find, load, scenarios
from plans.models import Plan
from plans.nearest import unknown
from plans.resolve import with_rounds
from plans.tree import plan_tree
from protocol.errors import UsageError

V2 = "v2"
"""The parameter by which a plan lets its clients speak the second version of the wire protocol."""
QUICK_ROUNDS = 2
_OF_NO_EFFECT = ("about", "series", "source")


@dataclass(frozen=True)
class Unit:
    """One run to carry out; ``number`` counts from 1 and is its seed."""

    scenario: str
    mode: str
    version: str
    settings: tuple[tuple[str, str], ...]
    rounds: int
    number: int
    digest: str

    @property
    def key(self) -> str:
        """What the kept result is found by."""
        return f"{self} {self.digest}"

    def __str__(self) -> str:
        settings = "".join(f" {name}={value}" for name, value in self.settings)
        rounds = f" rounds={self.rounds}" if self.rounds > 1 else ""
        return f"{self.scenario} {self.mode} {self.version}{settings}{rounds} #{self.number}"

    def order(self, results: Path) -> Order:
        """As ``fencepost run`` would be told."""
        return Order(
            scenario=self.scenario,
            modes=(self.mode,),
            seed=self.number,
            version=self.version,
            results=results,
            settings=self.settings,
            rounds=self.rounds,
        )


def stated_units(
    *, only: Sequence[str] = (), versions: Sequence[str] = (), quick: bool = False, root: Path = SCENARIOS
) -> list[Unit]:
    """Every run that the scenarios' ``series`` ask for; ``UsageError`` for a scenario that states none.

    ``quick`` is one run of at most two rounds for each. Without ``versions`` each plan's own release.
    """
    names = scenarios(root)
    for name in only:
        if name not in names:
            raise UsageError(unknown("scenario", name, names))
    return [
        unit for name in only or names for unit in _of_scenario(name, versions, quick, root, asked=bool(only))
    ]


def _of_scenario(
    name: str, versions: Sequence[str], quick: bool, root: Path, *, asked: bool
) -> Iterator[Unit]:
    plan = load(find(name, root=root), words(), workloads=loads())
    if plan.series is None:
        if asked:
            raise UsageError(
                f"the scenario {name} states no series",
                remedy="add `series: {rounds: 20}` or `series: {times: 10}` to it",
            )
        return
    rounds = min(plan.series.rounds, QUICK_ROUNDS) if quick else plan.series.rounds
    times = 1 if quick else plan.series.times
    for settings in _protocols(plan):
        varied = load(find(name, root=root), words(), workloads=loads(), settings=dict(settings))
        digest = _digest(with_rounds(varied, rounds))
        for version in versions or (plan.cluster.version or DEFAULT_VERSION,):
            for mode in plan.modes:
                for number in range(1, times + 1):
                    yield Unit(name, mode, version, settings, rounds, number, digest)


def _protocols(plan: Plan) -> tuple[tuple[tuple[str, str], ...], ...]:
    return (((V2, "false"),), ((V2, "true"),)) if V2 in plan.vary else ((),)


def _digest(plan: Plan) -> str:
    """A short name for all of a plan that a result depends on."""
    tree = {key: value for key, value in plan_tree(plan).items() if key not in _OF_NO_EFFECT}
    return hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()[:16]
