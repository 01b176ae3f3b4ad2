"""Faults of messages in plans: their names, what is refused, and what chaos makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.vocabulary import words
from plans.grammar.sequence import Together
from plans.resolve import from_json, resolve
from protocol.errors import PlanError
from tests.unit.plans.small import plan_of


def test_a_named_fault_is_awaited_and_released(tmp_path: Path) -> None:
    plan = plan_of(
        tmp_path,
        "hold: {from: writer, to: b1, way: answers, kinds: [add], statuses: [EFENCED], as: late}",
        "wait_for: {condition: acted, fault: late, times: 2}",
        "{release: {fault: late}, when: {acted: {fault: late, times: 3}}}",
        "drop: {from: reader, to: b3, ledger: main, entries: [0, 9], may_idle: true}",
    )
    again = from_json(json.loads(json.dumps(resolve(plan, 1, "protected").as_json())), words())
    assert again.plan.steps == plan.steps


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        (["release: {fault: late}"], "unknown name of a fault `late`"),
        (
            ["drop: {from: writer, to: b1, as: early}", "wait_for: {condition: acted, fault: earli}"],
            "did you mean `early`",
        ),
        (
            [
                "drop: {from: writer, to: b1, as: late}",
                "delay: {from: writer, to: b1, delay_ms: 1, as: late}",
            ],
            "the fault `late` is already made by an earlier step",
        ),
        (["drop: {from: writer, to: b1, ledger: mian}"], "did you mean `main`"),
        (["drop: {from: writer, to: b9}"], "unknown bookie `b9`"),
        (["drop: {from: writer, to: b1, kinds: add}"], "`kinds` must be a list"),
        (["drop: {from: writer, to: b1, kind: [add]}"], "did you mean `kinds`"),
        (["delay: {from: writer, to: b1}"], "`delay_ms` is missing"),
        (
            ["forge: {from: writer, to: b1, kinds: [add], status: EFENCE}"],
            "unknown status `EFENCE`; did you mean `EFENCED`",
        ),
        (["drop: {from: writer, to: b1, way: both}"], "`way` cannot be `both`"),
    ],
)
def test_mistakes_are_told_with_what_is_allowed(tmp_path: Path, steps: list[str], message: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan_of(tmp_path, *steps)
    assert message in str(caught.value)


CHAOS = (
    "chaos: {for_s: 60, every_s: [1, 2], restart_after_s: [0.5, 3], "
    "faults: [{drop: {from: any-client, to: any-bookie, probability: 0.1%s}}]}"
)


def test_in_chaos_message_faults_are_drawn_and_may_idle(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, CHAOS % "")
    block: Any = resolve(plan, 5, "protected").plan.steps[1]
    assert isinstance(block, Together)
    drops = [step.params for step in block.branches[0] if getattr(step, "name", "") == "drop"]
    heals = [step.params for step in block.branches[0] if getattr(step, "name", "") == "heal"]
    assert len(drops) == len(heals) > 10
    assert all(drop.may_idle for drop in drops)
    assert {drop.source for drop in drops} == {"writer", "reader"}
    assert {drop.destination for drop in drops} == {"b1", "b2", "b3"}
    assert {heal.kind for heal in heals} == {"drop"}


def test_in_chaos_a_plan_may_insist_and_gives_no_names(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, CHAOS % ", may_idle: false")
    block: Any = resolve(plan, 5, "protected").plan.steps[1]
    assert not any(step.params.may_idle for step in block.branches[0] if step.name == "drop")
    with pytest.raises(PlanError, match="a fault inside chaos cannot have a name"):
        plan_of(tmp_path, CHAOS % ", as: often")
