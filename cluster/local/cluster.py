"""A running local cluster, as :class:`cluster.interface.Cluster`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cluster.answers import answer
from cluster.interface import Client, Exit, LinkState, Process, Way
from cluster.keeping import Keeper
from cluster.links import ToxiproxyLinks
from cluster.local.bookie import LocalBookie
from cluster.local.clients import LocalClient
from cluster.local.process import LocalProcess
from cluster.local.proxy import LocalProxy
from cluster.local.site import Site
from cluster.local.zookeeper import LocalZooKeeper
from cluster.metadata import ZooKeeperMetadata
from protocol.addresses import AddressPlan
from protocol.errors import LinkError, UsageError


class LocalCluster:
    """Everything that was started for one run; made by ``LocalBackend.open``."""

    def __init__(
        self,
        site: Site,
        zookeeper: LocalZooKeeper,
        proxy: LocalProxy | None,
        bookies: Mapping[str, LocalBookie],
        clients: Mapping[str, LocalClient],
        observer: LocalClient | None,
        links: ToxiproxyLinks | NoLinks,
        metadata: ZooKeeperMetadata,
    ) -> None:
        self._site = site
        self._zookeeper = zookeeper
        self._bookies = bookies
        self._clients = clients
        self._observer = observer
        self._links = links
        self._metadata = metadata
        every: list[LocalProcess | None] = [zookeeper, proxy, *bookies.values(), *clients.values(), observer]
        self._processes = {process.name: process for process in every if process is not None}

    @property
    def zookeeper(self) -> LocalZooKeeper:
        """The metadata store's process."""
        return self._zookeeper

    @property
    def bookies(self) -> Mapping[str, LocalBookie]:
        """The bookies by name."""
        return self._bookies

    @property
    def clients(self) -> Mapping[str, LocalClient]:
        """The plan's clients by name."""
        return self._clients

    @property
    def observer(self) -> Client:
        """The client that watches and reads at the end; ``UsageError`` when the run has none."""
        if self._observer is None:
            raise UsageError("this cluster was started without an observer")
        return self._observer

    @property
    def links(self) -> ToxiproxyLinks | NoLinks:
        """All links."""
        return self._links

    @property
    def metadata(self) -> ZooKeeperMetadata:
        """The metadata store, asked directly."""
        return self._metadata

    @property
    def addresses(self) -> AddressPlan:
        """Where everything listens."""
        return self._site.addresses

    @property
    def keeper(self) -> Keeper:
        """The owner of all processes; faults register their undos with it."""
        return self._site.keeper

    def process(self, name: str) -> Process:
        """Any process by name; ``UsageError`` names the nearest."""
        if name not in self._processes:
            near = get_close_matches(name, self._processes, n=1, cutoff=0)
            raise UsageError(
                f"there is no process {name!r} in this cluster (it has {', '.join(sorted(self._processes))})",
                remedy=f"Did you mean {near[0]!r}?" if near else "",
            )
        return self._processes[name]

    def answer(self, bookie: str, ledger: int, entry: int, *, timeout_s: float = 2) -> int | None:
        """The status of a plain read sent straight to the bookie (0, 402, 403, 507, ...), or None."""
        return answer(self._site.addresses.direct(bookie), ledger, entry, timeout_s=timeout_s)

    def wire(self) -> Mapping[str, Any] | None:
        """The wire log's state and every link's counters, now; None when no log is kept."""
        return self._links.wire()

    def unplanned(self) -> list[Exit]:
        """Deaths that nobody ordered, in order of time."""
        deaths = [ended for process in self._processes.values() for ended in process.unplanned()]
        return sorted(deaths, key=lambda ended: ended.at_ns)

    def log(self, name: str) -> Path:
        """The log file of a process's present or last boot."""
        self.process(name)
        return self._processes[name].log


class NoLinks:
    """The links of a cluster without a proxy: there are none, and every order is refused."""

    def pairs(self) -> Sequence[tuple[str, str]]:
        """None."""
        return ()

    def wire(self) -> None:
        """No log is kept."""

    def state(self, source: str, destination: str) -> LinkState:
        """Refused."""
        raise _none(source, destination)

    def cut(self, source: str, destination: str) -> None:
        """Refused."""
        raise _none(source, destination)

    def hold(self, source: str, destination: str, way: Way) -> None:  # noqa: ARG002 - the protocol's signature
        """Refused."""
        raise _none(source, destination)

    def slow(
        self,
        source: str,
        destination: str,
        *,
        latency_ms: int = 0,  # noqa: ARG002
        rate_bytes_per_s: int = 0,  # noqa: ARG002
    ) -> None:
        """Refused."""
        raise _none(source, destination)

    def heal(self, source: str, destination: str) -> None:
        """Refused."""
        raise _none(source, destination)


def _none(source: str, destination: str) -> LinkError:
    return LinkError(f"this cluster was started without links, so none from {source} to {destination}")
