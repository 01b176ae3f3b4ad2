"""The churn load on a real cluster whose bookies collect garbage every second."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import harness.vocabulary  # noqa: F401  # registers loads and faults
from cluster.waiting import wait_until
from tests.live.clusters import running
from tests.live.workloads.driving import PATIENCE_S, driven

NO_LEDGER = 402


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    spec = {"clients": ("writer", "owner"), "bookie_conf": {"gcWaitTime": "1000"}}
    with running(tmp_path_factory.mktemp("churn"), "unprotected", **spec) as opened:
        yield opened
        assert opened.unplanned() == []


def answers(cluster: Any, ledger: int) -> list[int | None]:
    return [cluster.answer(bookie, ledger, 0) for bookie in cluster.bookies]


def test_deleted_ledgers_vanish_from_the_bookies_and_the_newest_stay(cluster: Any) -> None:
    quick = {"entries_per_ledger": 50, "entry_bytes": 128, "rate_per_s": 200, "close_fraction": 1}
    with driven("churn", cluster, writers=["writer"], deleter="owner", keep=2, **quick) as load:
        load.wait_for_more("writer", more=4)
        oldest = load.of("writer")[0]

        def collected() -> tuple[bool, str]:
            seen = answers(cluster, oldest)
            return seen == [NO_LEDGER] * len(cluster.bookies), f"the bookies answer {seen}"

        wait_until(collected, PATIENCE_S, f"ledger {oldest} to be collected")
    totals, ledgers = load.totals, load.of("writer")
    assert cluster.metadata.ledger(oldest) is None
    assert totals["deleted"] == totals["collected"] + totals["uncollected"]
    assert totals["collected"] >= 1, (totals, load.lines)
    there = [ledger for ledger in ledgers if cluster.metadata.ledger(ledger) is not None]
    assert there == ledgers[-len(there) :]
    assert len(there) >= 2
    assert not any(NO_LEDGER in answers(cluster, ledger) for ledger in there[:2])
