"""What a property finds depends neither on the size of blocks, nor on batches, nor on the order of rows.

For the properties on the contract of blocks; the others are cut in the same way beside their twins.
"""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.judge import check_all, combined_facts, conclude_all, facts_of, judge, merge_all
from checkers.registry import CHECKERS
from tests.histories.literals_log import LITERALS
from tests.histories.simulator import simulated
from tests.histories.story import chunk, run_facts
from tests.histories.strategies import WHOLE, blocks, cuts, nonsense, steady

IN_BLOCKS = tuple(checker for checker in CHECKERS if hasattr(checker, "check"))
LOSSY = {"losses": True, "flushes": False, "crashes": 5, "steps": 90, "bookies": 4}


def text(verdict):
    """All judgements, as they are written."""
    return json.dumps({name: asdict(one) for name, one in verdict.judgements.items()}, sort_keys=True)


def in_blocks(parts, run):
    """Judged as Spark does it: facts and findings of each batch travel, and meet in any grouping."""
    batches = [chunk(part) for part in parts]
    facts = combined_facts(
        pickle.loads(pickle.dumps([facts_of(batch, checkers=IN_BLOCKS) for batch in batches])),
        checkers=IN_BLOCKS,
    )
    total = None
    for batch in reversed(batches):
        found = pickle.loads(pickle.dumps(check_all(batch, run, facts, checkers=IN_BLOCKS)))
        total = merge_all(found, total, checkers=IN_BLOCKS) if total else found
    return conclude_all(total, run, facts, checkers=IN_BLOCKS)


@cache
def whole(seed):
    simulation = simulated(seed, **LOSSY)
    history, run = simulation.history(), simulation.facts()
    return history, run, text(judge([chunk(history)], run, checkers=IN_BLOCKS))


def test_a_block_has_all_rows_of_its_entries():
    history, *_ = whole(1)
    for entries in (1, 3, WHOLE):
        found = blocks(history, entries)
        keys = [
            {(row.get("ledger", -1), row.get("entry", -1) // entries) for _, row in block} for block in found
        ]
        assert all(len(key) == 1 for key in keys)
        assert len(set.union(*keys)) == len(keys)


@steady(80)
@given(st.data())
def test_nonsense_is_judged_alike_in_blocks_of_any_size(data):
    history, run = data.draw(nonsense()), run_facts()
    expected = text(judge([chunk(history)], run, checkers=IN_BLOCKS))
    assert text(in_blocks(data.draw(cuts(history)), run)) == expected


@steady(30)
@given(st.data(), st.integers(1, 6))
def test_a_simulated_run_is_judged_alike_in_blocks_of_any_size(data, seed):
    history, run, expected = whole(seed)
    assert text(in_blocks(data.draw(cuts(history)), run)) == expected


@pytest.mark.parametrize("name", LITERALS)
def test_a_literal_is_judged_alike_in_blocks_of_one_entry(name):
    case = LITERALS[name]
    for history, run in ((case.history, case.run), (case.acquitted, case.acquitted_run)):
        expected = text(judge([chunk(history)], run, checkers=IN_BLOCKS))
        assert text(in_blocks(blocks(history, 1), run)) == expected
