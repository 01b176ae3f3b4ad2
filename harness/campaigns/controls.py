"""The controls of a scenario: the additional runs that they need, and the results of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from plans.controls import effect
from plans.models import Control, Plan

Settings = tuple[tuple[str, str], ...]


def control_runs(
    plan: Plan, varied: Callable[[Settings], Plan], own_version: str
) -> Iterator[tuple[Plan, str, Settings, tuple[str, ...]]]:
    """Plan, release, settings and modes of each control that is a release or other parameters.

    The other controls need no separate run: a mode is one of the plan's, a step is in each run.
    """
    for control in plan.control:
        settings = control_settings(control)
        if control.version is None and not settings:
            continue
        other = varied(settings) if settings else plan
        version = control.version or own_version
        modes = tuple(mode for mode in other.modes if effect(other, control, mode, version))
        yield other, version, settings, modes


def control_settings(control: Control) -> Settings:
    """The parameters that a control sets, as ``--set`` takes them."""
    return tuple((name, setting_text(value)) for name, value in (control.settings or {}).items())


def setting_text(value: object) -> str:
    """A parameter's value as ``--set`` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def control_lines(plans: Iterable[Plan], counted: Mapping[Any, tuple[int, int]]) -> Iterator[str]:
    """A line for each control: what it is, and how many of its trials were as expected.

    ``counted`` maps (scenario, mode, release, settings as text) to trials as expected and trials in all.
    """
    for plan in plans:
        for control in plan.control:
            what = f" of {control.property}" if control.property else ""
            yield f"control{what}, {plan.name}: {_came(control, plan, counted)}"


def _came(control: Control, plan: Plan, counted: Mapping[Any, tuple[int, int]]) -> str:
    if control.nothing is not None:
        return f"none, {control.nothing}"
    wanted = " ".join(f"{name}={value}" for name, value in control_settings(control))
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
