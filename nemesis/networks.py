"""A process without its network, or with one direction: partitions below the links, on separate networks.

``isolate`` cuts or holds each link at the proxy, which itself goes on accepting connections. ``disconnect``
is a pulled cable, ``blackhole`` a network that loses all packets, optionally in one direction only. Both
are silent: connections neither close nor are accepted, and connections that outlast the fault continue
when it is healed. The proxy accepts a new connection over a link, and gives it up after some seconds. The
harness does not reach the process either.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import BaseModel

from cluster.interface import CanDisconnect, Cluster, ProcessState
from cluster.packets import CanDropPackets, Direction
from nemesis.processes import Target
from nemesis.registry import FaultContext, HealOrder, Proof, register
from protocol.addresses import OBSERVER, PROXY
from protocol.errors import FaultError, UsageError


class BlackholeTarget(Target):
    """The process whose packets are lost, and the directions."""

    way: Literal["incoming", "outgoing", "both"] = "both"

    def ways(self) -> frozenset[Direction]:
        """The directions in which packets are dropped."""
        return frozenset(Direction) if self.way == "both" else frozenset({Direction(self.way)})


class _NetworkFault:
    """The common part of both: a target with a network, and how it is restored."""

    name: str
    supersedes: frozenset[str] = frozenset()

    def available(self, params: Target, cluster: Cluster) -> str | None:
        if params.target in (OBSERVER, PROXY):
            return f"the {params.target} is never hit, the run's own record depends on it"
        if cluster.networks is None:
            return "this backend has no separate network for each process; `isolate` cuts or holds all links"
        try:
            cluster.process(params.target)
        except UsageError as error:
            return str(error)
        return None

    def target(self, params: Target) -> str:
        return params.target

    def claims(self, params: Target, cluster: Cluster) -> frozenset[str]:  # noqa: ARG002  # the protocol's
        return frozenset({params.target})

    def heal_order(self, params: Target) -> HealOrder:  # noqa: ARG002
        return HealOrder.LINKS


class _Disconnect(_NetworkFault):
    """A server or client without its network."""

    name = "disconnect"
    about = "take a server or client off its network without closing connections (only with --backend docker)"
    params: type[BaseModel] = Target

    def inject(self, params: Target, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        _networks(cluster).disconnect(params.target)
        return {}

    def confirm(self, params: Target, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        if _networks(cluster).connected(params.target):
            raise FaultError(f"{params.target} is still on its network")
        return {"connected": False}

    def heal(self, params: Target, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        _networks(cluster).connect(params.target)
        if not _networks(cluster).connected(params.target):
            raise FaultError(f"{params.target} is not back on its network")
        _await_running(params, cluster)
        return {"connected": True}


class _Blackhole(_NetworkFault):
    """Packets dropped in the kernel, behind or before a process."""

    name = "blackhole"
    about = "drop the packets of a server or client, in one direction or both (only with --backend docker)"
    params: type[BaseModel] = BlackholeTarget

    def available(self, params: Target, cluster: Cluster) -> str | None:
        reason = super().available(params, cluster)
        return reason or _droppers(cluster).lacks_for_dropping()

    def inject(self, params: BlackholeTarget, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        _droppers(cluster).drop_packets(params.target, params.ways())
        return {}

    def confirm(self, params: BlackholeTarget, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        closed = _droppers(cluster).dropped_packets(params.target)
        if closed.keys() != params.ways():
            raise FaultError(f"{params.target} loses {_format(closed)} packets, not {_format(params.ways())}")
        return {"dropped": dict(closed)}

    def heal(self, params: BlackholeTarget, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        droppers = _droppers(cluster)
        dropped = droppers.dropped_packets(params.target)
        droppers.drop_packets(params.target, ())
        if still := droppers.dropped_packets(params.target):
            raise FaultError(f"{params.target} still loses {_format(still)} packets")
        _await_running(params, cluster)
        return {"dropped": dict(dropped)}


def _format(ways: Collection[Direction]) -> str:
    return " and ".join(sorted(ways)) or "no"


def _await_running(params: Target, cluster: Cluster) -> None:
    process = cluster.process(params.target)
    if process.state is ProcessState.RUNNING:
        process.wait_ready(params.ready_timeout_s)


def _networks(cluster: Cluster) -> CanDisconnect:
    networks = cluster.networks
    if networks is None:
        raise FaultError("this backend has no separate network for each process")
    return networks


def _droppers(cluster: Cluster) -> CanDropPackets:
    networks = cluster.networks
    if not isinstance(networks, CanDropPackets):
        raise FaultError("no packets can be dropped on this backend")
    return networks


register(_Disconnect())
register(_Blackhole())
