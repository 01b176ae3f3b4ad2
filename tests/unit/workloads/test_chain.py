"""The chain load on clients that keep ledgers, and the lists of logs, in memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.unit.workloads.fake_clients import BREAK, FENCED, NO_BOOKIES, SILENCE, fake_cluster, hang
from tests.unit.workloads.running import ended, load_of
from workloads.chain import ChainLoad

CLIENTS = ("w1", "w2")
running = partial(
    load_of, ChainLoad, writers=["w1", "w2"], entries_per_ledger=10, patience_s=0.2, read_every_s=0.01
)


def test_one_leads_and_each_ledger_is_in_the_list_before_anything_is_added(cluster: Any) -> None:
    totals, _ = ended(running(cluster, patience_s=30), lambda: len(cluster.ledgers.chains.get("log", ())) > 4)
    commands = [do for do, _ in cluster.clients["w1"].asked]
    assert commands[:4] == ["chain_list", "create", "chain_extend", "append"]
    assert not cluster.clients["w2"].asked
    assert totals["closed"] >= 4
    assert (totals["takeovers"], totals["deposed"]) == (0, 0)


def test_whoever_takes_over_recovers_the_last_ledger_and_puts_its_own_behind_it(cluster: Any) -> None:
    hang(cluster.clients["w1"])
    totals, load = ended(running(cluster), lambda: len(cluster.ledgers.chains.get("log", ())) > 1)
    assert cluster.ledgers.state[1] == "recovered"
    assert cluster.ledgers.chains["log"][0] == 1
    assert totals["takeovers"] >= 1
    assert "w2 takes over log log" in load.lines


def test_without_recovery_the_old_leaders_ledger_stays_as_it_is(cluster: Any) -> None:
    hang(cluster.clients["w1"])
    ended(running(cluster, recover=False), lambda: len(cluster.ledgers.chains.get("log", ())) > 1)
    assert not cluster.clients["w2"].did("open")


def test_a_leader_whose_ledger_is_fenced_leads_no_longer_until_it_takes_over_again(cluster: Any) -> None:
    first = cluster.clients["w1"]
    first.script["await_acked"] = [{**FENCED, "acked": 4}]
    first.script["stop"] = [{**FENCED, "acked": 4, "unknown": 6, "failed": 0, "outstanding": 0}]
    with running(cluster, patience_s=30) as load:
        load.until(lambda: len(cluster.ledgers.chains.get("log", ())) > 1)
        totals = load.end()
    assert totals["rolled"] >= 1
    assert totals["takeovers"] >= 1
    assert "w1: ledger 1 broke: LedgerFenced (-101)" in load.lines


def test_who_loses_the_compare_and_set_leads_no_longer_and_adds_nothing(cluster: Any) -> None:
    first = cluster.clients["w1"]
    first.script["chain_extend"] = [{"ok": False, "error": "MetadataVersion", "code": -17}]
    totals, _ = ended(running(cluster, patience_s=30), lambda: cluster.ledgers.chains.get("log"))
    assert 1 not in cluster.ledgers.chains["log"]
    assert totals["deposed"] == 1
    assert cluster.ledgers.entries[1] == 0


@pytest.mark.parametrize("refusal", ["chain_list", "open"])
def test_a_takeover_that_is_refused_is_tried_again(cluster: Any, refusal: str) -> None:
    hang(cluster.clients["w1"])
    cluster.clients["w2"].script[refusal] = [NO_BOOKIES, NO_BOOKIES]
    _, load = ended(running(cluster), lambda: len(cluster.ledgers.chains.get("log", ())) > 1)
    assert any("NotEnoughBookies (-6)" in line for line in load.lines)


def test_a_dead_leader_is_replaced_at_once(cluster: Any) -> None:
    cluster.clients["w1"].script["await_acked"] = [BREAK]
    ended(running(cluster, patience_s=30), lambda: cluster.clients["w2"].did("create"))


def test_readers_pass_through_the_log_again_and_again_also_after_a_refusal_and_a_death() -> None:
    cluster = fake_cluster("w1", "w2", "r1", "r2")
    first, second = cluster.clients["r1"], cluster.clients["r2"]
    first.script["chain_read"] = [NO_BOOKIES]
    second.script["chain_read"] = [BREAK]
    with running(cluster, readers=["r1", "r2"], patience_s=30) as load:
        load.until(lambda: len(first.did("chain_read")) > 3)
        second.restart()
        load.until(lambda: len(second.did("chain_read")) > 3)
        totals = load.end()
    assert totals["passes"] > 4
    assert "r1: log log is not read to its end: NotEnoughBookies (-6)" in load.lines


def test_a_load_ends_although_a_reader_is_silent() -> None:
    cluster = fake_cluster("w1", "w2", "r1")
    cluster.clients["r1"].script["chain_read"] = SILENCE
    with running(cluster, readers=["r1"]) as load:
        load.until(lambda: cluster.clients["r1"].did("chain_read"))
        cluster.clients["r1"].die()
        cluster.clients["r1"].resume()
        load.end()
