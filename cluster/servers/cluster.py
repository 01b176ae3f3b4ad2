"""A running cluster, as :class:`cluster.interface.Cluster`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from cluster.answers import answer
from cluster.elections import ZooKeeperElections
from cluster.interface import Client, Exit, Networks, Process
from cluster.keeping import Keeper
from cluster.links import ToxiproxyLinks
from cluster.metadata import ZooKeeperMetadata
from cluster.operating import Administered
from cluster.servers.admin import AdminProcess
from cluster.servers.autorecovery import AutoRecovery
from cluster.servers.bookie import Bookie
from cluster.servers.clients import ClientProcess
from cluster.servers.process import OwnedProcess
from cluster.servers.proxy import ProxyProcess
from cluster.servers.site import Site
from cluster.servers.zookeeper import ZooKeeperServer
from protocol.addresses import AddressPlan, bookie_name
from protocol.errors import UsageError
from protocol.shell import ShellCommand


@dataclass(frozen=True, slots=True)
class Operating:
    """The processes that repair and administer a cluster; ``admin`` is None unless the plan needs it."""

    elections: ZooKeeperElections
    repairers: Mapping[str, AutoRecovery]
    admin: AdminProcess | None


class RunningCluster:
    """Everything that was started for one run; made by a backend's ``open``."""

    def __init__(
        self,
        site: Site,
        zookeeper: ZooKeeperServer,
        proxy: ProxyProcess | None,
        bookies: Mapping[str, Bookie],
        clients: Mapping[str, ClientProcess],
        observer: ClientProcess | None,
        links: ToxiproxyLinks,
        metadata: ZooKeeperMetadata,
        *,
        operating: Operating,
    ) -> None:
        self._site = site
        self._zookeeper = zookeeper
        self._bookies = bookies
        self._clients = clients
        self._observer = observer
        self._links = links
        self._metadata = metadata
        self._operating = operating
        servers: list[OwnedProcess | None] = [zookeeper, proxy, *bookies.values()]
        every = [*servers, *operating.repairers.values(), *clients.values(), observer]
        self._processes = {process.name: process for process in every if process is not None}

    @property
    def zookeeper(self) -> ZooKeeperServer:
        """The process of the only ZooKeeper server, ``zk1``."""
        return self._zookeeper

    @property
    def bookies(self) -> Mapping[str, Bookie]:
        """``b1`` to ``bN``, running or not."""
        return self._bookies

    @property
    def clients(self) -> Mapping[str, ClientProcess]:
        """The plan's clients by name."""
        return self._clients

    @property
    def observer(self) -> Client:
        """The client that watches and reads at the end; ``UsageError`` without an observer."""
        if self._observer is None:
            raise UsageError("this cluster was started without an observer")
        return self._observer

    @property
    def links(self) -> ToxiproxyLinks:
        """The links of all sources; none in a cluster without a proxy."""
        return self._links

    @property
    def metadata(self) -> ZooKeeperMetadata:
        """The metadata store, asked directly."""
        return self._metadata

    @property
    def autorecovery(self) -> Mapping[str, AutoRecovery]:
        """Processes with an auditor and a replication worker, by name."""
        return self._operating.repairers

    def auditor(self) -> str | None:
        """The process that is the auditor, None when there is no auditor."""
        return self._operating.elections.auditor()

    def under_replicated(self) -> list[int]:
        """Ledgers that are marked as lacking copies, ascending."""
        return self._operating.elections.under_replicated()

    def under_repair(self) -> list[int]:
        """Ledgers that a worker has locked, ascending."""
        return self._operating.elections.under_repair()

    def administer(self, command: ShellCommand, target: str | None, *, timeout_s: float) -> Administered:
        """Run one admin command with the target's release and settings, or ``b1``'s."""
        if self._operating.admin is None:
            raise UsageError("this cluster was started without admin commands")
        return self._operating.admin.run(command, self._bookies[target or bookie_name(1)], timeout_s)

    @property
    def addresses(self) -> AddressPlan:
        """The addresses of all servers and links of this run."""
        return self._site.addresses

    @property
    def keeper(self) -> Keeper:
        """Where faults register what is to be undone, whatever happens to this process."""
        return self._site.keeper

    @property
    def networks(self) -> Networks | None:
        """The networks of processes, None where they share the machine's."""
        runner = self._site.runner
        return runner if isinstance(runner, Networks) else None

    def process(self, name: str) -> Process:
        """Any process by name; ``UsageError`` names the nearest."""
        if name not in self._processes:
            near = get_close_matches(name, self._processes, n=1, cutoff=0)
            raise UsageError(
                f"there is no process {name!r} in this cluster (it has {', '.join(sorted(self._processes))})",
                remedy=f"Did you mean {near[0]!r}?" if near else "",
            )
        return self._processes[name]

    def bookie(self, name: str) -> Bookie:
        """A bookie by name; ``UsageError`` when there is none, or it is another kind of process."""
        process = self.process(name)
        if name not in self._bookies:
            raise UsageError(f"{process.name} is no bookie")
        return self._bookies[name]

    def answer(self, bookie: str, ledger: int, entry: int, *, timeout_s: float = 20) -> int | None:
        """The status of a plain read sent straight to the bookie (0, 402, 403, 507, ...), or None."""
        return answer(self._site.addresses.direct(bookie), ledger, entry, timeout_s=timeout_s)

    def wire(self) -> Mapping[str, Any] | None:
        """The wire log's state and every link's counters, now; None when no log is kept."""
        return self._links.wire()

    def unplanned(self) -> list[Exit]:
        """Deaths that the harness did not cause, in order of time."""
        deaths = [ended for process in self._processes.values() for ended in process.unplanned()]
        return sorted(deaths, key=lambda ended: ended.at_ns)

    def log(self, name: str) -> Path:
        """The log file of a process's present or last boot."""
        self.process(name)
        return self._processes[name].log
