"""The same schedule by the loss of a process and by the loss of power."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.vocabulary import words
from plans.load import load, load_tree
from plans.models import Plan, plan_tree
from plans.sequence import dump
from protocol.errors import PlanError

VARIED = """\
vary: {loss: process}
cluster: {loss: {vary: loss}}
"""
STEPS = """\
- {kill: {target: b1, ready_timeout_s: 90}, note: the crash}
- kill: {target: zk1}
- together:
  - [kill: {target: b2}]
  - [kill: {target: writer}]
- start: {target: b1}
"""
LOST = {"disk": "all", "level": "power"}


@pytest.fixture
def load_varied(tmp_path: Path, head: str) -> Callable[..., Plan]:
    def load_it(steps: str = STEPS, **settings: object) -> Plan:
        path = tmp_path / "plan.yaml"
        path.write_text(VARIED + head + steps, encoding="utf-8")
        return load(path, words(), settings=settings)

    return load_it


def test_by_default_a_kill_is_a_kill(load_varied: Callable[..., Plan]) -> None:
    plan = load_varied()
    assert plan.steps[0].name == "kill"
    assert plan.cluster.disks is None


def test_every_kill_of_a_bookie_is_a_loss_of_its_power(load_varied: Callable[..., Plan]) -> None:
    plan = load_varied(loss="power")
    first, store, together, start = map(dump, plan.steps)
    assert first["power_loss"] == {"targets": ["b1"], "ready_timeout_s": 90.0, **LOST}
    assert first["note"] == "the crash"
    assert store["kill"]["target"] == "zk1"
    (bookie,), (client,) = together["together"]
    assert bookie["power_loss"] == {"targets": ["b2"], "ready_timeout_s": 120.0, **LOST}
    assert client["kill"]["target"] == "writer"
    assert start["start"]["target"] == "b1"
    assert plan.cluster.disks is not None


def test_the_saved_plan_says_what_was_done(load_varied: Callable[..., Plan]) -> None:
    plan = load_varied(loss="power")
    saved = plan_tree(plan)
    assert [step["power_loss"]["targets"] for step in saved["steps"] if "power_loss" in step] == [["b1"]]
    assert load_tree(saved, words()) == plan


def test_a_level_that_does_not_exist_is_named(load_varied: Callable[..., Plan]) -> None:
    with pytest.raises(PlanError, match=r"`loss` cannot be `fire`; allowed: power, process"):
        load_varied(loss="fire")


def test_a_schedule_names_its_losses_of_power_itself(load_varied: Callable[..., Plan]) -> None:
    steps = """\
- chaos:
    for_s: 5
    faults:
    - kill: {target: any-bookie}
"""
    with pytest.raises(PlanError, match="a schedule can have `power_loss` instead"):
        load_varied(steps, loss="power")
