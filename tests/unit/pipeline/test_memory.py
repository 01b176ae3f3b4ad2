"""What judging needs of memory is reckoned before it begins."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.blocks import Block
from pipeline.judge import (
    BLOCK_ROWS,
    CORE,
    FEWEST_ROWS,
    MOST_ROWS,
    RunSize,
    batch_rows,
    driver_bytes,
    needed_bytes,
)
from pipeline.session import Session
from protocol.errors import JudgementError

PLENTY = 10**12
SMALL = RunSize(cores=2, versions=1_000, buckets=4)


def hot(rows: int) -> Block:
    return Block(ledger=7, number=2, rows=rows)


def test_two_cores_judge_a_hundred_thousand_versions_in_three_gigabytes() -> None:
    size = RunSize(2, 100_000, 32)
    assert batch_rows(size, free_bytes=PLENTY) == MOST_ROWS == batch_rows(SMALL, free_bytes=PLENTY)
    need = needed_bytes(size, MOST_ROWS, collected=True)
    assert needed_bytes(size, MOST_ROWS) < need <= 2 * CORE == 3_000_000_000


@pytest.mark.parametrize("free_gb", [1.12, 1.14, 1.16])
def test_batches_are_as_small_as_the_memory_that_is_free(free_gb: float) -> None:
    rows = batch_rows(SMALL, free_bytes=int(free_gb * 1e9))
    assert FEWEST_ROWS < rows < MOST_ROWS
    assert needed_bytes(SMALL, rows) <= free_gb * 1e9


def test_batches_are_smaller_where_summaries_are_large() -> None:
    size = RunSize(2, 260_000, 32)
    rows = batch_rows(size, free_bytes=PLENTY)
    assert FEWEST_ROWS < rows < MOST_ROWS
    assert needed_bytes(size, rows) <= 2 * CORE


def test_memory_that_cannot_do_is_said_with_the_way_out() -> None:
    with pytest.raises(JudgementError, match=r"8 cores takes 2\.\d GB at least, 1\.0 GB are free") as raised:
        batch_rows(SMALL._replace(cores=8), free_bytes=10**9)
    assert "local[1]" in raised.value.remedy


def test_a_block_that_is_too_large_for_the_memory_is_named() -> None:
    size = SMALL._replace(largest=(hot(3_000_000),))
    with pytest.raises(
        JudgementError, match=r"entries 32768\.\.49151 of ledger 7 have 3,000,000 rows"
    ) as raised:
        batch_rows(size, free_bytes=4 * 10**9)
    assert "local[1]" in raised.value.remedy
    assert batch_rows(size, free_bytes=PLENTY) == MOST_ROWS
    assert batch_rows(SMALL._replace(largest=(hot(BLOCK_ROWS),)), free_bytes=2_500_000_000) > 0


def test_every_core_may_have_a_large_block_at_the_same_time() -> None:
    one, two = (needed_bytes(SMALL._replace(largest=(hot(3_000_000),) * n), FEWEST_ROWS) for n in (1, 2))
    assert two - one == 2 * 2_500_000 * 650
    small = SMALL._replace(largest=(hot(3_000_000), hot(BLOCK_ROWS)))
    assert needed_bytes(small, FEWEST_ROWS) == one


def test_every_process_holds_the_metadata_and_the_driver_the_rows_of_logs() -> None:
    for cores in (1, 8):
        size = SMALL._replace(cores=cores)
        more = size._replace(versions=size.versions + 1_000_000)
        assert needed_bytes(more, FEWEST_ROWS) - needed_bytes(size, FEWEST_ROWS) == (cores + 1) * 2 * 10**9
    logged = SMALL._replace(logged=1_000_000)
    assert driver_bytes(logged) - driver_bytes(SMALL) == 1_250_000_000


def test_a_cluster_is_judged_by_the_memory_of_its_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=8 * 10**9))
    monkeypatch.setattr(Session, "cores", 64)
    size = RunSize(64, 1_000, 128)
    for core_bytes, least_rows in ((4 * 10**9, MOST_ROWS), (250 * 10**6, FEWEST_ROWS)):
        session = Session(tmp_path, master="spark://host:7077")
        monkeypatch.setattr(session, "_core_bytes", core_bytes)
        assert batch_rows(size, free_bytes=session.free_bytes(driver_bytes(size))) >= least_rows
    local, need = Session(tmp_path), driver_bytes(size)
    assert local.free_bytes(need) == session.free_bytes(8 * 10**9 + 1) == 8 * 10**9
    with pytest.raises(JudgementError, match=r"64 cores takes \d\d\.\d GB at least, 8\.0 GB are free"):
        batch_rows(size, free_bytes=local.free_bytes(need))
