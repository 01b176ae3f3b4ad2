"""Append, recovery, failover, striped and forced loads on a real cluster, while servers and clients fail."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from typing import Any

import pytest

import harness.vocabulary  # noqa: F401  # registers loads and faults
from protocol.errors import UsageError
from protocol.metadata import LedgerState
from tests.live.clusters import running
from tests.live.workloads.driving import Load, driven

CLIENTS = ("c1", "c2", "c3")
CLOSER = "c4"
QUICK = {"entries_per_ledger": 200, "entry_bytes": 128, "rate_per_s": 400}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with running(tmp_path_factory.mktemp("loads"), bookies=5, clients=(*CLIENTS, CLOSER)) as opened:
        yield opened
        assert opened.unplanned() == []


def states(cluster: Any, ledgers: list[int]) -> set[LedgerState]:
    return {cluster.metadata.ledger(ledger)[0].state for ledger in ledgers}


def test_the_append_load_goes_on_through_deaths_and_ends_with_its_totals(cluster: Any) -> None:
    roles = {"writers": ["c1", "c2"], "readers": ["c3"], "closer": CLOSER}
    with driven("append", cluster, **roles, **QUICK) as load:
        load.wait_for_more("c1", more=2)
        load.breaks("kill", target="b1")
        load.wait_for_more("c1", more=2)
        load.heals()
        for victim in ("c1", "c3", CLOSER):
            load.breaks("kill", target=victim)
        load.wait_for_more("c2")
        load.heals()
        load.wait_for_more("c1", more=2)
        load.breaks("pause", target="c2")
        load.wait_for_more("c1")
        load.heals()
        load.wait_for_more("c2")
        while not any("rolls over" in line for line in load.lines if line.startswith("c2:")):
            fence(cluster, load.of("c2")[-1])  # which c2 may have left meanwhile
            load.wait_for_more("c2")
    totals, ledgers = load.totals, load.ledgers.values()
    assert totals["ledgers"] == len(ledgers) == len(set(ledgers))
    assert totals["acked"] > 200 * 6
    assert totals["read"] > 0
    assert totals["recovered"] > 0
    assert totals["rolled"] > 0, load.lines
    closed = [cluster.metadata.ledger(ledger)[0].state for ledger in ledgers].count(LedgerState.CLOSED)
    assert closed >= totals["closed"] + totals["recovered"] > 0


def fence(cluster: Any, ledger: int) -> None:
    """Take a ledger away from its writer."""
    taken = cluster.clients[CLOSER].call("open", timeout_s=60, handle="thief", ledger=ledger, recovery=True)
    assert taken["ok"], taken


def test_competing_recoveries_agree_while_bookies_and_recoverers_fail(cluster: Any) -> None:
    with driven("recovery", cluster, writers=["c1"], recoverers=["c2", "c3"], **QUICK) as load:
        load.wait_for_more("c1", more=2)
        load.breaks("kill", target="b1")
        load.wait_for_more("c1", more=2)
        load.heals()
        load.breaks("kill", target="c2")
        load.wait_for_more("c1", more=2)
        load.heals()
        load.breaks("pause", target="c1")
        load.heals()
        load.breaks("cut", **{"from": "c3", "to": "b2"})
        load.wait_for_more("c1", more=2)
        load.heals()
        load.wait_for_more("c1", more=3)
    totals = load.totals
    assert totals["disagreed"] == 0, load.lines
    assert totals["agreed"] >= 3, (totals, load.lines)
    assert totals["recovered"] >= 2 * totals["agreed"]
    assert totals["rolled"] >= len(load.ledgers) - 1
    taken = load.of("c1")[: totals["agreed"]]
    assert states(cluster, taken) == {LedgerState.CLOSED}


def test_a_paused_writer_is_replaced_and_gets_no_late_add_acknowledged(cluster: Any) -> None:
    long = {
        **QUICK,
        "entries_per_ledger": 1000,
    }  # so that the pause meets a ledger, and not what is between two
    with driven("failover", cluster, writers=list(CLIENTS), patience_s=1, late_entries=5, **long) as load:
        load.wait_for_more("c1", more=2)
        load.breaks("pause", target="c1")
        load.wait_for_more("c2", "c3")
        load.heals()
        load.until(lambda: any("c1: was replaced" in line for line in load.lines), "c1 to find out")
        victim = load.newest_writer()
        load.breaks("kill", target=victim)
        load.wait_for_more(*(name for name in CLIENTS if name != victim))
        load.heals()
        load.wait_for_more(*CLIENTS)
    totals = load.totals
    assert totals["takeovers"] >= 2, load.lines
    assert totals["late_acked"] == 0, load.lines
    replaced = sum("was replaced" in line for line in load.lines)
    # No add is begun after one was refused.
    assert 1 <= totals["late_refused"] <= 5 * replaced, load.lines
    assert totals["ledgers"] == len(load.ledgers)
    assert totals["closed"] > 0
    assert states(cluster, sorted(load.ledgers.values())[:-1]) == {LedgerState.CLOSED}


def break_until_it_shows(load: Load, kind: str, *params: dict[str, str]) -> None:
    """Break one after the other until the writer has a new ledger.

    Of any two bookies one at least is in an ensemble of four out of five; a short fault may meet no add.
    """
    wanted = len(load.of("c1")) + 1
    for one in islice(cycle(params), 30):
        load.breaks(kind, **one)
        load.heals()
        if len(load.of("c1")) >= wanted:
            break
    load.until(lambda: len(load.of("c1")) >= wanted, f"a ledger after {kind}")


def test_striped_ledgers_last_until_their_ensembles_changed(cluster: Any) -> None:
    long = {**QUICK, "entries_per_ledger": 100_000}
    with driven("striped", cluster, writers=["c1"], closer="c2", changes_per_ledger=1, **long) as load:
        load.wait_for_more("c1")
        break_until_it_shows(load, "kill", {"target": "b1"}, {"target": "b2"})
        break_until_it_shows(load, "cut", {"from": "c1", "to": "b3"}, {"from": "c1", "to": "b4"})
    assert load.totals["ledgers"] == len(load.of("c1"))
    assert load.totals["changes"] >= 2, (load.totals, load.lines)
    metadata = [cluster.metadata.ledger(ledger)[0] for ledger in load.of("c1")]
    assert sum(len(one.fragments) - 1 for one in metadata) >= load.totals["changes"]
    assert {one.quorums.ensemble for one in metadata} == {4}


def test_forced_adds_go_on_in_a_new_ledger_when_a_bookie_or_the_writer_dies(cluster: Any) -> None:
    with driven("forced", cluster, writers=["c1"], closer="c2", entries_per_force=20, **QUICK) as load:
        load.wait_for_more("c1", more=3)
        for target in islice(cycle(("b1", "b2", "b3", "b4", "b5")), 30):  # an ensemble has three of them
            load.breaks("kill", target=target)
            load.wait_for_more("c1")
            load.heals()
            if any("broke" in line for line in load.lines):
                break
        load.breaks("kill", target="c1")
        load.heals()
        load.wait_for_more("c1", more=2)
    totals = load.totals
    assert totals["rolled"] > 0, load.lines
    assert totals["forced"] >= 3 * 180
    assert totals["forced"] <= totals["acked"]
    assert totals["forces"] >= totals["forced"] / 20
    assert totals["closed"] + totals["recovered"] >= 3


def test_a_client_that_speaks_v2_cannot_force(cluster: Any) -> None:
    client = cluster.clients["c3"]
    client.kill()
    client.start(conf={"useV2WireProtocol": "true"})
    client.wait_ready(60)
    try:
        with (
            pytest.raises(UsageError, match="protocol V2 does not know it"),
            driven("forced", cluster, writers=["c3"], **QUICK) as load,
        ):
            load.wait_for_more("c3")
    finally:
        client.kill()
        client.start(conf={"useV2WireProtocol": "false"})
        client.wait_ready(60)
