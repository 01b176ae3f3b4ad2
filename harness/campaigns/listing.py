"""The content of a campaign: its runs as units, in the order of execution."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from cluster.versions import DEFAULT_VERSION
from harness.campaigns.controls import Settings, control_runs, modified, setting_text
from harness.experiments.experiment import Experiment, digest_of
from harness.vocabulary import offered_faults, words
from plans.campaign import Campaign, Runs
from plans.exploring.generate import GenerateOptions, generate
from plans.exploring.profile import DEFAULT, load_profile
from plans.load import find, load
from plans.matrix import cells, plan_of
from plans.models import Plan
from plans.reading.writing import plan_text
from plans.resolve import with_rounds
from protocol.errors import UsageError


def units_of(campaign: Campaign, *, plans: Path, version: str | None = None) -> list[Experiment]:
    """Every run, each once: the first seed of all before the second of any.

    The plans of a matrix and those that are drawn are written into the folder ``plans``. ``version`` goes
    before those of the file. ``UsageError`` when nothing is left, for instance because no plan has the mode.
    """
    listed = (unit for runs in campaign.runs for unit in _of(runs, version))
    found = dict.fromkeys([*listed, *_written(campaign, plans, version)])
    if not found:
        raise UsageError(
            f"the campaign {campaign.name} has no run", remedy="look at its scenarios, modes and `without`"
        )
    return sorted(found, key=lambda unit: unit.number)


def shard(units: list[Experiment], number: int, of: int) -> list[Experiment]:
    """Part ``number`` (from 1) of ``of`` parts; together they are all units, and none is in two."""
    return units[number - 1 :: of]


def _of(runs: Runs, version: str | None) -> Iterator[Experiment]:
    for name in runs.names():
        plan = load(find(name), words())
        for settings in _settings(plan, runs):
            varied = load(find(name), words(), settings=dict(settings)) if settings else plan
            rounds = runs.rounds or varied.rounds
            digest = digest_of(with_rounds(varied, rounds))
            own = plan.cluster.version or DEFAULT_VERSION
            versions = (version,) if version else runs.versions or (own,)
            modes = [mode for mode in plan.modes if not runs.modes or mode in runs.modes]
            for release, mode, seed in product(versions, modes, range(1, runs.seeds + 1)):
                yield Experiment(
                    *(name, mode, release, settings, rounds, seed, digest),
                    modified=modified(varied),
                    alone=plan.alone,
                )
        if runs.controls and not runs.settings and not runs.versions:
            yield from _controls(plan, runs, version)


def _controls(plan: Plan, runs: Runs, version: str | None) -> Iterator[Experiment]:
    """The controls that need a separate run, unless the user's release replaces theirs."""

    def varied(settings: Settings) -> Plan:
        return load(find(plan.name), words(), settings=dict(settings))

    own = version or plan.cluster.version or DEFAULT_VERSION
    for control in control_runs(plan, varied, own):
        if version not in (None, control.version):
            continue
        asked = [mode for mode in control.modes if not runs.modes or mode in runs.modes]
        for mode, seed in product(asked, range(1, runs.seeds + 1)):
            yield control.experiment(mode, seed, runs.rounds or control.plan.rounds)


def _written(campaign: Campaign, plans: Path, version: str | None) -> Iterator[Experiment]:
    for name, seed, text in (*_of_matrix(campaign), *_drawn(campaign, version)):
        plans.mkdir(parents=True, exist_ok=True)
        file = plans / f"{name}.yaml"
        file.write_text(text, encoding="utf-8")
        plan = load(file, words())
        release = version or plan.cluster.version or DEFAULT_VERSION
        for mode in plan.modes:
            yield Experiment(plan.name, mode, release, (), 1, seed, digest_of(plan), str(file))


def _of_matrix(campaign: Campaign) -> Iterator[tuple[str, int, str]]:
    for cell in cells(campaign.matrix) if campaign.matrix else ():
        yield cell.name, 1, plan_text(plan_of(cell))


def _drawn(campaign: Campaign, version: str | None) -> Iterator[tuple[str, int, str]]:
    asked = campaign.explore
    if asked is None:
        return
    profile = load_profile(asked.profile or DEFAULT)
    options = GenerateOptions(offered_faults(), version=version)
    for seed in range(asked.first_seed, asked.first_seed + asked.runs):
        yield f"{profile.name}-{seed}", seed, plan_text(generate(profile, seed, options))


def _settings(plan: Plan, runs: Runs) -> list[Settings]:
    """Every combination of the values of those parameters that the plan has."""
    known = {name: values for name, values in runs.settings.items() if name in plan.vary}
    return [
        tuple((name, setting_text(value)) for name, value in zip(known, values, strict=True))
        for values in product(*known.values())
    ]
