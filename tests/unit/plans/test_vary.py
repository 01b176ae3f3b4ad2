"""Parameters of a plan: defaults, settings by a caller, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from plans.models import Plan
from plans.sequence import StepSpec
from plans.steps import Elapsed, Start
from protocol.errors import PlanError

VARIED = """\
vary: {for_s: 60, quick: false, release: "4.18.0", rate: 1.5}
"""
STEPS = """\
- wait_for: {condition: elapsed, for_s: {vary: for_s}}
- start: {target: b1, version: {vary: release}}
- {heal: {}, at_s: {vary: rate}}
"""


@pytest.fixture
def load_varied(load_text: Callable[..., Plan], head: str) -> Callable[..., Plan]:
    return lambda **settings: load_text(VARIED + head + STEPS, **settings)


def values(plan: Plan) -> list[Any]:
    waited, started, healed = plan.steps
    assert isinstance(waited, StepSpec)
    assert isinstance(waited.params, Elapsed)
    assert isinstance(started, StepSpec)
    assert isinstance(started.params, Start)
    return [waited.params.for_s, started.params.version, healed.at_s]


def test_the_defaults_stand_for_their_names(load_varied: Callable[..., Plan]) -> None:
    assert values(load_varied()) == [60, "4.18.0", 1.5]


def test_a_setting_goes_before_the_default_with_its_type(load_varied: Callable[..., Plan]) -> None:
    plan = load_varied(for_s="20.5", release="4.15.0", rate=3, quick="true")
    assert values(plan) == [20.5, "4.15.0", 3]
    assert plan.vary == {"for_s": 20.5, "quick": True, "release": "4.15.0", "rate": 3}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"fors": 3}, r"plan.yaml:1:7: unknown parameter `fors`; did you mean `for_s`\? Allowed: for_s"),
        ({"for_s": "long"}, "plan.yaml:1:15: parameter `for_s` must be a number as 60 is, not `long`"),
        ({"for_s": True}, "plan.yaml:1:15: parameter `for_s` must be a number as 60 is, not `True`"),
        ({"for_s": "nan"}, "plan.yaml:1:15: parameter `for_s` must be a number as 60 is, not `nan`"),
        ({"quick": "yes"}, "plan.yaml:1:26: parameter `quick` must be true or false, not `yes`"),
        ({"for_s": -1}, r"plan.yaml:12:41: `for_s` is -1, but it should be greater than 0"),
        ({"release": "new"}, "plan.yaml:13:32: `new` is no release number such as 4.18.0"),
    ],
)
def test_a_wrong_setting(load_varied: Callable[..., Plan], settings: dict[str, object], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        load_varied(**settings)


def test_a_setting_for_a_plan_without_parameters(load_steps: Callable[..., Plan]) -> None:
    with pytest.raises(PlanError, match=r"plan.yaml:1:1: unknown parameter `for_s`; allowed: none"):
        load_steps("- heal: {}", for_s=3)
