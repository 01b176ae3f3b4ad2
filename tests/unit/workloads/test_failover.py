"""The failover load on clients that keep ledgers in memory."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.unit.workloads.fake_clients import BREAK, FENCED, NO_BOOKIES, SILENCE, hang
from tests.unit.workloads.running import ended, load_of
from workloads.failover import FailoverLoad
from workloads.leading import Leadership

CLIENTS = ("w1", "w2")
running = partial(
    load_of, FailoverLoad, writers=["w1", "w2"], entries_per_ledger=10, patience_s=0.2, late_entries=3
)


def test_one_writes_and_closes_its_ledgers_and_the_other_waits(cluster: Any) -> None:
    totals, _ = ended(running(cluster, patience_s=30), lambda: len(cluster.ledgers.state) > 4)
    assert not cluster.clients["w2"].asked
    assert totals["closed"] >= 4
    assert totals["acked"] == 10 * totals["ledgers"]
    assert totals["takeovers"] == 0


def test_another_recovers_and_goes_on_when_the_writer_hangs(cluster: Any) -> None:
    hang(cluster.clients["w1"])
    with running(cluster) as load:
        load.until(lambda: "w2: takes" in str(load.lines) or "w2 takes over from w1" in load.lines)
        load.until(lambda: cluster.clients["w2"].did("create"))
        load.end()
    assert cluster.ledgers.state[1] == "recovered"
    opened = cluster.clients["w2"].did("open")[0]
    assert (opened["ledger"], opened["recovery"]) == (1, True)


def test_the_first_wakes_up_and_goes_on_adding_to_its_old_handle(cluster: Any) -> None:
    first = cluster.clients["w1"]
    hang(first)
    with running(cluster) as load:
        load.until(lambda: any("was replaced" in line for line in load.lines))
        totals = load.end()
    begun, late = first.did("append")[:2]
    assert late["handle"] == begun["handle"]
    assert late["entries"] == 3
    assert (totals["late_acked"], totals["late_refused"]) == (0, 3)
    assert "w1: was replaced and goes on in ledger 1: 0 acknowledged, 3 not" in load.lines


def test_late_adds_that_are_acknowledged_are_counted(cluster: Any) -> None:
    """The load only counts them; the verdict judges them."""
    first = cluster.clients["w1"]
    hang(first)
    first.script["append"] = [None, {"acked": 3, "unknown": 0, "failed": 0, "outstanding": 0}]
    with running(cluster) as load:
        load.until(lambda: any("was replaced" in line for line in load.lines))
        assert load.end()["late_acked"] == 3


def test_a_paused_writer_finds_out_when_it_is_resumed_and_then_waits_for_its_turn(cluster: Any) -> None:
    first, second = cluster.clients["w1"], cluster.clients["w2"]
    first.script["await_acked"] = SILENCE
    with running(cluster) as load:
        load.until(lambda: second.did("create"))
        assert len(first.did("append")) == 1
        first.resume()
        load.until(lambda: len(first.did("append")) > 1)
        hang(second)
        load.until(lambda: len(first.did("create")) > 1)
        load.end()


def test_a_dead_writer_is_replaced_at_once_and_comes_back(cluster: Any) -> None:
    first, second = cluster.clients["w1"], cluster.clients["w2"]
    first.script["await_acked"] = [BREAK]
    with running(cluster, patience_s=30) as load:
        load.until(lambda: second.did("create"))
        first.restart()
        second.script["await_acked"] = [BREAK]
        load.until(lambda: len(first.did("create")) > 1)
        totals = load.end()
    assert totals["takeovers"] == 2, load.lines
    assert totals["late_acked"] + totals["late_refused"] == 0


def test_a_takeover_that_is_refused_is_tried_again(cluster: Any) -> None:
    hang(cluster.clients["w1"])
    cluster.clients["w2"].script["open"] = [NO_BOOKIES, NO_BOOKIES]
    totals, load = ended(running(cluster), lambda: cluster.clients["w2"].did("create"))
    assert totals["takeovers"] == 1
    assert "w2: ledger 1 is not recovered yet: NotEnoughBookies (-6)" in load.lines


def test_a_writer_whose_ledger_breaks_recovers_it_and_stays_in_office(cluster: Any) -> None:
    first = cluster.clients["w1"]
    first.script["await_acked"] = [{**FENCED, "acked": 4}]
    first.script["stop"] = [{**FENCED, "acked": 4, "unknown": 6, "failed": 0, "outstanding": 0}]
    totals, _ = ended(running(cluster, patience_s=30), lambda: len(first.did("create")) > 1)
    assert cluster.ledgers.state[1] == "recovered"
    assert (totals["rolled"], totals["unknown"], totals["takeovers"]) == (1, 6, 0)


def test_an_office_has_one_claimant_at_a_time() -> None:
    leadership = Leadership("w1", patience_s=0)
    assert leadership.claim("w2", 0.01) is None
    first = leadership.claim("w1", 0.01)
    assert first is not None
    term = leadership.begin("w1", first, None)
    assert term is not None
    assert leadership.works(term, 1, 0)
    claimed = leadership.claim("w2", 0.01)
    assert claimed is term
    assert leadership.claim("w3", 0.01) is None
    leadership.give_back(claimed)
    assert leadership.claim("w3", 0.01) is term
    assert leadership.begin("w3", term, 1)
    assert not leadership.works(term, 1, 5)


def test_a_slow_writer_that_went_on_is_replaced_only_in_its_newest_ledger() -> None:
    leadership = Leadership("w1", patience_s=0)
    term = leadership.begin("w1", leadership.claim("w1", 0.01), None)
    leadership.works(term, 1, 7)
    assert leadership.claim("w2", 0.01) is term
    leadership.works(term, 2, 0)
    assert leadership.begin("w2", term, 1) is None
    assert leadership.begin("w2", term, 2)
