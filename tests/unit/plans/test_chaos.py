"""Chaos becomes the same timed steps for the same seed, within its limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plans.grammar.sequence import StepSpec, Together, dump
from plans.models import Plan
from plans.resolve import ResolvedPlan, resolve
from protocol.errors import PlanError
from tests.unit.plans.small import HEAD

seeds = st.integers(0, 2**63 - 1)
any_time = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)

KILLS = """\
- chaos:
    for_s: 60
    every_s: [1, 3]
    restart_after_s: [2, 8]
    at_most_down: 2
    faults: [{kill: {target: any-bookie}}, {pause: {target: any-client}}]
"""
MIXED = """\
- chaos:
    for_s: 60
    every_s: [0.5, 2]
    restart_after_s: [1, 6]
    faults:
      - kill: {target: any-bookie}
      - cut: {from: any-client, to: any-bookie}
      - slow: {from: any-bookie, to: any-bookie}
      - isolate: {target: any-bookie}
"""
OPENS = {"kill": "down", "pause": "down", "stop": "down", "cut": "link", "slow": "link", "isolate": "island"}


def timed(resolved: ResolvedPlan) -> tuple[StepSpec, ...]:
    """The sequence of faults and their ends of a plan that is one chaos."""
    (block,) = resolved.plan.steps
    assert isinstance(block, Together)
    return tuple(step for step in block.branches[0] if isinstance(step, StepSpec))


def params(step: StepSpec) -> dict[str, Any]:
    tree: dict[str, Any] = dump(step)[step.name]
    return tree


def aim(step: StepSpec) -> str:
    tree = params(step)
    return str(tree.get("target") or f"{tree['from']}-{tree['to']}")


@any_time
@given(seeds)
def test_the_same_seed_gives_the_same_steps(load_steps: Callable[..., Plan], seed: int) -> None:
    plan = load_steps(KILLS)
    assert resolve(plan, seed, "protected") == resolve(plan, seed, "protected")


def test_another_seed_gives_other_steps(load_steps: Callable[..., Plan]) -> None:
    plan = load_steps(KILLS)
    assert len({str(timed(resolve(plan, seed, "protected"))) for seed in range(20)}) == 20


def test_what_a_seed_draws_never_changes(load_steps: Callable[..., Plan]) -> None:
    steps = timed(resolve(load_steps(KILLS), 7, "protected"))[:6]
    assert [(step.name, aim(step), step.at_s) for step in steps] == [
        ("pause", "writer", 2.851),
        ("kill", "b2", 5.752),
        ("resume", "writer", 10.42),
        ("kill", "b3", 10.459),
        ("start", "b2", 13.572),
        ("kill", "b1", 14.502),
    ]


@any_time
@given(seeds)
def test_no_more_are_down_than_the_plan_allows(load_steps: Callable[..., Plan], seed: int) -> None:
    down: set[str] = set()
    for step in timed(resolve(load_steps(KILLS), seed, "protected")):
        if step.name in ("kill", "pause"):
            assert aim(step) not in down
            down.add(aim(step))
        else:
            down.remove(aim(step))
        assert len(down) <= 2
    assert not down


@any_time
@given(seeds)
def test_times_go_forward_and_end_with_the_chaos(load_steps: Callable[..., Plan], seed: int) -> None:
    times = [step.at_s for step in timed(resolve(load_steps(MIXED), seed, "protected"))]
    assert all(time is not None for time in times)
    assert times == sorted(times, key=lambda time: time or 0)
    assert (times[-1] or 0) <= 60


@any_time
@given(seeds)
def test_faults_in_force_never_share_a_process_or_link(load_steps: Callable[..., Plan], seed: int) -> None:
    active: dict[str, str] = {}
    for step in timed(resolve(load_steps(MIXED), seed, "protected")):
        target = aim(step)
        if step.name not in OPENS:
            del active[target]
            continue
        opened = OPENS[step.name]
        assert target not in active
        for other, kind in active.items():
            if opened == "island" and kind != "down":
                assert kind == "link"
                assert target not in other.split("-")
            if opened == "link" and kind == "island":
                assert other not in target.split("-")
        active[target] = opened
    assert not active


@any_time
@given(seeds)
def test_a_link_has_two_different_ends(load_steps: Callable[..., Plan], seed: int) -> None:
    for step in timed(resolve(load_steps(MIXED), seed, "protected")):
        if step.name in ("cut", "slow"):
            assert params(step)["from"] != params(step)["to"]


def test_every_bookie_gets_its_turn(load_steps: Callable[..., Plan]) -> None:
    plan = load_steps(KILLS)
    hit = {aim(step) for seed in range(10) for step in timed(resolve(plan, seed, "protected"))}
    assert hit == {"b1", "b2", "b3", "writer", "reader"}


def test_the_block_lasts_as_long_as_the_chaos(load_steps: Callable[..., Plan]) -> None:
    (block,) = resolve(load_steps(KILLS), 1, "protected").plan.steps
    assert isinstance(block, Together)
    assert dump(block.branches[1][0]) == {"wait_for": {"condition": "elapsed", "for_s": 60.0}}


def test_settling_waits_for_quiet_after_each_restart(load_steps: Callable[..., Plan]) -> None:
    steps = timed(resolve(load_steps(SETTLING), 1, "protected"))
    names = [step.name for step in steps]
    assert names[:6] == ["kill", "start", "wait_for", "kill", "start", "wait_for"]
    assert params(steps[2]) == {"condition": "quiet", "timeout_s": 30.0, "otherwise": "finish"}


@any_time
@given(seeds)
def test_settling_waits_for_nothing_while_a_fault_is_in_force(
    load_steps: Callable[..., Plan], seed: int
) -> None:
    """What is cut or down could keep the cluster from ever being quiet, and ends only after the wait."""
    in_force, waits = 0, 0
    for step in timed(resolve(load_steps(MIXED + "    settle_timeout_s: 30\n"), seed, "protected")):
        in_force += (step.name in OPENS) - (step.name in ("start", "heal"))
        if step.name == "wait_for":
            assert in_force == 0
            waits += 1
    assert waits > 0


SETTLING = """\
- chaos:
    for_s: 30
    every_s: [2, 4]
    restart_after_s: [1, 1]
    settle_timeout_s: 30
    faults: [{kill: {target: b1}}]
