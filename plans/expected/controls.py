"""The controls of a plan: what must break, so that a `holds` means something.

A control is executed and compared: it is a mode that the plan lists, a release, other values of the
plan's parameters, or a step, and what it breaks is stated under ``expect``; or a defect that is seeded in
BookKeeper, with the property that it breaks. A control that cannot run, or without a stated anomaly, is
refused here; so is a step in a plan that a run without any failure meets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from plans.expected.expectations import Breaks, Decides, Defect, Expectation
from plans.grammar.sequence import Step, StepSpec, Together
from plans.models import Control, Plan
from plans.reading.document import KeyPath, Problem
from plans.versions import within


def control_problems(plan: Plan, varied: Callable[[Mapping[str, object]], Plan]) -> Iterator[Problem]:
    """Every control that cannot run; ``varied`` loads the plan again with other values of its parameters."""
    for index, control in enumerate(plan.control):
        at: KeyPath = ("control", index) if len(plan.control) > 1 else ("control",)
        for key, text in _problems(control, plan, varied):
            yield Problem((*at, key), text)
        if control.defect is not None and control.defect in (one.defect for one in plan.control[:index]):
            text = f"the defect `{control.defect}` is a control already; one run shows one property"
            yield Problem((*at, "defect"), text)


def effect(plan: Plan, control: Control, mode: str, version: str | None = None) -> tuple[Expectation, ...]:
    """The part of the plan's expectation for ``mode`` that the control causes; empty where there is none.

    An entry counts when it holds for ``version`` (None: for any) and shows in each run: a defect that
    shows sometimes controls nothing. Of a control by ``set`` the plan has to be the one with those values.
    """
    if control.nothing is not None or control.mode not in (None, mode):
        return ()
    release = version if control.version is None else control.version
    ledger = control.ledger or (None if control.property else _ledger(plan, control))
    return tuple(
        entry
        for entry in plan.expect.get(mode, ())
        if _bites(entry, decides=control.step is not None)
        and (release is None or within(release, entry.versions))
        and ledger in (None, getattr(entry, "ledger", None))
        and control.property in (None, getattr(entry, "property", None))
    )


def _bites(entry: Expectation, *, decides: bool) -> bool:
    if isinstance(entry, Defect):
        return entry.rate == "always"
    return isinstance(entry, Breaks) or (decides and isinstance(entry, Decides))


def _problems(
    control: Control, plan: Plan, varied: Callable[[Mapping[str, object]], Plan]
) -> Iterator[tuple[str, str]]:
    what = f"`{control.property}`" if control.property else "anything"
    if control.mode is not None:
        if control.mode not in plan.modes:
            yield "mode", f"the control never runs: `{control.mode}` is not one of `modes`"
        elif not effect(plan, control, control.mode):
            yield "mode", f"nothing under `{control.mode}` states that it breaks {what} in each run"
    elif control.version is not None:
        if not any(effect(plan, control, mode) for mode in plan.modes):
            yield "version", f"no mode states that {control.version} breaks {what} in each run"
    elif control.settings is not None:
        if all(plan.vary.get(name) == value for name, value in control.settings.items()):
            yield "set", "these are the plan's own values, so nothing is different from any other run"
            return
        other = varied(control.settings)
        if not any(effect(other, control, mode) for mode in other.modes):
            yield "set", f"no mode states that these values break {what} in each run"
    elif control.step is not None:
        yield from _step_problems(control, plan)
    elif control.defect is not None and plan.required and control.property not in plan.required:
        yield "property", f"the plan does not require {what}, so the defect breaks nothing of it"


def _step_problems(control: Control, plan: Plan) -> Iterator[tuple[str, str]]:
    if _noted(plan.steps, control.step) is None:
        yield "step", f"no step has the note `{control.step}`"
        return
    where = control.ledger or (None if control.property else _ledger(plan, control))
    if where is None and control.property is None:
        yield "step", "the step names no ledger; say with `ledger` or `property` where its effect shows"
        return
    for mode in plan.modes:
        if not effect(plan, control, mode):
            on = f" on `{where}`" if where else ""
            what = f"that it breaks `{control.property}`" if control.property else "what it does"
            yield "step", f"nothing under `{mode}` states {what}{on}: a breaks, a defect or a decides"
    if all(_as_promised(entry) for mode in plan.modes for entry in plan.expect.get(mode, ())):
        yield "step", "a run in which every promise is kept meets each mode; state what breaks in each run"


def _as_promised(entry: Expectation) -> bool:
    """Whether a BookKeeper that keeps its promises meets the entry."""
    if isinstance(entry, Decides):
        return entry.outcome == "ok" and not entry.differs
    return not _bites(entry, decides=False)


def _ledger(plan: Plan, control: Control) -> str | None:
    """The ledger that a control's step names itself."""
    step = _noted(plan.steps, control.step)
    return getattr(step.params, "ledger", None) if isinstance(step, StepSpec) else None


def _noted(steps: tuple[Step, ...], note: str | None) -> Step | None:
    for step in steps:
        if step.note == note:
            return step
        if isinstance(step, Together):
            for branch in step.branches:
                if (found := _noted(branch, note)) is not None:
                    return found
    return None
