"""Expiry: the link is cut until the store has forgotten the bookie, and mended until it knows it again."""

from __future__ import annotations

from typing import Any

import pytest

from nemesis.active import Active
from protocol.errors import FaultError, UsageError
from tests.unit.nemesis.fault_stories import WHOLE, Lines, inject, phases, proof


class Store:
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
def store(cluster: Any) -> Store:
    cluster.metadata = Store(cluster)
    return cluster.metadata


def test_a_session_expires_and_comes_back(store: Store, cluster: Any, active: Active, lines: Lines) -> None:
    inject(active, "expire", target="b1")
    assert store.registered() == {"b2"}
    assert cluster.links.state("b1", "zk1").cut
    assert active.heal(target="b1") == ["expire b1"]
    assert store.registered() == {"b1", "b2"}
    assert phases(lines) == WHOLE
    assert proof(lines, "healed") == {"began_ns": proof(lines, "healed")["began_ns"], "registered": True}


def test_a_session_that_does_not_end_is_no_expiry(cluster: Any, active: Active, lines: Lines) -> None:
    cluster.metadata = Store(cluster, patience=10**9)
    with pytest.raises(FaultError, match=r"waited 0\.01 s for b1 to be no longer registered"):
        inject(active, "expire", target="b1", timeout_s=0.01)
    assert phases(lines) == ["planned", "failed", "healed"]
    assert not cluster.links.state("b1", "zk1").cut


def test_a_bookie_that_ends_by_itself_is_not_waited_for(
    store: Store, cluster: Any, active: Active, monkeypatch: pytest.MonkeyPatch
) -> None:
    inject(active, "expire", target="b1")

    def b1_ends() -> frozenset[str]:
        cluster.process("b1").kill()
        return frozenset({"b2"})

    monkeypatch.setattr(store, "registered", b1_ends)
    with pytest.raises(FaultError, match="expire b1 was not healed: b1 ended on its own"):
        active.heal(target="b1")


def test_a_bookie_that_does_not_come_back_is_not_healed(store: Store, active: Active) -> None:
    inject(active, "expire", target="b1", ready_timeout_s=0.01)
    store._patience = 10**9
    with pytest.raises(FaultError, match=r"expire b1 was not healed: .* for b1 to be registered"):
        active.heal()


def test_one_that_was_killed_meanwhile_has_not_to_come_back(store: Store, active: Active) -> None:
    inject(active, "expire", target="b1", ready_timeout_s=0.01)
    inject(active, "kill", target="b1")
    store._patience = 10**9
    assert active.heal(kind="expire") == ["expire b1"]


def test_who_is_not_registered_has_no_session(store: Store, active: Active) -> None:
    with pytest.raises(UsageError, match="b3 is not registered"):
        inject(active, "expire", target="b3")
