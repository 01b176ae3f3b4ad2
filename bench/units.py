"""What a series consists of: for each scenario a number of runs in each mode, and with each wire protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from cluster.versions import DEFAULT_VERSION
from harness.campaigns.listing import Settings, control_runs
from harness.experiments.experiment import V2, Experiment, digest_of
from harness.vocabulary import words
from plans.load import SCENARIOS, find, load, scenarios
from plans.models import Plan
from plans.reading.nearest import unknown
from plans.resolve import with_rounds
from protocol.errors import UsageError

QUICK_ROUNDS = 2


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
