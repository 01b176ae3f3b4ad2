"""A process without its network, or with one direction: partitions below the links, on separate networks.

``isolate`` cuts or holds each link at the proxy, which itself goes on accepting connections. ``disconnect``
is a pulled cable, ``blackhole`` a network that loses all packets, optionally in one direction only. Both
are silent: connections neither close nor are accepted, and connections that outlast the fault continue
when it is healed. The proxy accepts a new connection over a link, and gives it up after some seconds. The
harness does not reach the process either.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Literal

from cluster.interface import Cluster, Networks, PacketDirection, ProcessState
from nemesis.processes import ProcessFault
from nemesis.registry import FaultContext, HealOrder, Proof, register
from protocol.errors import FaultError, UsageError


class NetworkFault(ProcessFault):
    """A fault of a process's own network."""

    heal_order: ClassVar[HealOrder] = HealOrder.LINKS

    def assert_available(self, cluster: Cluster) -> None:
        super().assert_available(cluster)
        _networks(cluster)

    def await_running(self, cluster: Cluster) -> None:
        """Wait until the process is ready again, if it runs."""
        process = cluster.process(self.target)
        if process.state is ProcessState.RUNNING:
            process.wait_ready(self.ready_timeout_s)


@register
class Disconnect(NetworkFault):
    """Take a server or client off its network without closing connections.

    No message reaches or leaves it, not even the harness's. (A new connection over a link is closed after
    three seconds, because the proxy accepts it.) Only with ``--backend docker``, because plain processes
    share one network.
    """

    kind = "disconnect"

    def inject(self, context: FaultContext) -> Proof:
        _networks(context.cluster).disconnect(self.target)
        return {}

    def confirm(self, context: FaultContext) -> Proof:
        if _networks(context.cluster).connected(self.target):
            raise FaultError(f"{self.target} is still on its network")
        return {"connected": False}

    def heal(self, context: FaultContext) -> Proof:
        networks = _networks(context.cluster)
        networks.connect(self.target)
        if not networks.connected(self.target):
            raise FaultError(f"{self.target} is not back on its network")
        self.await_running(context.cluster)
        return {"connected": True}


@register
class Blackhole(NetworkFault):
    """Drop all packets of a server or client, in one direction or both.

    Its network's packet filter drops them without an answer, over boots of the server too. The rules that the
    kernel reports confirm it, and the record has the number of dropped packets. Only with ``--backend
    docker``, as root, with the package ``nftables``.
    """

    kind = "blackhole"
    way: Literal["incoming", "outgoing", "both"] = "both"

    def ways(self) -> frozenset[PacketDirection]:
        """The directions in which packets are dropped, in the kernel."""
        return frozenset(PacketDirection) if self.way == "both" else frozenset({PacketDirection(self.way)})

    def assert_available(self, cluster: Cluster) -> None:
        super().assert_available(cluster)
        if reason := _networks(cluster).lacks_for_dropping():
            raise UsageError(reason)

    def inject(self, context: FaultContext) -> Proof:
        _networks(context.cluster).drop_packets(self.target, self.ways())
        return {}

    def confirm(self, context: FaultContext) -> Proof:
        closed = _networks(context.cluster).dropped_packets(self.target)
        if closed.keys() != self.ways():
            raise FaultError(f"{self.target} loses {_format(closed)} packets, not {_format(self.ways())}")
        return {"dropped": dict(closed)}

    def heal(self, context: FaultContext) -> Proof:
        networks = _networks(context.cluster)
        dropped = networks.dropped_packets(self.target)
        networks.drop_packets(self.target, ())
        if still := networks.dropped_packets(self.target):
            raise FaultError(f"{self.target} still loses {_format(still)} packets")
        self.await_running(context.cluster)
        return {"dropped": dict(dropped)}


def _format(ways: Collection[PacketDirection]) -> str:
    return " and ".join(sorted(ways)) or "no"


def _networks(cluster: Cluster) -> Networks:
    """The networks of processes, ``UsageError`` where they have no separate ones."""
    if cluster.networks is None:
        raise UsageError(
            "this backend has no separate network for each process; `isolate` cuts or holds all links"
        )
    return cluster.networks