"""


def test_chaos_that_is_over_before_its_first_fault(load_steps: Callable[..., Plan]) -> None:
    plan = load_steps(
        "- chaos: {for_s: 1, every_s: [2, 3], restart_after_s: [1, 1], faults: [{kill: {target: b1}}]}\n"
        "  at_s: 4\n"
    )
    (block,) = resolve(plan, 1, "protected").plan.steps
    assert isinstance(block, Together)
    assert block.at_s == 4
    assert [[dump(step) for step in branch] for branch in block.branches] == [
        [{"wait_for": {"condition": "elapsed", "for_s": 1.0}}]
    ]


def test_a_second_chaos_draws_from_its_own_stream(load_steps: Callable[..., Plan]) -> None:
    one = resolve(load_steps(KILLS), 3, "protected").plan.steps[0]
    two = resolve(load_steps(KILLS + KILLS), 3, "protected").plan.steps
    assert two[0] == one
    assert two[1] != one


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ("faults: 3", "needs faults .*, its limit is 3"),
        ("run_s: 59", "needs run_s 60, its limit is 59"),
        ("entries: 10", "needs entries 11, its limit is 10"),
    ],
)
def test_limits_are_checked(load_text: Callable[..., Plan], limits: str, message: str) -> None:
    steps = KILLS + (
        "- create: {client: writer, ledger: main}\n- append: {client: writer, ledger: main, entries: 11}\n"
    )
    plan = load_text(f"limits: {{{limits}}}\n{HEAD}{steps}")
    with pytest.raises(PlanError, match=message):
        resolve(plan, 5, "protected")


ALONE = "chaos: {for_s: 600, every_s: [300, 300], restart_after_s: [1, 1], faults: [{kill: {target: b1}}]}"
IDLE = "wait_for: {condition: elapsed, for_s: 600}"


@pytest.mark.parametrize(
    ("steps", "needed_s"),
    [
        (f"- {ALONE}\n- {ALONE}\n", 1200),
        (f"- {IDLE}\n- {ALONE}\n", 1200),
        (f"- {IDLE}\n  at_s: 400\n", 1000),
        (f"- {IDLE}\n- {IDLE}\n  at_s: 400\n", 1200),
        (f"- together:\n    - [{{{IDLE}}}]\n    - [{{{IDLE}}}, {{{ALONE}}}]\n", 1200),
        (f"- together:\n    - [{{{IDLE}}}]\n    - [{{{IDLE}}}]\n", 600),
    ],
)
def test_a_plan_needs_the_time_of_all_that_is_not_done_at_once(
    load_text: Callable[..., Plan], steps: str, needed_s: int
) -> None:
    enough = load_text(f"limits: {{run_s: {needed_s}}}\n{HEAD}{steps}")
    resolve(enough, 5, "protected")
    short = load_text(f"limits: {{run_s: {needed_s - 1}}}\n{HEAD}{steps}")
    with pytest.raises(PlanError, match=f"needs run_s {needed_s}, its limit is {needed_s - 1}"):
        resolve(short, 5, "protected")


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_a_seed_out_of_range(load_steps: Callable[..., Plan], seed: int) -> None:
    with pytest.raises(PlanError, match=rf"the seed {seed} is outside 0\.\.9223372036854775807"):
        resolve(load_steps(KILLS), seed, "protected")


def test_a_link_between_bookies_needs_two_of_them(load_text: Callable[..., Plan]) -> None:
    plan = load_text(
        f"cluster: {{bookies: 1}}\n{HEAD}"
        "- chaos: {for_s: 9, every_s: [1, 1], restart_after_s: [1, 1],\n"
        "          faults: [{slow: {from: any-bookie, to: any-bookie}}]}\n"
    )
    with pytest.raises(PlanError, match=r"chaos cannot aim slow .*two ends"):
        resolve(plan, 1, "protected")
