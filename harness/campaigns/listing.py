"""The content of a campaign: its runs in the order of execution, with the runs of controls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from hashlib import sha256
from itertools import product
from operator import attrgetter
from pathlib import Path

from cluster.releases.versions import DEFAULT_VERSION
from evidence.folder import write_text
from evidence.seeding import modified_text
from harness.experiments.experiment import Experiment, digest_of
from harness.vocabulary import offered_faults, words
from plans.campaign import Campaign, Runs
from plans.defects import ordered
from plans.expected.controls import effect
from plans.expected.expectations import applicable, shows_defect
from plans.exploring.generate import GenerateOptions, generate
from plans.exploring.profile import DEFAULT, load_profile
from plans.load import find, load
from plans.matrix import cells, plan_of
from plans.models import Control, Plan
from plans.reading.nearest import unknown
from plans.reading.writing import plan_text
from plans.resolve import with_rounds
from plans.versions import within
from protocol.errors import UsageError

Settings = tuple[tuple[str, str], ...]
Counted = Mapping[tuple[str, ...], tuple[int, int]]
"""Trials as expected and trials in all, by (scenario, mode, release, settings as text)."""


def units_of(campaign: Campaign, *, plans: Path, version: str | None = None) -> list[Experiment]:
    """Every run, each once: the first seed of all before the second of any, and the runs of an entry by mode.

    So runs of one scenario, which wait at the same moments, are seldom made side by side. The plans of a
    matrix and drawn plans are written into the folder ``plans``. ``version`` goes before the releases of the
    file. ``UsageError`` when nothing is left, for instance because no plan has the mode.
    """
    listed = (unit for runs in campaign.runs for unit in sorted(_of(runs, version), key=attrgetter("mode")))
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
    plans = {name: load(find(name), words()) for name in runs.names()}
    varied = {
        name: {
            settings: load(find(name), words(), settings=dict(settings)) if settings else plan
            for settings in _settings(plan, runs)
        }
        for name, plan in plans.items()
    }
    there = {
        name for name, each in varied.items() if any(any(_asked(one, runs, version)) for one in each.values())
    }
    _require_runs(runs, plans, there)
    for name, plan in plans.items():
        for settings, one in varied[name].items():
            rounds = runs.rounds or one.rounds
            digest = digest_of(with_rounds(one, rounds))
            for (release, mode), seed in product(_asked(one, runs, version), range(1, runs.seeds + 1)):
                yield Experiment(
                    *(name, mode, release, settings, rounds, seed, digest),
                    modified=modified(one),
                    alone=plan.alone,
                )
        if name in there and runs.controls and not runs.settings and not runs.versions:
            yield from _controls(plan, runs, version)


def _asked(plan: Plan, runs: Runs, version: str | None) -> Iterator[tuple[str, str]]:
    """The releases and modes that the entry asks for."""
    own = plan.cluster.version or DEFAULT_VERSION
    for release, mode in product((version,) if version else runs.versions or (own,), plan.modes):
        stated = applicable(plan.expect, mode, release)
        known = "only" if any(map(shows_defect, stated)) else "without"
        if (not runs.modes or mode in runs.modes) and runs.known_defects in ("also", known):
            yield release, mode


def _require_runs(runs: Runs, plans: Mapping[str, Plan], there: Collection[str]) -> None:
    """``UsageError`` for a part of an entry that gives no run: the campaign would pass without it."""
    parameters = {name for plan in plans.values() for name in plan.vary}
    for name in runs.settings:
        if name not in parameters:
            raise UsageError(
                f"no scenario of the entry has it: {unknown('parameter', name, parameters)}",
                remedy="`vary` of a scenario has its parameters",
            )
    for wanted in runs.scenarios:
        if not any(fnmatchcase(name, wanted) for name in there):
            modes = f" in mode {', '.join(runs.modes)}" if runs.modes else ""
            raise UsageError(
                f"`{wanted}` gives no run{modes}",
                remedy="leave it out, or look at `modes`, `without` and `known_defects`",
            )


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
    shapes = cells(campaign.matrix) if campaign.matrix else ()
    matrix = ((cell.name, 1, plan_text(plan_of(cell))) for cell in shapes)
    for name, seed, text in (*matrix, *_drawn(campaign, version)):
        plans.mkdir(parents=True, exist_ok=True)
        # A campaign in progress may read another plan of this name, drawn for another release.
        file = plans / f"{name}-{sha256(text.encode()).hexdigest()[:16]}.yaml"
        write_text(file, text)
        plan = load(file, words())
        release = version or plan.cluster.version or DEFAULT_VERSION
        for mode in plan.modes:
            yield Experiment(plan.name, mode, release, (), 1, seed, digest_of(plan), str(file))


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


@dataclass(frozen=True)
class ControlRuns:
    """What runs for one control; with a seeded ``defect`` each run must break all of ``breaks``."""

    plan: Plan
    version: str
    settings: Settings
    modes: tuple[str, ...]
    defect: str = ""
    breaks: tuple[str, ...] = ()

    def experiment(self, mode: str, number: int, rounds: int, settings: Settings = ()) -> Experiment:
        """One of its runs, with ``settings`` besides its own; with a defect of one round."""
        rounds = 1 if self.defect else rounds
        return Experiment(
            scenario=self.plan.name,
            mode=mode,
            version=self.version,
            settings=settings + self.settings,
            rounds=rounds,
            number=number,
            digest=digest_of(with_rounds(self.plan, rounds)),
            defects=tuple(filter(None, [self.defect])),
            modified=modified(self.plan),
            breaks=self.breaks,
            alone=self.plan.alone,
        )


def control_runs(plan: Plan, varied: Callable[[Settings], Plan], own_version: str) -> Iterator[ControlRuns]:
    """Each control that is a release, other parameters or a seeded defect; of a defect the first mode.

    Controls by one defect are one run, which must break the property of each.
    The other controls need no separate run: a mode is one of the plan's, a step is in each run.
    """
    for control in plan.control:
        settings = control_settings(control)
        if control.defect is not None:
            if within(own_version, ordered(control.defect).releases):
                same = (one for one in plan.control if one.defect == control.defect)
                breaks = tuple(one.property for one in same if one.property)
                yield ControlRuns(varied(()), own_version, (), plan.modes[:1], control.defect, breaks)
        elif control.version is not None or settings:
            other = varied(settings)
            version = control.version or own_version
            modes = tuple(mode for mode in other.modes if effect(other, control, mode, version))
            yield ControlRuns(other, version, settings, modes)


def modified(plan: Plan) -> str:
    """What a plan changes in its BookKeeper, as reports put it after the release."""
    return modified_text(
        {"cluster": {"seed_defects": plan.cluster.seed_defects, "cures": plan.cluster.cures}}
    )


def control_settings(control: Control) -> Settings:
    """The parameters that a control sets, as ``--set`` takes them."""
    return tuple((name, setting_text(value)) for name, value in (control.settings or {}).items())


def setting_text(value: object) -> str:
    """A parameter's value as ``--set`` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def control_lines(plans: Iterable[Plan], counted: Counted) -> Iterator[str]:
    """A line for each control: what it is, and how many of its trials were as expected."""
    for plan in plans:
        for control in plan.control:
            what = f" of {control.property}" if control.property else ""
            yield f"control{what}, {plan.name}: {_came(control, plan, counted)}"


def _came(control: Control, plan: Plan, counted: Counted) -> str:
    if control.nothing is not None:
        return f"none, {control.nothing}"
    defect = [f"defect={control.defect}"] if control.defect else []
    wanted = " ".join([*(f"{name}={value}" for name, value in control_settings(control)), *defect])
    found = [
        counts
        for (scenario, mode, release, settings), counts in counted.items()
        if (scenario, settings) == (plan.name, wanted)
        and control.mode in (None, mode)
        and control.version in (None, release)
    ]
    named = (
        (control.mode and f"mode {control.mode}")
        or (control.version and f"BookKeeper {control.version}")
        or (f"step {control.step!r}" if control.step else wanted)
    )
    if not found:
        return f"{named}, not run"
    return f"{named}, {sum(one for one, _ in found)} of {sum(of for _, of in found)} as expected"
