"""Runs made for measuring: what is planted into them is found, nothing else is, and memory does not grow."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.raw.folder import expected, found_of, make
from bench.raw.shape import Shape, huge, many
from bench.raw.slots import observer_slots, writer_slots
from evidence.findings import RunVerdict, Verdict
from pipeline.collect import collect
from pipeline.judge import judge
from tests.inline import INLINE


def judged(path: Path, shape: Shape) -> RunVerdict:
    folder = make(path, shape)
    assert collect(INLINE, folder).damage == ()
    return judge(INLINE, folder)


@pytest.mark.parametrize(
    "shape",
    [
        Shape(16, 1_000, together=8, census=True, frames=True),
        Shape(5, 1_030, together=5, census=True),
        Shape(1, 40_001, census=True),
        Shape(1, 3_000),
    ],
)
def test_what_was_planted_is_found_and_nothing_else(tmp_path: Path, shape: Shape) -> None:
    verdict = judged(tmp_path, shape)
    found = {found_of(finding) for one in verdict.judgements.values() for finding in one.findings}
    assert found == expected(shape)
    assert len(expected(shape)) >= 3


@pytest.mark.parametrize("ledgers", [1, 8])
def test_a_run_without_wounds_is_valid(tmp_path: Path, ledgers: int) -> None:
    shape = Shape(ledgers, 1_050, together=ledgers, census=True, frames=True, with_anomalies=False)
    assert judged(tmp_path, shape).verdict is Verdict.VALID


@pytest.mark.parametrize("shape", [many(20_000_000), huge(20_000_000)])
def test_rows_come_in_small_blocks_however_large_the_run_is(shape: Shape) -> None:
    assert abs(shape.operations - 20_000_000) < 20_000
    for rows in (writer_slots(shape), observer_slots(shape)):
        assert 0 < len(next(iter(rows))) <= 65_536
