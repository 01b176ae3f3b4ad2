"""A running cluster: all processes and links of one run.

All methods are blocking and thread-safe, and raise the errors of :mod:`protocol.errors`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from cluster.links import Links
from cluster.metadata import Metadata, RepairRecords
from cluster.processes.process import Process
from cluster.processes.runner import Exit, Networks
from cluster.processes.site import Site
from cluster.servers.admin import Administered, AdminProcess
from cluster.servers.answers import answer
from cluster.servers.autorecovery import AutoRecovery
from cluster.servers.bookie import Bookie
from cluster.servers.client import Client
from cluster.servers.proxy import ProxyProcess
from cluster.servers.zookeeper import ZooKeeper
from protocol.addresses import bookie_name
from protocol.errors import UsageError
from protocol.shell import ShellCommand


@dataclass(frozen=True)
class Cluster:
    """Everything that was started for one run; made by :mod:`cluster.servers.opening`.

    ``clients`` are the plan's by name. ``follower`` is ``zk2``, None where no bookie uses it. ``proxy``,
    ``watcher`` (the observer) and ``admin`` are None in a cluster that was specified without them.
    """

    site: Site
    zookeeper: ZooKeeper
    follower: ZooKeeper | None
    bookies: Mapping[str, Bookie]
    clients: Mapping[str, Client]
    autorecovery: Mapping[str, AutoRecovery]
    links: Links
    metadata: Metadata
    repairs: RepairRecords
    proxy: ProxyProcess | None
    watcher: Client | None
    admin: AdminProcess | None
    hung: Sequence[str] = ()
    """After the end of the cluster: the servers under test whose last shutdown hung, a sentence each."""

    @property
    def observer(self) -> Client:
        """The client on links that no fault touches; ``UsageError`` without an observer."""
        if self.watcher is None:
            raise UsageError("this cluster was started without an observer")
        return self.watcher

    @property
    def networks(self) -> Networks | None:
        """The networks of processes, None where they share the machine's."""
        runner = self.site.runner
        return runner if isinstance(runner, Networks) else None

    def process(self, name: str) -> Process:
        """Any process by name; ``UsageError`` names the nearest."""
        processes = self._processes()
        if name not in processes:
            near = get_close_matches(name, processes, n=1, cutoff=0)
            raise UsageError(
                f"there is no process {name!r} in this cluster (it has {', '.join(sorted(processes))})",
                remedy=f"Did you mean {near[0]!r}?" if near else "",
            )
        return processes[name]

    def bookie(self, name: str) -> Bookie:
        """A bookie by name; ``UsageError`` when there is none, or it is another kind of process."""
        process = self.process(name)
        if name not in self.bookies:
            raise UsageError(f"{process.name} is no bookie")
        return self.bookies[name]

    def answer(self, bookie: str, ledger: int, entry: int, *, timeout_s: float = 20) -> int | None:
        """The status of a plain V3 read sent straight to the bookie: 0, 402, 403, 507, ...

        None when no answer came in time.
        """
        return answer(self.site.addresses.direct(bookie), ledger, entry, timeout_s=timeout_s)

    def administer(self, command: ShellCommand, target: str | None, *, timeout_s: float) -> Administered:
        """Run one admin command with the target's release and settings, or ``b1``'s; its output is kept.

        ``ServerError`` when it cannot be started.
        """
        if self.admin is None:
            raise UsageError("this cluster was started without admin commands")
        return self.admin.run(command, self.bookies[target or bookie_name(1)], timeout_s)

    def unplanned(self) -> list[Exit]:
        """Deaths that the harness did not cause, in order of time."""
        deaths = [ended for process in self._processes().values() for ended in process.unplanned()]
        return sorted(deaths, key=lambda ended: ended.at_ns)

    def _processes(self) -> dict[str, Process]:
        every = (
            *(self.zookeeper, self.follower, self.proxy, self.watcher),
            *(*self.bookies.values(), *self.autorecovery.values(), *self.clients.values()),
        )
        return {process.name: process for process in every if process is not None}
