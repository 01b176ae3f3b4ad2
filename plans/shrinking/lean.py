"""A plan as the tree that a person would write: what stands at its default is left out."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from plans.conditions import Condition, Elapsed
from plans.models import Plan, Step, Together
from plans.steps import Load

Tree = dict[str, Any]


def lean_tree(plan: Plan) -> Tree:
    """The plan but what it states (``expect``, ``control``) and how it is varied."""
    leave = {"steps", "expect", "control", "vary", "series"}
    tree = plan.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude_defaults=True, exclude=leave
    )
    return {**tree, "steps": [_step(step) for step in plan.steps]}


def _step(step: Step) -> Tree:
    tree: Tree
    if isinstance(step, Together):
        tree = {"together": [[_step(inner) for inner in branch] for branch in step.branches]}
    else:
        tree = {step.name: _params(step.params)}
        if step.outcome != "ok":
            tree["outcome"] = step.outcome
    if step.at_s is not None:
        tree["at_s"] = step.at_s
    if step.when is not None:
        tree["when"] = {step.when.condition: _lean(step.when, "condition")}
    if step.note:
        tree["note"] = step.note
    return tree


def _params(params: BaseModel) -> Tree:
    if isinstance(params, Load):
        return {**_lean(params, "params"), **_lean(params.params)}
    if isinstance(params, Condition | Elapsed):
        return {"condition": params.condition, **_lean(params, "condition")}
    return _lean(params)


def _lean(model: BaseModel, *leave: str) -> Tree:
    return model.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude_defaults=True, exclude=set(leave)
    )
