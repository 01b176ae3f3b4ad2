"""The forced load on clients that keep ledgers in memory."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from protocol.errors import UsageError
from tests.unit.workloads.fake_clients import BREAK, FENCED, NO_BOOKIES
from tests.unit.workloads.running import ended, load_of
from workloads.forced import ForcedLoad

CLIENTS = ("writer",)
running = partial(
    load_of, ForcedLoad, writers=["writer"], entries_per_ledger=10, entries_per_force=4, unforced_fraction=0
)


def doings(cluster: Any, handle: str) -> list[Any]:
    """What was asked of a handle: the number of entries of an append, else the command."""
    return [
        asked.get("entries", do) for do, asked in cluster.clients["writer"].asked if asked["handle"] == handle
    ]


def first_handle(cluster: Any) -> str:
    return str(cluster.clients["writer"].did("create")[0]["handle"])


def test_a_force_follows_so_many_adds_and_the_rest(cluster: Any) -> None:
    totals, _ = ended(running(cluster, close_fraction=1), lambda: len(cluster.ledgers.state) > 2)
    assert doings(cluster, first_handle(cluster)) == ["create", 4, "force", 4, "force", 2, "force", "close"]
    assert all(created["deferred"] for created in cluster.clients["writer"].did("create"))
    assert totals["forced"] >= 10
    assert totals["acked"] >= totals["forced"]
    assert totals["forces"] == len(cluster.clients["writer"].did("force"))


def test_the_last_adds_of_some_ledgers_are_not_forced(cluster: Any) -> None:
    ended(running(cluster, unforced_fraction=1, close_fraction=1), lambda: len(cluster.ledgers.state) > 2)
    assert doings(cluster, first_handle(cluster)) == ["create", 4, "force", 4, "force", 2, "close"]


@pytest.mark.parametrize("do", ["append", "force"])
def test_what_is_refused_makes_the_writer_roll_over_and_the_ledger_is_recovered(
    cluster: Any, do: str
) -> None:
    cluster.clients["writer"].script[do] = [FENCED]
    totals, load = ended(running(cluster), lambda: cluster.ledgers.state.get(1) == "recovered")
    assert totals["rolled"] == 1
    assert "writer: ledger 1 broke, rolls over: LedgerFenced (-101)" in load.lines


def test_a_cluster_without_enough_bookies_is_tried_again(cluster: Any) -> None:
    cluster.clients["writer"].script["create"] = [NO_BOOKIES]
    with running(cluster) as load:
        load.until(lambda: cluster.ledgers.state)


def test_a_writer_that_dies_goes_on_after_its_next_start(cluster: Any) -> None:
    writer = cluster.clients["writer"]
    writer.script["force"] = [BREAK]
    with running(cluster) as load:
        load.until(lambda: writer.did("force"))
        writer.restart()
        load.until(lambda: len(cluster.ledgers.state) > 2)
        load.until(lambda: cluster.ledgers.state[1] == "recovered")


def test_a_client_that_speaks_v2_is_told_to_the_user(cluster: Any) -> None:
    cluster.clients["writer"].script["append"] = {"ok": False, "error": "IllegalOp", "code": -100}
    with running(cluster) as load, pytest.raises(UsageError, match="protocol V2 does not know it") as caught:
        load.totals()
    assert "useV2WireProtocol" in caught.value.remedy
