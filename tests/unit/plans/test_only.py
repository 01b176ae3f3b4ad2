"""Parts of a plan that stand only for some values of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from plans.models import Plan
from plans.resolve import from_json, resolve
from protocol.errors import PlanError

VARIED = """\
vary: {zookeeper: prompt, v2: false}
"""
STEPS = """\
- {kill: {target: b1}, only: {zookeeper: slow}}
- {stop: {target: b2}, only: {zookeeper: slow, v2: true}}
- start: {target: b1}
"""


@pytest.fixture
def load_varied(load_text: Callable[..., Plan], head: str) -> Callable[..., Plan]:
    return lambda steps=STEPS, **settings: load_text(VARIED + head + steps, **settings)


def names(plan: Plan) -> list[str]:
    return [step.name for step in plan.steps]


@pytest.mark.parametrize(
    ("settings", "left"),
    [
        ({}, ["start"]),
        ({"zookeeper": "slow"}, ["kill", "start"]),
        ({"zookeeper": "slow", "v2": "true"}, ["kill", "stop", "start"]),
        ({"v2": True}, ["start"]),
    ],
)
def test_an_item_stands_where_all_its_values_do(
    load_varied: Callable[..., Plan], settings: dict[str, Any], left: list[str]
) -> None:
    assert names(load_varied(**settings)) == left


def test_a_resolved_plan_says_what_is_done_and_is_read_back_without_a_condition(
    load_varied: Callable[..., Plan],
) -> None:
    tree = resolve(load_varied(zookeeper="slow"), 1, "journal").as_json()
    assert "only" not in str(tree)
    assert tree["plan"]["vary"] == {"zookeeper": "slow", "v2": False}
    assert names(from_json(tree).plan) == ["kill", "start"]


def test_what_stands_behind_is_still_told_at_its_place(load_varied: Callable[..., Plan]) -> None:
    steps = STEPS + "- start: {target: b7}\n"
    line = r"plan.yaml:15:19: unknown server `b7`"
    for settings in ({}, {"zookeeper": "slow"}):
        with pytest.raises(PlanError, match=line):
            load_varied(steps, **settings)


@pytest.mark.parametrize(
    ("steps", "settings", "said"),
    [
        (STEPS, {"zookeeper": "slwo"}, "parameter `zookeeper` is one of `prompt`, `slow`, not `slwo`"),
        (
            "- {heal: {}, only: {zookeper: slow}}\n",
            {},
            "unknown parameter `zookeper`; did you mean `zookeeper`",
        ),
        ("- {heal: {}, only: slow}\n", {}, "`only` maps parameters of the plan"),
        ("- {heal: {}, only: {}}\n", {}, "`only` maps parameters of the plan"),
    ],
)
def test_mistakes_are_told(
    load_varied: Callable[..., Plan], steps: str, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(PlanError, match=said):
        load_varied(steps, **settings)
