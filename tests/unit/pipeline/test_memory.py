"""What judging needs of memory is reckoned before it begins."""

from __future__ import annotations

import pytest

from pipeline.blocks import Block
from pipeline.judge import BLOCK_ROWS, CORE, FEWEST_ROWS, MOST_ROWS, batch_rows, needed_bytes
from protocol.errors import JudgementError

PLENTY = 10**12


def test_two_cores_judge_a_hundred_thousand_versions_in_three_gigabytes() -> None:
    rows = batch_rows(2, 100_000, 32, free_bytes=PLENTY)
    assert rows == MOST_ROWS == batch_rows(2, 1_000, 32, free_bytes=PLENTY)
    need = 2, rows, 100_000, 32
    assert needed_bytes(*need) < needed_bytes(*need, collected=True) <= 2 * CORE == 3_000_000_000


@pytest.mark.parametrize("free_gb", [1.12, 1.14, 1.16])
def test_batches_are_as_small_as_the_memory_that_is_free(free_gb: float) -> None:
    rows = batch_rows(2, 1_000, 4, free_bytes=int(free_gb * 1e9))
    assert FEWEST_ROWS < rows < MOST_ROWS
    assert needed_bytes(2, rows, 1_000, 4) <= free_gb * 1e9


def test_batches_are_smaller_where_summaries_are_large() -> None:
    rows = batch_rows(2, 360_000, 32, free_bytes=PLENTY)
    assert FEWEST_ROWS < rows < MOST_ROWS
    assert needed_bytes(2, rows, 360_000, 32) <= 2 * CORE


def test_memory_that_cannot_do_is_said_with_the_way_out() -> None:
    with pytest.raises(JudgementError, match=r"8 cores takes 2\.\d GB at least, 1\.0 GB are free") as raised:
        batch_rows(8, 1_000, 4, free_bytes=10**9)
    assert "local[1]" in raised.value.remedy


def test_a_block_that_is_too_large_for_the_memory_is_named() -> None:
    hot = Block(ledger=7, number=2, rows=3_000_000)
    with pytest.raises(
        JudgementError, match=r"entries 32768\.\.49151 of ledger 7 have 3,000,000 rows"
    ) as raised:
        batch_rows(2, 1_000, 4, hot, free_bytes=4 * 10**9)
    assert "local[1]" in raised.value.remedy
    assert batch_rows(2, 1_000, 4, hot, free_bytes=PLENTY) == MOST_ROWS
    assert batch_rows(2, 1_000, 4, Block(7, 2, BLOCK_ROWS), free_bytes=2_500_000_000) > 0
