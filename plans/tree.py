"""A plan as a plain tree, in the shape that a YAML plan has, ready for JSON.

:func:`plans.load.load_tree` reads it back. Defaults are written out, so that a saved plan means
the same when a default changes.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from plans.expectations import Expectation, Holds
from plans.models import Plan, Step, StepSpec, Timing, Together
from plans.steps import Chaos, Load


def plan_tree(plan: Plan) -> dict[str, Any]:
    """The plan as a tree of plain values, as ``run.json`` keeps it."""
    tree = dump(plan, leave=("steps", "expect", "control"))
    controls = [dump(control) for control in plan.control]
    tree["control"] = controls[0] if len(controls) == 1 else controls
    tree["steps"] = [step_tree(step) for step in plan.steps]
    tree["expect"] = {
        mode: [_expectation_tree(entry) for entry in stated] for mode, stated in plan.expect.items()
    }
    return tree


def step_tree(step: Step) -> dict[str, Any]:
    """One step: its name with its parameters, and when it begins."""
    if isinstance(step, Together):
        branches = [[step_tree(inner) for inner in branch] for branch in step.branches]
        return {"together": branches, **_timing(step)}
    outcome = {} if step.outcome == "ok" else {"outcome": step.outcome}
    return {step.name: _params(step), **_timing(step), **outcome}


def dump(model: BaseModel, *, leave: tuple[str, ...] = ()) -> dict[str, Any]:
    """A model's fields under the names that plans use, without fields that are None."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=set(leave))


def _params(step: StepSpec) -> dict[str, Any]:
    params = step.params
    if isinstance(params, Load):
        return dump(params, leave=("params",)) | dump(params.params)
    if isinstance(params, Chaos):
        faults = [{fault.name: dump(fault.params)} for fault in params.faults]
        return dump(params, leave=("faults",)) | {"faults": faults}
    return dump(params)


def _timing(step: Timing) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    if step.at_s is not None:
        tree["at_s"] = step.at_s
    if step.when is not None:
        tree["when"] = {step.when.condition: dump(step.when, leave=("condition",))}
    if step.note:
        tree["note"] = step.note
    return tree


def _expectation_tree(entry: Expectation) -> Any:
    if isinstance(entry, Holds) and not entry.versions:
        return "holds"
    return {entry.says: dump(entry)}
