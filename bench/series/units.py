"""What a series consists of (for each scenario runs in each mode, with each wire protocol), and what is done.

The stored results are one file in the series' folder, consistent after every run: killing the bench loses the
run it was at and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from cluster.releases.versions import DEFAULT_VERSION
from evidence.folder import read_json, write_json
from harness.campaigns.listing import Settings, control_runs
from harness.experiments.experiment import V2, Experiment, digest_of
from harness.experiments.store import alone
from harness.vocabulary import words
from plans.load import SCENARIOS, find, load, scenarios
from plans.models import Plan
from plans.reading.nearest import unknown
from plans.resolve import with_rounds
from protocol.errors import UsageError
from reports.trials import Trial

QUICK_ROUNDS = 2
STATE = "series.json"
_LOCK = ".series.lock"


def stated_units(
    *,
    only: Sequence[str] = (),
    versions: Sequence[str] = (),
    protocol: str | None = None,
    quick: bool = False,
    root: Path = SCENARIOS,
) -> list[Experiment]:
    """Every run that the scenarios' ``series`` ask for, controls included, each once.

    Raises ``UsageError`` for a scenario that states no series.

    ``quick`` is one run of at most two rounds for each. Without ``versions`` each plan's own release,
    without ``protocol`` (V2, V3) both.
    """
    names = scenarios(root)
    for name in only:
        if name not in names:
            raise UsageError(unknown("scenario", name, names))
    listed = (
        unit
        for name in only or names
        for unit in _of_scenario(name, versions, quick, root, asked=bool(only))
        if protocol in (None, unit.protocol)
    )
    return list(dict.fromkeys(listed))


def _of_scenario(
    name: str, versions: Sequence[str], quick: bool, root: Path, *, asked: bool
) -> Iterator[Experiment]:
    plan = load(find(name, root=root), words())
    if plan.series is None:
        if asked:
            raise UsageError(
                f"the scenario {name} states no series",
                remedy="add `series: {rounds: 20}` or `series: {times: 10}` to it",
            )
        return
    rounds = min(plan.series.rounds, QUICK_ROUNDS) if quick else plan.series.rounds
    times = 1 if quick else plan.series.times

    def varied(settings: Settings) -> Plan:
        return load(find(name, root=root), words(), settings=dict(settings))

    def units(one: Plan, version: str, settings: Settings, modes: Sequence[str]) -> Iterator[Experiment]:
        digest = digest_of(with_rounds(one, rounds))
        for mode in modes:
            for number in range(1, times + 1):
                yield Experiment(name, mode, version, settings, rounds, number, digest, alone=plan.alone)

    own = plan.cluster.version or DEFAULT_VERSION
    for settings in _protocols(plan):
        one = varied(settings)
        for version in versions or (own,):
            yield from units(one, version, settings, plan.modes)
    first = _protocols(plan)[0]
    for version in versions or (own,):
        for control in control_runs(plan, lambda more: varied(first + more), version):
            if not versions or control.version in versions:
                for mode in control.modes:
                    yield from (control.experiment(mode, one, rounds, first) for one in range(1, times + 1))


def _protocols(plan: Plan) -> tuple[Settings, ...]:
    return (((V2, "false"),), ((V2, "true"),)) if V2 in plan.vary else ((),)


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

    def alone(self) -> AbstractContextManager[None]:
        """Keep every other bench out of the folder; ``UsageError`` when one is running there."""
        self._results.mkdir(parents=True, exist_ok=True)
        running = f"another series is running in {self._results}"
        return alone(
            self._results / _LOCK, running, remedy="wait for it, or name another folder with --results"
        )

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
