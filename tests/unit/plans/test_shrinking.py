"""A failing plan made smaller: only what the failure needs is left, whatever that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.vocabulary import words
from plans.exploring.generate import GenerateOptions, generate
from plans.exploring.profile import load_profile
from plans.load import load_tree
from plans.models import Plan, lean_tree, plan_tree
from plans.shrinking.ddmin import ddmin
from plans.shrinking.passes import PASSES, only_about, smaller_cluster
from plans.shrinking.units import name_of, placed, units, without
from protocol.errors import PlanError
from protocol.modes import MODES

PROFILE = load_profile()
EVERY_FAULT = frozenset(words().faults)
Tree = dict[str, Any]


@given(st.lists(st.integers(0, 50), max_size=24, unique=True), st.data())
def test_delta_debugging_finds_exactly_what_is_needed(items: list[int], data: st.DataObject) -> None:
    needed = data.draw(st.sets(st.sampled_from(items)) if items else st.just(set()))
    assert ddmin(items, lambda some: needed <= set(some)) == [item for item in items if item in needed]


def test_of_two_reasons_one_is_left() -> None:
    assert len(ddmin(list(range(40)), lambda some: 7 in some or 31 in some)) == 1


def plan_drawn(seed: int, mode: str = "unprotected") -> Plan:
    tree = generate(PROFILE, seed, GenerateOptions(EVERY_FAULT, mode))
    return load_tree(tree, words(), modes=tuple(MODES), source="drawn")


def drawn(seed: int) -> Tree:
    return lean_tree(plan_drawn(seed))


def whole(tree: Tree) -> Tree:
    """With what a plan states, so that it can be loaded."""
    stated = {"control": {"nothing": "a trial"}, "expect": {mode: ["holds"] for mode in tree["modes"]}}
    return {**tree, **stated}


def is_plan(tree: Tree) -> bool:
    try:
        load_tree(whole(tree), words(), modes=tuple(MODES), source="smaller")
    except PlanError:
        return False
    return True


def shrunk(tree: Tree, fails: Callable[[Tree], bool]) -> tuple[Tree, int]:
    """The smallest tree, and how many plans were run for it."""
    asked: dict[str, bool] = {}

    def remembered(some: Tree) -> bool:
        if repr(some) not in asked and is_plan(some):
            asked[repr(some)] = fails(some)
        return asked.get(repr(some), False)

    for make_less in PASSES.values():
        tree = make_less(tree, remembered)
    return tree, len(asked)


@pytest.mark.parametrize("seed", range(20))
def test_a_lean_tree_is_the_same_plan(seed: int) -> None:
    plan = plan_drawn(seed, "protected")
    again = load_tree(whole(lean_tree(plan)), words(), modes=tuple(MODES), source="lean")
    assert plan_tree(again) | {"control": 0} == plan_tree(plan) | {"control": 0}


@pytest.mark.parametrize("seed", range(20))
def test_every_step_is_in_one_unit(seed: int) -> None:
    steps = drawn(seed)["steps"]
    places = [place for place, _ in placed(steps)]
    assert sorted(place for unit in units(steps) for place in unit) == places
    assert without(steps, set(places)) == []
    assert without(steps, set()) == steps


def test_a_fault_and_its_end_belong_together() -> None:
    steps: list[Tree] = [
        {"load": {"workload": "append", "as": "l", "writers": ["w"]}},
        {"kill": {"target": "b1"}},
        {"cut": {"from": "w", "to": "b2"}},
        {"start": {"target": "b1"}},
        {"heal": {"kind": "cut", "target": "w-b2"}},
        {"kill": {"target": "b1"}},
        {"start": {"target": "b1"}},
        {"end_load": {"as": "l"}},
        {"heal": {}},
    ]
    results = [sorted(index for (index,) in unit) for unit in units(steps)]
    assert results == [[0, 7], [1, 3], [2, 4], [5, 6], [8]]


def kills_a_bookie_that_has_a_quiet_ledger(tree: Tree) -> bool:
    """A plain model of a loss: a ledger was added to, and later a bookie was killed."""
    added = False
    for _, step in placed(tree["steps"]):
        name = name_of(step)
        added = added or name == "append"
        if added and name == "kill" and step[name]["target"].startswith("b"):
            return True
    return False


def test_a_simulated_loss_is_shrunk_to_its_few_steps() -> None:
    tried = 0
    for seed in range(60):
        tree = drawn(seed)
        if not kills_a_bookie_that_has_a_quiet_ledger(tree):
            continue
        tried += 1
        small, runs = shrunk(tree, kills_a_bookie_that_has_a_quiet_ledger)
        names = [name_of(step) for _, step in placed(small["steps"])]
        assert sorted(names) == ["append", "create", "kill"], (seed, small)
        assert small["clients"] == ["idler"]
        (made,) = [step["create"] for _, step in placed(small["steps"]) if name_of(step) == "create"]
        assert small["cluster"].get("bookies", 3) == made.get("ack_quorum", 2)
        assert runs < 60, f"seed {seed} took {runs} runs"
        assert not any("at_s" in step for _, step in placed(small["steps"]))
    assert tried > 20


def test_a_plan_is_cut_down_to_the_ledger_of_the_finding() -> None:
    steps: list[Tree] = [
        {"load": {"workload": "append", "as": "l", "writers": ["w1", "w2"]}},
        {"load": {"workload": "churn", "as": "m", "writers": ["w3"]}},
        *({"create": {"client": "idler", "ledger": name}} for name in ("q1", "q2", "q3")),
        {"append": {"client": "idler", "ledger": "q2", "entries": 3}},
        {"kill": {"target": "b1"}},
    ]
    tree = {"clients": ["idler", "w1", "w2", "w3"], "steps": steps}
    quiet = only_about(tree, ["gone", "q2"], lambda some: True)
    assert quiet["steps"] == [steps[3], steps[5], steps[6]]
    assert only_about(tree, ["w2.17"], lambda some: True)["steps"] == [steps[0], steps[6]]
    assert only_about(tree, ["q1", "q2"], lambda some: steps[5] in some["steps"]) == quiet
    assert only_about(tree, ["q1"], lambda some: False) == tree


def test_a_cluster_is_cut_around_the_bookies_that_are_hit_and_keeps_where_a_ledger_lay() -> None:
    create = {"client": "w", "ledger": "main", "ensemble": 3, "write_quorum": 3, "ack_quorum": 2}
    steps: list[Tree] = [{"create": {**create, "bookies": ["b5", "b4", "b1"]}}, {"kill": {"target": "b4"}}]
    tree = {"clients": ["w"], "cluster": {"bookies": 5}, "steps": steps}

    def cut(bookies: int) -> Tree:
        return smaller_cluster(tree, lambda some: some["cluster"]["bookies"] == bookies)

    assert cut(3)["steps"] == [
        {"create": {**create, "bookies": ["b2", "b1", "b3"]}},
        {"kill": {"target": "b1"}},
    ]
    two = {**create, "ensemble": 2, "write_quorum": 2, "bookies": ["b2", "b1"]}
    assert cut(2)["steps"] == [{"create": two}, {"kill": {"target": "b1"}}]
    assert cut(1) == tree  # nothing may be promised less


def test_a_fault_never_gets_stronger_by_a_default() -> None:
    steps: list[Tree] = [
        {"load": {"workload": "append", "as": "l", "writers": ["w"], "entry_bytes": 64}},
        {"power_loss": {"targets": ["b1"], "level": "process", "ready_timeout_s": 9}},
        {"drop": {"from": "w", "to": "b2", "probability": 0.02, "kinds": ["add"], "may_idle": True}},
        {"wait_for": {"condition": "quiet", "timeout_s": 9, "otherwise": "finish"}},
    ]
    tree = {"clients": ["w"], "cluster": {"disks": {"journal": "own"}}, "steps": steps}
    assert PASSES["settings"](tree, lambda some: True)["steps"] == [
        {"load": {"workload": "append", "as": "l"}},
        {"power_loss": {"targets": ["b1"], "level": "process"}},
        {"drop": {"from": "w", "to": "b2", "probability": 0.02, "kinds": ["add"]}},
        {"wait_for": {"condition": "quiet", "otherwise": "finish"}},
    ]


@pytest.mark.parametrize(("step", "key"), [("load", "writers"), ("power_loss", "targets")])
@pytest.mark.parametrize("needed", [{"b2"}, {"b1", "b3"}, set()])
def test_of_a_list_any_name_may_go_but_not_all(step: str, key: str, needed: set[str]) -> None:
    def listed(tree: Tree) -> set[str]:
        return set(tree["steps"][0][step][key])

    tree = {"clients": ["w"], "steps": [{step: {key: ["b1", "b2", "b3"]}}]}
    left = listed(PASSES["clients"](tree, lambda some: needed <= listed(some)))
    assert left == needed if needed else len(left) == 1


def test_what_needs_two_at_one_time_keeps_its_block() -> None:
    """A failure of a block: nothing may be put into one sequence then."""
    tree = next(drawn(seed) for seed in range(40) if len(overlapping(drawn(seed))) > 2)
    small, _ = shrunk(tree, lambda some: len(overlapping(some)) > 2)
    (block,) = [step for step in small["steps"] if "together" in step]
    assert [len(branch) for branch in block["together"]] == [1, 1, 1]


def overlapping(tree: Tree) -> list[list[Tree]]:
    blocks = [step["together"] for step in tree["steps"] if "together" in step]
    return max(blocks, key=len, default=[])


def test_bookies_are_renumbered_and_ensembles_cut() -> None:
    tree = {
        "name": "a/b",
        "clients": ["w"],
        "modes": ["unprotected"],
        "source": {"document": "x"},
        "about": "x",
        "cluster": {"bookies": 5},
        "steps": [
            {"create": {"client": "w", "ledger": "m", "ensemble": 4, "write_quorum": 3, "ack_quorum": 2}},
            {"cut": {"from": "b4", "to": "b5"}},
            {"heal": {"kind": "cut", "target": "b4-b5"}},
        ],
    }
    small = PASSES["bookies"](tree, is_plan)
    assert small["cluster"] == {"bookies": 2}
    assert small["steps"] == [
        {"create": {"client": "w", "ledger": "m", "ensemble": 2, "write_quorum": 2, "ack_quorum": 2}},
        {"cut": {"from": "b1", "to": "b2"}},
        {"heal": {"kind": "cut", "target": "b1-b2"}},
    ]
