"""A process without its network, or half of it: only where it has one, confirmed, back when it is healed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from cluster.interface import PacketDirection
from nemesis.nemesis import Nemesis
from protocol.errors import FaultError, UsageError
from tests.nemesis_contract.fault_stories import Lines, inject, proof
from tests.unit.nemesis.fake_cluster import FakeCluster


class FakeNetworks:
    """Processes off their network, and lost packets by process; ``stuck`` processes do not change."""

    def __init__(self, *stuck: str, lacking: str | None = None) -> None:
        self.off: set[str] = set()
        self.lost: dict[str, dict[PacketDirection, int]] = {}
        self.stuck = set(stuck)
        self.lacking = lacking

    def disconnect(self, name: str) -> None:
        self.off |= {name} - self.stuck

    def connect(self, name: str) -> None:
        self.off -= {name}

    def connected(self, name: str) -> bool:
        return name not in self.off

    def lacks_for_dropping(self) -> str | None:
        return self.lacking

    def drop_packets(self, name: str, ways: Collection[PacketDirection]) -> None:
        if name not in self.stuck:
            self.lost[name] = dict.fromkeys(ways, 7)

    def dropped_packets(self, name: str) -> Mapping[PacketDirection, int]:
        return self.lost.get(name, {})


@pytest.mark.parametrize("fault", ["disconnect", "blackhole"])
def test_where_processes_share_a_network_it_is_not_available(nemesis: Nemesis, fault: str) -> None:
    with pytest.raises(UsageError, match="this backend has no separate network for each process"):
        inject(nemesis, fault, target="b2")


def test_it_is_off_until_it_is_healed(nemesis: Nemesis, cluster: FakeCluster) -> None:
    cluster.networks = FakeNetworks()
    inject(nemesis, "disconnect", target="b2")
    assert cluster.networks.off == {"b2"}
    nemesis.heal()
    assert cluster.networks.off == set()
    assert "wait_ready b2" in cluster.orders.given


@pytest.mark.parametrize("fault", ["disconnect", "blackhole"])
@pytest.mark.parametrize("target", ["observer", "proxy"])
def test_the_record_of_the_run_is_never_hit(
    nemesis: Nemesis, cluster: FakeCluster, target: Any, fault: str
) -> None:
    cluster.networks = FakeNetworks()
    with pytest.raises(UsageError, match="is never hit"):
        inject(nemesis, fault, target=target)


@pytest.mark.parametrize(
    ("way", "lost"),
    [("incoming", {"incoming"}), ("outgoing", {"outgoing"}), ("both", {"incoming", "outgoing"})],
)
def test_packets_are_lost_one_way_or_both(
    nemesis: Nemesis, cluster: FakeCluster, lines: Lines, way: str, lost: set[str]
) -> None:
    cluster.networks = FakeNetworks()
    inject(nemesis, "blackhole", target="b2", way=way)
    assert proof(lines, "confirmed")["dropped"] == dict.fromkeys(lost, 7)
    nemesis.heal()
    assert proof(lines, "healed")["dropped"] == dict.fromkeys(lost, 7)
    assert cluster.networks.dropped_packets("b2") == {}
    assert "wait_ready b2" in cluster.orders.given


def test_a_network_that_stays_as_it_was_is_no_fault(nemesis: Nemesis, cluster: FakeCluster) -> None:
    cluster.networks = FakeNetworks("b2")
    with pytest.raises(FaultError, match="b2 is still on its network"):
        inject(nemesis, "disconnect", target="b2")
    with pytest.raises(FaultError, match="b2 loses no packets, not incoming"):
        inject(nemesis, "blackhole", target="b2", way="incoming")


def test_where_no_packets_can_be_dropped_it_says_why(nemesis: Nemesis, cluster: FakeCluster) -> None:
    cluster.networks = FakeNetworks(lacking="nft missing")
    with pytest.raises(UsageError, match="nft missing"):
        inject(nemesis, "blackhole", target="b2")


def test_what_is_still_off_its_network_is_not_healed(nemesis: Nemesis, cluster: FakeCluster) -> None:
    cluster.networks = FakeNetworks()
    inject(nemesis, "disconnect", target="b2")
    cluster.networks.connect = lambda name: None
    with pytest.raises(FaultError, match="b2 is not back on its network"):
        nemesis.heal()


def test_what_still_loses_packets_is_not_healed(nemesis: Nemesis, cluster: FakeCluster) -> None:
    cluster.networks = FakeNetworks()
    inject(nemesis, "blackhole", target="b2", way="incoming")
    cluster.networks.stuck = {"b2"}
    with pytest.raises(FaultError, match="b2 still loses incoming packets"):
        nemesis.heal()


def test_packets_lost_the_other_way_too_are_another_fault(nemesis: Nemesis, cluster: FakeCluster) -> None:
    cluster.networks = FakeNetworks()
    drop = cluster.networks.drop_packets
    cluster.networks.drop_packets = lambda name, ways: drop(name, PacketDirection if ways else ())
    with pytest.raises(FaultError, match="b2 loses incoming and outgoing packets, not incoming"):
        inject(nemesis, "blackhole", target="b2", way="incoming")
