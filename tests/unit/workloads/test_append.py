"""The append load on clients that keep ledgers in memory."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest

import workloads.member
from protocol.errors import UsageError
from tests.unit.workloads.fake_clients import BREAK, FENCED, NO_BOOKIES, NOT_YET, SILENCE, fake_cluster
from tests.unit.workloads.running import ended, load_of
from workloads.rolling import AppendLoad

CLIENTS = ("writer",)
running = partial(load_of, AppendLoad, writers=["writer"], entries_per_ledger=10)


def test_a_writer_rolls_from_ledger_to_ledger_with_what_the_plan_asks_for(cluster: Any) -> None:
    writer = cluster.clients["writer"]
    with running(cluster, ensemble=5, write_quorum=3, rate_per_s=50, outstanding=7) as load:
        load.until(lambda: len(cluster.ledgers.state) > 5)
        totals = load.end()
    assert totals["acked"] == 10 * totals["ledgers"]
    created, appended = writer.did("create")[0], writer.did("append")[0]
    assert (created["ensemble"], created["write_quorum"], created["ack_quorum"]) == (5, 3, 2)
    assert (appended["entries"], appended["rate_per_s"], appended["outstanding"]) == (10, 50, 7)
    assert appended["background"]
    assert load.named[f"writer.{totals['ledgers']}"] == totals["ledgers"]


def test_without_a_rate_the_client_goes_as_fast_as_it_can(cluster: Any) -> None:
    with running(cluster) as load:
        load.until(lambda: cluster.clients["writer"].did("append"))
    assert "rate_per_s" not in cluster.clients["writer"].did("append")[0]


@pytest.mark.parametrize(("fraction", "states"), [(1.0, {"closed"}), (0.0, {"open", "recovered"})])
def test_the_close_fraction_decides_who_ends_a_ledger(
    cluster: Any, fraction: float, states: set[str]
) -> None:
    totals, _ = ended(running(cluster, close_fraction=fraction), lambda: len(cluster.ledgers.state) > 5)
    settled = dict(list(cluster.ledgers.state.items())[:-2])
    assert set(settled.values()) <= states
    assert (totals["closed"] > 0) == (fraction == 1.0)
    assert (totals["recovered"] > 0) == (fraction == 0.0)


def test_the_same_seed_closes_the_same_ledgers() -> None:
    def closed(seed: int) -> list[bool]:
        cluster = fake_cluster("writer")
        ended(running(cluster, seed=seed), lambda: len(cluster.ledgers.state) > 30)
        return [cluster.ledgers.state[ledger] == "closed" for ledger in range(1, 25)]

    assert closed(7) == closed(7)
    assert closed(7) != closed(8)


def test_the_next_writer_recovers_what_a_writer_left_open() -> None:
    cluster = fake_cluster("w1", "w2")
    with running(cluster, writers=["w1", "w2"], close_fraction=0) as load:
        load.until(lambda: all(client.did("open") for client in cluster.clients.values()))
        load.end()
    by_w1 = {ledger for name, ledger in load.named.items() if name.startswith("w1.")}
    assert {opened["ledger"] for opened in cluster.clients["w2"].did("open")} <= by_w1
    assert all(opened["recovery"] for opened in cluster.clients["w2"].did("open"))


def test_a_closer_recovers_what_all_writers_left_open_and_they_do_not() -> None:
    cluster = fake_cluster("w1", "w2", "closer")
    with running(cluster, writers=["w1", "w2"], closer="closer", close_fraction=0) as load:
        load.until(lambda: len(cluster.clients["closer"].did("open")) > 10)
        totals = load.end()
    assert not cluster.clients["w1"].did("open")
    assert totals["recovered"] == Counter(cluster.ledgers.state.values())["recovered"]


def test_a_ledger_that_is_not_recovered_is_tried_again() -> None:
    cluster = fake_cluster("writer", "closer")
    cluster.clients["closer"].script["open"] = [NO_BOOKIES, NO_BOOKIES]
    with running(cluster, closer="closer", close_fraction=0, rate_per_s=1) as load:
        load.until(lambda: cluster.ledgers.state.get(1) == "recovered")
    assert "closer: ledger 1 is not recovered yet: NotEnoughBookies (-6)" in load.lines


def test_fencing_makes_a_writer_roll_over_early_and_what_was_pending_is_unknown(
    cluster: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workloads.member, "_END_S", 0.3)
    writer = cluster.clients["writer"]
    writer.script["await_acked"] = [FENCED]
    broken = {**FENCED, "ok": True, "acked": 4, "unknown": 3, "failed": 1, "outstanding": 2}
    writer.script.update({"stop": [broken], "status": [broken] * 2})
    totals, load = ended(running(cluster, close_fraction=1), lambda: len(cluster.ledgers.state) > 3)
    assert totals["rolled"] == 1
    assert (totals["unknown"], totals["failed"]) == (5, 1)
    assert totals["acked"] == 4 + 10 * (totals["ledgers"] - 1)
    assert cluster.ledgers.state[1] == "recovered"
    assert "writer: ledger 1 broke, rolls over: LedgerFenced (-101)" in load.lines


def test_a_slow_ledger_is_waited_for_but_a_time_out_of_bookkeeper_is_an_end(cluster: Any) -> None:
    writer = cluster.clients["writer"]
    writer.script["await_acked"] = [NOT_YET, NOT_YET, {**NOT_YET, "code": -23}]
    with running(cluster) as load:
        load.until(lambda: writer.did("stop"))
    first = writer.did("stop")[0]["handle"]
    assert [asked["handle"] for asked in writer.did("await_acked")].count(first) == 3


def test_a_close_that_fails_leaves_the_ledger_to_the_heir(cluster: Any) -> None:
    cluster.clients["writer"].script["close"] = [NO_BOOKIES]
    with running(cluster, close_fraction=1) as load:
        load.until(lambda: cluster.ledgers.state.get(1) == "recovered")


def test_adds_in_flight_at_the_end_are_waited_for(cluster: Any) -> None:
    writer = cluster.clients["writer"]
    in_flight = {"acked": 4, "unknown": 0, "failed": 0, "outstanding": 6}
    writer.script.update({"stop": [in_flight], "status": [in_flight]})
    totals, _ = ended(running(cluster), lambda: len(cluster.ledgers.state) > 1)
    assert len(writer.did("status")) == 2
    assert totals["unknown"] == 0
    assert totals["acked"] == 10 * totals["ledgers"]


def test_a_cluster_without_enough_bookies_is_tried_again_and_said_once(cluster: Any) -> None:
    cluster.clients["writer"].script["create"] = [NO_BOOKIES, NO_BOOKIES]
    with running(cluster) as load:
        load.until(lambda: cluster.ledgers.state)
    assert load.lines == ["writer: no ledger can be created: NotEnoughBookies (-6)"]


def test_a_writer_that_dies_goes_on_after_its_next_start() -> None:
    cluster = fake_cluster("writer", "closer")
    writer = cluster.clients["writer"]
    writer.script["await_acked"] = [BREAK]
    with running(cluster, closer="closer", close_fraction=1) as load:
        load.until(lambda: writer.did("await_acked"))
        assert len(cluster.ledgers.state) == 1
        writer.restart()
        load.until(lambda: len(cluster.ledgers.state) > 2)
        load.until(lambda: cluster.ledgers.state[1] == "recovered")
        load.end()
    assert writer.did("hello")


def test_a_writer_that_dies_again_while_it_comes_back_is_waited_for_again(cluster: Any) -> None:
    writer = cluster.clients["writer"]
    writer.script.update({"await_acked": [BREAK], "hello": [BREAK]})
    with running(cluster) as load:
        load.until(lambda: writer.did("await_acked"))
        writer.restart()
        load.until(lambda: len(writer.did("hello")) == 1)
        writer.restart()
        load.until(lambda: len(cluster.ledgers.state) > 2)


def test_a_load_ends_although_its_writer_is_paused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workloads.member, "PATIENCE_S", 0.2)
    cluster.clients["writer"].script["stop"] = SILENCE
    with running(cluster) as load:
        load.until(lambda: cluster.clients["writer"].did("stop"))
        assert load.end()["ledgers"] == 1


def test_readers_tail_every_ledger_from_its_creation() -> None:
    cluster = fake_cluster("writer", "reader")
    reader = cluster.clients["reader"]
    with running(cluster, readers=["reader"], rate_per_s=1, close_fraction=1) as load:
        load.until(lambda: len(reader.did("tail")) > 8)
        totals = load.end()
    assert not any(opened["recovery"] for opened in reader.did("open"))
    assert [opened["ledger"] for opened in reader.did("open")][:8] == list(range(1, 9))
    assert totals["read"] == 10 * len(reader.did("tail"))
    assert reader.handles == {}


def test_a_reader_keeps_a_bounded_number_of_tails() -> None:
    cluster = fake_cluster("writer", "reader")
    reader = cluster.clients["reader"]
    with running(cluster, readers=["reader"]) as load:
        load.until(lambda: len(reader.did("tail")) > 20)
        assert len(reader.handles) <= 6


def test_a_reader_that_dies_forgets_its_tails_and_follows_again_after_its_next_start() -> None:
    cluster = fake_cluster("writer", "reader")
    reader = cluster.clients["reader"]
    reader.script["open"] = [None, None, BREAK]
    with running(cluster, readers=["reader"]) as load:
        load.until(lambda: len(reader.did("open")) == 3)
        reader.restart()
        load.until(lambda: len(reader.did("tail")) > 20)
        load.end()
    before = {asked["handle"] for asked in reader.did("tail")[:2]}
    assert before.isdisjoint(asked["handle"] for asked in reader.did("stop"))


def test_two_loads_on_one_client_use_different_handles(cluster: Any) -> None:
    with (
        running(cluster, seed=1) as one,
        running(cluster, seed=2) as other,
    ):
        one.until(lambda: len(cluster.ledgers.state) > 10)
        one.end()
        other.end()


def test_what_one_member_raises_ends_the_load() -> None:
    cluster = fake_cluster("w1", "w2")

    def broken(*_: Any, **__: Any) -> Any:
        raise UsageError("a wrong answer")

    cluster.clients["w2"].submit = broken
    with running(cluster, writers=["w1", "w2"]) as load, pytest.raises(UsageError, match="a wrong answer"):
        load.totals()
