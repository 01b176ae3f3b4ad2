"""Cycles made to order: a ring of transactions with these edges and no others has exactly this class."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.log.checker import judge_log
from checkers.log.edges import Edge
from checkers.log.models import classify
from tests.histories.log_story import Op, Txn, append, completed, ok, read, story
from tests.histories.strategies import steady
from tests.histories.test_log_twin import same_as_twin

DATA = (Edge.WW, Edge.WR, Edge.RW)
RINGS = [labels for length in range(2, 6) for labels in product(DATA, repeat=length)]


def ring(labels: tuple[Edge, ...]) -> list[Txn]:
    """One log for each edge from a transaction to the next; an onlooker has read them all at the end."""
    micros: list[list[Op]] = [[] for _ in labels]
    seen: list[Op] = []
    for at, label in enumerate(labels):
        one, other, key = micros[at], micros[(at + 1) % len(labels)], f"k{at}"
        if label is Edge.RW:
            one.append(read(key))
            other.append(append(key, 1))
        else:
            one.append(append(key, 1))
            other.append(append(key, 2) if label is Edge.WW else read(key, 1))
        seen.append(read(key, 1, 2) if label is Edge.WW else read(key, 1))
    return [*(ok(*own) for own in micros), *(ok(one) for one in seen)]


@pytest.mark.parametrize("length", [2, 3, 4, 5])
def test_a_ring_is_called_by_its_edges(length: int) -> None:
    for labels in (labels for labels in RINGS if len(labels) == length):
        judgement = judge_log(story(*ring(labels)), model="serializable")
        assert dict(judgement.counts) == {classify(labels): 1}, labels
        assert f"has {length}" in judgement.findings[0].text


def test_of_a_long_ring_the_first_steps_are_shown() -> None:
    [finding] = judge_log(story(*ring((Edge.RW, *[Edge.WR] * 1_199))), model="serializable").findings
    assert finding.text == "G-single: the shortest cycle among 1,200 transactions has 1,200"
    assert finding.proof[-1] == "and so on over 1,181 more steps back to T1"
    assert len(finding.proof) == 20 + 19 + 1


@steady(60)
@given(st.integers(0, 2**32 - 1))
def test_rings_in_time_are_judged_as_by_the_twin(seed: int) -> None:
    rng = random.Random(seed)
    rows = ring(rng.choice([labels for labels in RINGS if len(labels) <= 4]))
    members = len(rows) // 2
    for at in rng.sample(range(members), rng.randint(0, members)):
        begin = rng.randint(0, 9)
        rows[at] = rows[at].by(rng.randint(1, 2) * 100 + at % 2).at(begin, begin + rng.randint(0, 1))
    busy: set[tuple[int | None, int]] = set()
    for at, row in enumerate(completed(rows)):
        spans = {(row.process, moment) for moment in range(row.invoked or 0, (row.completed or 0) + 1)}
        rows[at] = row.by(1_000 + at) if spans & busy else row
        busy |= spans
    same_as_twin(rows)
