"""The recovery load on clients that keep ledgers in memory."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from tests.unit.workloads.fake_clients import BREAK, NO_BOOKIES, fake_cluster
from tests.unit.workloads.running import ended, load_of
from workloads.recovery import Contests, RecoveryLoad
from workloads.registry import Totals

CLIENTS = ("writer", "r1", "r2")
running = partial(load_of, RecoveryLoad, writers=["writer"], recoverers=["r1", "r2"], entries_per_ledger=10)


def opened(cluster: Any, name: str) -> list[int]:
    return [asked["ledger"] for asked in cluster.clients[name].did("open")]


def test_every_recoverer_recovers_every_ledger_in_the_same_order(cluster: Any) -> None:
    with running(cluster) as load:
        load.until(lambda: len(opened(cluster, "r1")) > 4 and len(opened(cluster, "r2")) > 4)
        totals = load.end()
    assert opened(cluster, "r1")[:5] == opened(cluster, "r2")[:5] == [1, 2, 3, 4, 5]
    assert all(asked["recovery"] for asked in cluster.clients["r1"].did("open"))
    assert totals["agreed"] >= 4
    assert totals["disagreed"] == 0
    assert totals["recovered"] == len(opened(cluster, "r1")) + len(opened(cluster, "r2"))
    assert totals["rolled"] >= 4


def test_the_writer_still_writes_when_the_recoverers_begin(cluster: Any) -> None:
    ended(running(cluster), lambda: opened(cluster, "r1"))
    begun = cluster.clients["writer"].did("append")[0]
    assert begun["background"]
    assert "entries" not in begun
    first = cluster.clients["writer"].did("await_acked")[0]["entries"]
    assert 0 <= first <= 10


def test_the_seed_decides_when_the_recoverers_begin() -> None:
    def begin(seed: int) -> list[int]:
        cluster = fake_cluster("writer", "r1", "r2")
        with running(cluster, seed=seed, entries_per_ledger=1000) as load:
            load.until(lambda: cluster.clients["writer"].did("await_acked"))
            load.end()
        return [asked["entries"] for asked in cluster.clients["writer"].did("await_acked")][:1]

    assert begin(7) == begin(7)
    assert begin(7) != begin(8)


def test_different_ends_are_counted_and_said(cluster: Any) -> None:
    cluster.clients["r2"].script["open"] = [{"ledger": 1, "last_entry": 77}]
    cluster.clients["r2"].script["release"] = [{"ok": True}]
    with running(cluster) as load:
        load.until(lambda: any("different ends" in line for line in load.lines))
        totals = load.end()
    assert totals["disagreed"] == 1
    assert any(line.startswith("ledger 1 was recovered to different ends: r1 ") for line in load.lines)


def test_a_recovery_that_is_refused_is_tried_again(cluster: Any) -> None:
    cluster.clients["r1"].script["open"] = [NO_BOOKIES, NO_BOOKIES]
    totals, load = ended(running(cluster), lambda: opened(cluster, "r1")[:4] == [1, 1, 1, 2])
    assert totals["refused"] == 2
    assert "r1: ledger 1 is not recovered yet: NotEnoughBookies (-6)" in load.lines


def test_a_dead_recoverer_holds_nobody_up_and_comes_back_to_where_it_was(cluster: Any) -> None:
    cluster.clients["r1"].script["open"] = [BREAK]
    with running(cluster) as load:
        load.until(lambda: len(opened(cluster, "r2")) > 2)
        cluster.clients["r1"].restart()
        load.until(lambda: len(opened(cluster, "r1")) > 3)
        load.end()
    assert opened(cluster, "r1")[:3] == [1, 1, 2]


def test_a_writer_that_dies_leaves_its_ledger_to_the_recoverers_and_goes_on(cluster: Any) -> None:
    writer = cluster.clients["writer"]
    writer.script["append"] = [BREAK]
    with running(cluster) as load:
        load.until(lambda: cluster.ledgers.state.get(1) == "recovered")
        writer.restart()
        load.until(lambda: len(cluster.ledgers.state) > 2)
        load.end()
    assert "writer: its process ended; waiting for its next start" in load.lines


R1, R2 = "r1", "r2"


@pytest.mark.parametrize(
    ("ends", "agreed", "disagreed"),
    [
        (((R1, 7),), 0, 0),
        (((R1, 7), (R2, 7)), 1, 0),
        (((R1, 7), (R2, 6)), 0, 1),
        # Killed after its recovery, before it continued: its next boot recovers the ledger again.
        (((R1, 7), (R2, 7), (R2, 7)), 1, 0),
        (((R2, 7), (R2, 7), (R1, 7)), 1, 0),
        (((R1, 7), (R2, 7), (R2, 6)), 1, 1),
    ],
)
def test_the_last_recovery_tells(ends: tuple[tuple[str, int], ...], agreed: int, disagreed: int) -> None:
    totals, lines = Totals(("agreed", "disagreed")), list[str]()
    context: Any = SimpleNamespace(totals=totals, say=lines.append)
    contests = Contests(context, (R1, R2))
    contest = contests.begin(1)
    for recoverer, end in ends:
        contests.ended(contest, recoverer, end)
    assert totals.counts() == {"agreed": agreed, "disagreed": disagreed}
    assert contest.over.is_set() is (len(dict(ends)) == 2)
    assert len(lines) == disagreed
