"""The controls of a scenario: the additional runs that they need, and the results of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from evidence.seeding import modified_text
from harness.experiments.experiment import Experiment, digest_of
from plans.controls import effect
from plans.defects import ordered
from plans.models import Control, Plan
from plans.resolve import with_rounds
from plans.versions import within

Settings = tuple[tuple[str, str], ...]
Counted = Mapping[tuple[str, ...], tuple[int, int]]
"""Trials as expected and trials in all, by (scenario, mode, release, settings as text)."""


@dataclass(frozen=True)
class ControlRuns:
    """What runs for one control; with a seeded ``defect`` each run must break the property ``breaks``."""

    plan: Plan
    version: str
    settings: Settings
    modes: tuple[str, ...]
    defect: str = ""
    breaks: str = ""

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

    The other controls need no separate run: a mode is one of the plan's, a step is in each run.
    """
    for control in plan.control:
        settings = control_settings(control)
        if control.defect is not None:
            if within(own_version, ordered(control.defect).releases):
                yield ControlRuns(
                    varied(()), own_version, (), plan.modes[:1], control.defect, control.property or ""
                )
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
