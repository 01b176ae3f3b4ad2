"""A plan with the times at which its steps really began."""

from __future__ import annotations

from collections.abc import Callable

from plans.executed import begins, executed
from plans.grammar.sequence import Step, StepSpec, Together
from plans.models import Plan
from plans.resolve import resolve
from tests.unit.plans.small import HEAD

S = 1_000_000_000
STEPS = """\
- create: {client: writer, ledger: main}
- together:
    - - kill: {target: b1}
        at_s: 1
      - start: {target: b1}
    - - kill: {target: b2}
        when: {acked: {ledger: main, entries: 4}}
- heal: {}
"""


def record(path: list[int], began_ns: int, block_ns: int) -> dict[str, object]:
    return {"step": "any", "path": path, "began_ns": began_ns, "block_ns": block_ns}


def only(step: Step) -> StepSpec:
    assert isinstance(step, StepSpec)
    return step


def test_each_step_begins_when_it_began(load_steps: Callable[[str], Plan]) -> None:
    records = [
        record([0], 10 * S, 10 * S),
        record([1, 0, 0], 13 * S, 12 * S),
        record([1, 0, 1], 17 * S + 250_000_000, 12 * S),
        record([1, 1, 0], 14 * S, 12 * S),
        record([2], 20 * S, 10 * S),
    ]
    plan = executed(load_steps(STEPS), begins(records))
    create, block, heal = plan.steps
    assert (only(create).at_s, only(heal).at_s) == (0, 10)
    assert isinstance(block, Together)
    kill, start = block.branches[0]
    assert (only(kill).at_s, only(start).at_s) == (1, 5.25)


def test_what_a_slow_machine_took_longer_for_may_be_repeated(load_text: Callable[[str], Plan]) -> None:
    idle = "- wait_for: {condition: elapsed, for_s: 5}\n"
    plan = load_text(f"limits: {{run_s: 10}}\n{HEAD}{idle}{idle}")
    late = executed(plan, begins([record([0], 0, 0), record([1], 7 * S, 0)]))
    assert only(resolve(late, 1, "protected").plan.steps[1]).at_s == 7
    assert executed(plan, {}) == plan


def test_a_step_that_waited_for_an_event_waits_for_it_again(load_steps: Callable[[str], Plan]) -> None:
    plan = executed(load_steps(STEPS), begins([record([1, 1, 0], 14 * S, 12 * S)]))
    block = plan.steps[1]
    assert isinstance(block, Together)
    triggered = only(block.branches[1][0])
    assert triggered.at_s is None
    assert triggered.when is not None


def test_what_was_not_reached_stays_as_planned(load_steps: Callable[[str], Plan]) -> None:
    plan = load_steps(STEPS)
    assert executed(plan, begins([record([0], 5 * S, 5 * S)])).steps[1:] == plan.steps[1:]


def test_records_of_older_runs_have_no_places(load_steps: Callable[[str], Plan]) -> None:
    assert begins([{"step": "named", "ledger": 1}, {"step": "kill", "began_ns": 5}]) == {}


def test_rounds_keep_the_planned_times(load_steps: Callable[[str], Plan]) -> None:
    plan = load_steps(STEPS).model_copy(update={"rounds": 2})
    assert executed(plan, begins([record([0], 6 * S, 5 * S)])) == plan


def test_a_ledger_gets_the_ensemble_that_it_had(load_steps: Callable[[str], Plan]) -> None:
    fields = {**record([0], 5 * S, 5 * S), "facts": {"bookies": ["b3", "b1", "b2"]}}
    create = only(executed(load_steps(STEPS), begins([fields])).steps[0])
    assert create.params.model_dump()["bookies"] == ("b3", "b1", "b2")
    assert create.at_s == 0


def test_a_placement_policy_of_the_users_chooses_again(load_text: Callable[[str], Plan]) -> None:
    policy = "cluster: {client_conf: {ensemblePlacementPolicy: org.example.Policy}}\n"
    plan = load_text(f"{policy}{HEAD}{STEPS}")
    fields = {**record([0], 5 * S, 5 * S), "facts": {"bookies": ["b3", "b1", "b2"]}}
    assert only(executed(plan, begins([fields])).steps[0]).params == only(plan.steps[0]).params
