"""Parameters of a plan: defaults, settings, parts that stand only for some values, and levels of loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.vocabulary import words
from plans.grammar.sequence import StepSpec, dump
from plans.grammar.steps import Elapsed, Start
from plans.load import find, load, load_tree, scenarios
from plans.models import Plan, plan_tree
from plans.reading.document import everything, parse_file
from plans.resolve import from_json, resolve
from protocol.errors import PlanError
from tests.unit.plans.small import HEAD

VARIED = """\
vary: {for_s: 60, quick: false, release: "4.18.0", rate: 1.5}
"""
STEPS = """\
- wait_for: {condition: elapsed, for_s: {vary: for_s}}
- start: {target: b1, version: {vary: release}}
- {heal: {}, at_s: {vary: rate}}
"""


@pytest.fixture
def load_varied(load_text: Callable[..., Plan]) -> Callable[..., Plan]:
    return lambda **settings: load_text(VARIED + HEAD + STEPS, **settings)


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
    ("settings", "message"),
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
def test_a_wrong_setting(load_varied: Callable[..., Plan], settings: dict[str, object], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        load_varied(**settings)


def test_a_setting_for_a_plan_without_parameters(load_steps: Callable[..., Plan]) -> None:
    with pytest.raises(PlanError, match=r"plan.yaml:1:1: unknown parameter `for_s`; allowed: none"):
        load_steps("- heal: {}", for_s=3)


CHOICE = """\
vary: {zookeeper: prompt, v2: false}
"""
CHOSEN = """\
- {kill: {target: b1}, only: {zookeeper: slow}}
- {stop: {target: b2}, only: {zookeeper: slow, v2: true}}
- start: {target: b1}
"""


@pytest.fixture
def load_chosen(load_text: Callable[..., Plan]) -> Callable[..., Plan]:
    return lambda steps=CHOSEN, **settings: load_text(CHOICE + HEAD + steps, **settings)


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
    load_chosen: Callable[..., Plan], settings: dict[str, Any], left: list[str]
) -> None:
    assert names(load_chosen(**settings)) == left


def test_a_resolved_plan_says_what_is_done_and_is_read_back_without_a_condition(
    load_chosen: Callable[..., Plan],
) -> None:
    tree = resolve(load_chosen(zookeeper="slow"), 1, "journal").as_json()
    assert "only" not in str(tree)
    assert tree["plan"]["vary"] == {"zookeeper": "slow", "v2": False}
    assert names(from_json(tree).plan) == ["kill", "start"]


def test_what_stands_behind_is_still_told_at_its_place(load_chosen: Callable[..., Plan]) -> None:
    steps = CHOSEN + "- start: {target: b7}\n"
    line = r"plan.yaml:15:19: unknown server `b7`"
    for settings in ({}, {"zookeeper": "slow"}):
        with pytest.raises(PlanError, match=line):
            load_chosen(steps, **settings)


@pytest.mark.parametrize(
    ("steps", "settings", "message"),
    [
        (CHOSEN, {"zookeeper": "slwo"}, "parameter `zookeeper` is one of `prompt`, `slow`, not `slwo`"),
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
    load_chosen: Callable[..., Plan], steps: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(PlanError, match=message):
        load_chosen(steps, **settings)


LOSS = """\
vary: {loss: process}
cluster: {loss: {vary: loss}}
"""
KILLS = """\
- {kill: {target: b1, ready_timeout_s: 90}, note: the crash}
- kill: {target: zk1}
- together:
  - [kill: {target: b2}]
  - [kill: {target: writer}]
- start: {target: b1}
"""
LOST = {"disk": "all", "level": "power"}


@pytest.fixture
def load_lossy(tmp_path: Path) -> Callable[..., Plan]:
    def load_it(steps: str = KILLS, **settings: object) -> Plan:
        path = tmp_path / "plan.yaml"
        path.write_text(LOSS + HEAD + steps, encoding="utf-8")
        return load(path, words(), settings=settings)

    return load_it


def test_by_default_a_kill_is_a_kill(load_lossy: Callable[..., Plan]) -> None:
    plan = load_lossy()
    assert plan.steps[0].name == "kill"
    assert plan.cluster.disks is None


def test_every_kill_of_a_bookie_is_a_loss_of_its_power(load_lossy: Callable[..., Plan]) -> None:
    plan = load_lossy(loss="power")
    first, store, together, start = map(dump, plan.steps)
    assert first["power_loss"] == {"targets": ["b1"], "ready_timeout_s": 90.0, **LOST}
    assert first["note"] == "the crash"
    assert store["kill"]["target"] == "zk1"
    (bookie,), (client,) = together["together"]
    assert bookie["power_loss"] == {"targets": ["b2"], "ready_timeout_s": 120.0, **LOST}
    assert client["kill"]["target"] == "writer"
    assert start["start"]["target"] == "b1"
    assert plan.cluster.disks is not None


def test_the_saved_plan_says_what_was_done(load_lossy: Callable[..., Plan]) -> None:
    plan = load_lossy(loss="power")
    saved = plan_tree(plan)
    assert [step["power_loss"]["targets"] for step in saved["steps"] if "power_loss" in step] == [["b1"]]
    assert load_tree(saved, words()) == plan


def test_a_level_that_does_not_exist_is_named(load_lossy: Callable[..., Plan]) -> None:
    with pytest.raises(PlanError, match=r"`loss` cannot be `fire`; allowed: power, process"):
        load_lossy(loss="fire")


def test_a_schedule_names_its_losses_of_power_itself(load_lossy: Callable[..., Plan]) -> None:
    steps = """\
- chaos:
    for_s: 5
    faults:
    - kill: {target: any-bookie}
"""
    with pytest.raises(PlanError, match="a schedule can have `power_loss` instead"):
        load_lossy(steps, loss="power")


PLANS = {name: parse_file(find(name)) for name in scenarios()}
CASES = sorted(
    {
        (name, parameter, value)
        for name, plan in PLANS.items()
        for _, part in everything(plan.tree)
        if isinstance(part, dict) and isinstance(part.get("only"), dict)
        for parameter, value in part["only"].items()
    }
    | {
        (name, "loss", "power")
        for name, plan in PLANS.items()
        if any(part == {"vary": "loss"} for _, part in everything(plan.tree))
    },
    key=str,
)


@pytest.mark.parametrize(("name", "parameter", "value"), CASES)
def test_a_value_that_decides_something_makes_a_plan(name: str, parameter: str, value: object) -> None:
    load(find(name), words(), settings={parameter: value})
