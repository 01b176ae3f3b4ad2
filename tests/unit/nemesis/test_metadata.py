"""Faults of the metadata store: its content is exchanged, and a bookie's session with it expires."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nemesis.nemesis import Nemesis
from protocol.errors import FaultError, UsageError
from tests.nemesis_contract.fault_stories import WHOLE, Lines, changing, inject, phases, proof, start


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
    store: Store, nemesis: Nemesis, lines: Lines, name: str, params: dict[str, str], order: tuple[Any, bool]
) -> None:
    inject(nemesis, "kill", target="zk1")
    inject(nemesis, name, **params)
    assert store.orders == [order]
    assert proof(lines, "injected", 2) == {"boot": 1, "life": 2, "zxid": "0x9", "from": "0x3", "last": "0x8"}
    assert proof(lines, "confirmed", 2) == {"undone_transactions": 5}
    start(nemesis, target="zk1")
    nemesis.heal()
    assert phases(lines, 2) == WHOLE


@pytest.mark.parametrize(("leave", "allowed"), [("nothing", [1]), ("cluster", [])])
def test_bookies_may_end_where_they_cannot_register(
    store: Store, cluster: Any, nemesis: Nemesis, leave: str, allowed: list[int]
) -> None:
    inject(nemesis, "kill", target="b2")
    inject(nemesis, "kill", target="zk1")
    inject(nemesis, "wipe_metadata", leave=leave)
    assert (cluster.process("b1").allowed, cluster.process("b2").allowed) == (allowed, [])


def test_a_store_that_runs_keeps_its_content(store: Store, nemesis: Nemesis) -> None:
    with pytest.raises(UsageError, match="zk1 is running, and its content can be changed only"):
        inject(nemesis, "wipe_metadata")


def test_only_a_snapshot_that_there_is_can_be_restored(store: Store, nemesis: Nemesis) -> None:
    inject(nemesis, "kill", target="zk1")
    with pytest.raises(UsageError, match="zk1 has no snapshot 'late'"):
        inject(nemesis, "restore_metadata", to="late")


def test_a_restore_of_what_is_there_already_is_none(store: Store, nemesis: Nemesis) -> None:
    store.then = {**store.then, "from": "0x8"}
    inject(nemesis, "kill", target="zk1")
    with pytest.raises(FaultError, match="zk1 has the same content as before"):
        inject(nemesis, "restore_metadata", to="early")


def test_a_store_that_was_started_meanwhile_refutes_it(store: Store, cluster: Any, nemesis: Nemesis) -> None:
    inject(nemesis, "kill", target="zk1")
    again = changing(cluster, lambda: vars(cluster.process("zk1")).update(boot=2))
    with pytest.raises(FaultError, match="but it is down in boot 2: it was started meanwhile"):
        inject(again, "wipe_metadata")


class Sessions:
    """Forgets a bookie at the third look after the cut, and knows it again at the third after the mending."""

    def __init__(self, cluster: Any, *, patience: int = 3) -> None:
        self._cluster = cluster
        self._names = {"b1", "b2"}
        self._patience = patience
        self._looks = 0

    def registered(self) -> frozenset[str]:
        cut = self._cluster.links.state("b1", "zk1").cut
        if cut == ("b1" in self._names):
            self._looks += 1
        if self._looks >= self._patience:
            self._names ^= {"b1"}
            self._looks = 0
        return frozenset(self._names)


@pytest.fixture
def sessions(cluster: Any) -> Sessions:
    cluster.metadata = Sessions(cluster)
    return cluster.metadata


def test_a_session_expires_and_comes_back(
    sessions: Sessions, cluster: Any, nemesis: Nemesis, lines: Lines
) -> None:
    inject(nemesis, "expire", target="b1")
    assert sessions.registered() == {"b2"}
    assert cluster.links.state("b1", "zk1").cut
    assert proof(lines, "confirmed")["registered"] is False
    assert nemesis.heal(target="b1") == ["expire b1"]
    assert sessions.registered() == {"b1", "b2"}
    assert phases(lines) == WHOLE
    assert proof(lines, "healed") == {"began_ns": proof(lines, "healed")["began_ns"], "registered": True}


def test_a_session_that_does_not_end_is_no_expiry(cluster: Any, nemesis: Nemesis, lines: Lines) -> None:
    cluster.metadata = Sessions(cluster, patience=10**9)
    with pytest.raises(FaultError, match=r"waited 0\.01 s for b1 to be no longer registered"):
        inject(nemesis, "expire", target="b1", timeout_s=0.01)
    assert phases(lines) == ["planned", "failed", "healed"]
    assert not cluster.links.state("b1", "zk1").cut


def test_a_session_that_is_back_before_it_is_confirmed_refutes_it(sessions: Sessions, cluster: Any) -> None:
    for change, message in (
        (lambda: cluster.links.heal("b1", "zk1"), "b1-zk1 is not cut"),
        (lambda: sessions._names.add("b1"), "b1 is registered again although its link is cut"),
    ):
        with pytest.raises(FaultError, match=message):
            inject(changing(cluster, change), "expire", target="b1")


def test_a_bookie_that_ends_by_itself_is_not_waited_for(
    sessions: Sessions, cluster: Any, nemesis: Nemesis, monkeypatch: pytest.MonkeyPatch
) -> None:
    inject(nemesis, "expire", target="b1")

    def b1_ends() -> frozenset[str]:
        cluster.process("b1").kill()
        return frozenset({"b2"})

    monkeypatch.setattr(sessions, "registered", b1_ends)
    with pytest.raises(FaultError, match="expire b1 was not healed: b1 ended on its own"):
        nemesis.heal(target="b1")


def test_a_bookie_that_does_not_come_back_is_not_healed(sessions: Sessions, nemesis: Nemesis) -> None:
    inject(nemesis, "expire", target="b1", ready_timeout_s=0.01)
    sessions._patience = 10**9
    with pytest.raises(FaultError, match=r"expire b1 was not healed: .* for b1 to be registered"):
        nemesis.heal()


def test_one_that_was_killed_meanwhile_has_not_to_come_back(sessions: Sessions, nemesis: Nemesis) -> None:
    inject(nemesis, "expire", target="b1", ready_timeout_s=0.01)
    inject(nemesis, "kill", target="b1")
    sessions._patience = 10**9
    assert nemesis.heal(kind="expire") == ["expire b1"]


def test_who_is_not_registered_has_no_session(sessions: Sessions, nemesis: Nemesis) -> None:
    with pytest.raises(UsageError, match="b3 is not registered"):
        inject(nemesis, "expire", target="b3")
