"""The log checker and its naive twin see the same in any small history."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.log import edges, versions
from checkers.log.checker import judge_log
from checkers.log.cycles import CycleResult, SearchLimits, find_cycles
from checkers.log.edges import all_edges
from checkers.log.models import CLASSES, CycleClass, hides, implies
from checkers.log.versions import version_orders
from tests.histories.log_story import Txn, completed, story
from tests.histories.strategies import steady
from tests.histories.strategies_log import any_history, simulated
from tests.histories.twins_log import EDGES_OF, EXTRA, Twin, class_of, component, reachable, simple_cycles

BY_NAME = {each.name: each for each in CLASSES}
SEEDS = st.integers(0, 2**32 - 1)


@steady(400)
@given(SEEDS)
def test_any_history_is_judged_as_by_the_twin(seed: int) -> None:
    same_as_twin(any_history(random.Random(seed)))


@steady(200)
@given(SEEDS)
def test_simulated_histories_are_judged_as_by_the_twin(seed: int) -> None:
    same_as_twin(simulated(random.Random(seed)))


@steady(150)
@given(SEEDS)
def test_inner_nodes_stand_for_the_pairs_they_replace(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edges, "FEW_PAIRS", 0)
        same_as_twin(any_history(random.Random(seed)))


@steady(60)
@given(SEEDS, st.integers(1, 6))
def test_lists_may_be_looked_up_in_pieces_of_any_size(seed: int, elements: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(versions, "_AT_ONCE", elements)
        same_as_twin(any_history(random.Random(seed)))


def same_as_twin(rows: list[Txn]) -> None:
    """Equal counts of all classes without cycles; equal cycles, as far as the strongest ones go."""
    rows = completed(rows)
    given = story(*rows)
    twin = Twin(rows)
    judgement = judge_log(given)
    direct = {kind: number for kind, number in judgement.counts.items() if kind not in BY_NAME}
    assert direct == dict(twin.counts())
    result = find_cycles(given, all_edges(given, version_orders(given)), SearchLimits())
    assert not result.undecided
    same_cycles(twin, result)


def same_cycles(twin: Twin, result: CycleResult) -> None:
    edges = twin.edges()
    cycles = [(path, chosen, kind) for path, chosen in simple_cycles(edges) if (kind := class_of(chosen))]
    reach = {
        name: reachable(edges, EDGES_OF[each.base] | EXTRA[each.suffix]) for name, each in BY_NAME.items()
    }
    results: list[tuple[str, frozenset[int]]] = []
    for found in result.found:
        assert found.cycle is not None
        path = [int(result.rows[step.node]) for step in found.cycle.steps]
        chosen = tuple(step.label.name.lower() for step in found.cycle.steps if step.label.name)
        assert class_of(chosen) == found.kind
        assert len(set(path)) == len(path)
        assert {
            (a, b, label) for a, b, label in zip(path, [*path[1:], path[0]], chosen, strict=True)
        } <= edges
        own = component(reach[found.kind], path[0])
        assert len(own) == found.size
        results.append((found.kind, own))
        lengths = [len(other) for other, _, kind in cycles if kind == found.kind and set(other) <= own]
        assert found.cycle.shortest
        assert len(path) == min(lengths)
    assert len(results) == len(set(results)) == sum(result.counts.values())
    for path, chosen, kind in cycles:
        own = component(reach[kind], path[0])
        assert any(accounts_for(BY_NAME[name], nodes, BY_NAME[kind], own) for name, nodes in results), (
            path,
            chosen,
        )


def accounts_for(strong: CycleClass, nodes: frozenset[int], weak: CycleClass, own: frozenset[int]) -> bool:
    """Whether the findings in a component explain why a cycle there has no finding of its class."""
    if not nodes <= own:
        return False
    return implies(strong, weak) or hides(strong, weak)
