"""Exchanging the metadata store's content: when it is refused, and what shows that it took effect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nemesis.active import Active
from protocol.errors import FaultError, UsageError
from tests.unit.nemesis.fault_stories import WHOLE, Lines, inject, phases, proof, start


class Store:
    """The required powers of zk1; ``then`` gives the next content."""

    def __init__(self) -> None:
        self.orders: list[tuple[str | None, bool]] = []
        self.then = {"life": 2, "zxid": "0x9", "from": "0x3", "last": "0x8"}

    def put_back(self, to: str | None, *, new_cluster: bool = False) -> dict[str, Any]:
        self.orders.append((to, new_cluster))
        return self.then


@pytest.fixture
def store(cluster: Any) -> Store:
    zookeeper, store = cluster.process("zk1"), Store()
    zookeeper.places = lambda: {"data": Path("/data")}
    zookeeper.snapshot = Path
    zookeeper.snapshots = lambda: {"early": Path("/early")}
    zookeeper.put_back = store.put_back
    cluster.bookies = {name: cluster.process(name) for name in ("b1", "b2")}
    return store


@pytest.mark.parametrize(
    ("name", "params", "order"),
    [
        ("restore_metadata", {"to": "early"}, ("early", False)),
        ("wipe_metadata", {}, (None, False)),
        ("wipe_metadata", {"leave": "cluster"}, (None, True)),
    ],
)
def test_it_is_done_at_once_and_never_undone(
    store: Store, active: Active, lines: Lines, name: str, params: dict[str, str], order: tuple[Any, bool]
) -> None:
    inject(active, "kill", target="zk1")
    inject(active, name, **params)
    assert store.orders == [order]
    assert proof(lines, "injected", 2) == {"boot": 1, "life": 2, "zxid": "0x9", "from": "0x3", "last": "0x8"}
    assert proof(lines, "confirmed", 2) == {"undone_transactions": 5}
    start(active, target="zk1")
    active.heal()
    assert phases(lines, 2) == WHOLE


@pytest.mark.parametrize(("leave", "allowed"), [("nothing", [1]), ("cluster", [])])
def test_bookies_may_end_where_they_cannot_register(
    store: Store, cluster: Any, active: Active, leave: str, allowed: list[int]
) -> None:
    inject(active, "kill", target="b2")
    inject(active, "kill", target="zk1")
    inject(active, "wipe_metadata", leave=leave)
    assert (cluster.process("b1").allowed, cluster.process("b2").allowed) == (allowed, [])


def test_a_store_that_runs_keeps_its_content(store: Store, active: Active) -> None:
    with pytest.raises(UsageError, match="zk1 is running, and its content is its own until it is down"):
        inject(active, "wipe_metadata")


def test_only_a_snapshot_that_there_is_can_be_restored(store: Store, active: Active) -> None:
    inject(active, "kill", target="zk1")
    with pytest.raises(UsageError, match="zk1 has no snapshot 'late'"):
        inject(active, "restore_metadata", to="late")


def test_a_restore_of_what_is_there_already_is_none(store: Store, active: Active) -> None:
    store.then = {**store.then, "from": "0x8"}
    inject(active, "kill", target="zk1")
    with pytest.raises(FaultError, match="nothing was written since"):
        inject(active, "restore_metadata", to="early")
