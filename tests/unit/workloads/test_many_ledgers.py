"""Very many ledgers that stay open, and the recovery of all: how many, whose, and what of refusals."""

from __future__ import annotations

from functools import partial
from typing import Any

from protocol.metadata import LedgerState
from tests.unit.workloads.fake_clients import BREAK, FENCED, NO_BOOKIES, fake_cluster
from tests.unit.workloads.running import load_of
from workloads.many_ledgers import ManyLedgers
from workloads.recover_all import RecoverAll

CLIENTS = ("one",)
many = partial(load_of, ManyLedgers, writers=["one"])


def made(cluster: Any, **params: Any) -> tuple[dict[str, int], Any]:
    with many(cluster, ledgers=40, **params) as load:
        return load.totals(), load


def test_all_are_made_and_stay_open_and_the_load_ends_by_itself() -> None:
    cluster = fake_cluster("one", "other")
    totals, load = made(cluster, writers=["one", "other"], entries_per_ledger=3)
    assert totals == {"ledgers": 40, "filled": 40, "acked": 120, "unknown": 0, "failed": 0}
    assert set(cluster.ledgers.state.values()) == {"open"}
    assert sum(len(client.handles) for client in cluster.clients.values()) == 40
    assert sorted(load.named.values()) == sorted(cluster.ledgers.state)


def test_a_ledger_that_cannot_be_made_or_filled_is_made_up_for(cluster: Any) -> None:
    broken = {**FENCED, "acked": 0, "unknown": 2, "failed": 0, "outstanding": 0}
    cluster.clients["one"].script = {"create": [NO_BOOKIES], "append": [broken]}
    totals, load = made(cluster, at_once=1)
    assert (totals["ledgers"], totals["filled"], totals["unknown"]) == (41, 40, 2)
    assert "one: no ledger can be created: NotEnoughBookies (-6)" in load.lines


def test_a_writer_that_dies_goes_on_after_its_next_start(cluster: Any) -> None:
    one = cluster.clients["one"]
    one.script["append"] = [None, BREAK]
    with many(cluster, ledgers=5, at_once=1) as load:
        load.until(lambda: len(one.did("append")) == 2)
        one.restart()
        assert load.totals()["filled"] == 5


def test_an_end_comes_before_all_are_made(cluster: Any) -> None:
    cluster.clients["one"].script["create"] = dict(NO_BOOKIES)
    with many(cluster, ledgers=5) as load:
        load.until(lambda: load.lines)
        assert load.end()["ledgers"] == 0


def test_every_ledger_that_is_not_closed_is_recovered_once() -> None:
    cluster = fake_cluster("one", "recoverer")
    made(cluster)
    states = cluster.ledgers.state
    states[7] = "closed"

    def ledger(number: int) -> tuple[Any, int]:
        open_ = states[number] == "open"
        return type("Found", (), {"state": LedgerState.OPEN if open_ else LedgerState.CLOSED}), 0

    cluster.ledgers.ledger, cluster.ledgers.ledgers = ledger, lambda: sorted(states)
    cluster.clients["recoverer"].script["open"] = [FENCED]
    with load_of(RecoverAll, cluster, recoverers=["recoverer"], at_once=4) as load:
        assert load.totals() == {"recovered": 38, "refused": 1, "closed_already": 1}
    assert cluster.clients["recoverer"].handles == {}
    assert sorted(states.values()).count("recovered") == 38
