"""The striped load on clients that keep ledgers in memory."""

from __future__ import annotations

from functools import partial
from typing import Any

from protocol.errors import ServerError
from tests.unit.workloads.running import ended, load_of
from workloads.striped import StripedLoad

CLIENTS = ("writer",)
running = partial(load_of, StripedLoad, writers=["writer"], entries_per_ledger=10)


def never_full(cluster: Any) -> None:
    """Only changes of the ensemble end a ledger."""
    cluster.clients["writer"].script["append"] = {"started": True}


def test_ledgers_are_wider_than_their_write_quorum(cluster: Any) -> None:
    totals, _ = ended(running(cluster), lambda: len(cluster.ledgers.state) > 2)
    created = cluster.clients["writer"].did("create")[0]
    assert (created["ensemble"], created["write_quorum"], created["ack_quorum"]) == (4, 3, 2)
    assert totals["acked"] == 10 * totals["ledgers"]
    assert totals["changes"] == 0


def test_a_ledger_ends_after_so_many_ensemble_changes(cluster: Any) -> None:
    never_full(cluster)
    with running(cluster, changes_per_ledger=3, close_fraction=1) as load:
        load.until(lambda: cluster.clients["writer"].did("await_acked"))
        cluster.ledgers.changes[1] = 2
        seen = len(cluster.clients["writer"].did("await_acked"))
        load.until(lambda: len(cluster.clients["writer"].did("await_acked")) > seen + 2)
        assert list(cluster.ledgers.state) == [1]
        cluster.ledgers.changes[1] = 3
        load.until(lambda: len(cluster.ledgers.state) == 2)
        totals = load.end()
    assert cluster.ledgers.state[1] == "closed"
    assert totals["changes"] == 3


def test_metadata_that_cannot_be_read_ends_no_ledger(cluster: Any) -> None:
    never_full(cluster)

    def away(_ledger: int) -> Any:
        raise ServerError("ZooKeeper is away")

    cluster.metadata.ledger = away
    with running(cluster) as load:
        load.until(lambda: len(cluster.clients["writer"].did("await_acked")) > 5)
        assert load.end()["ledgers"] == 1
