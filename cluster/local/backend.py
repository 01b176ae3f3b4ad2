"""The local backend: a whole cluster of plain processes for one run, begun and ended as one scope.

Use::

    with LocalBackend(RunSpec(folder, mode, bookies=3, clients=("writer",), run_id=7)).open() as cluster:
        cluster.clients["writer"].call("create", timeout_s=10, handle="h1", ensemble=3, ...)

Inside, everything is ready; outside, nothing of it is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from cluster.local.archives import Archives, CachedArchives
from cluster.local.processes import KeptProcesses
from cluster.local.programs import LocalPrograms
from cluster.local.training import train_missing
from cluster.servers.cluster import Cluster
from cluster.servers.opening import Opening
from cluster.servers.scopes import Scopes
from cluster.servers.settings import RunSpec
from cluster.servers.site import Site
from protocol.addresses import BOOKIE_PORT, PROXY_PORT, ZOOKEEPER_PORT, AddressPlan


class _Local:
    network = "127"

    def prepare(self, versions: Sequence[str], results: Path) -> None:  # noqa: ARG002 - the protocol's
        """Make what later starts are faster with."""
        for version in versions:
            train_missing(version, lambda spec, archives: LocalBackend(spec, archives=archives).open())

    def cluster(self, spec: RunSpec) -> AbstractContextManager[Cluster]:
        return LocalBackend(spec).open()


BACKEND = _Local()


class LocalBackend:
    """Makes clusters after one specification; each ``open`` is a fresh one."""

    def __init__(self, spec: RunSpec, *, archives: Archives | None = None) -> None:
        self._spec = spec
        self._archives = archives or CachedArchives()

    @contextmanager
    def open(self) -> Iterator[Cluster]:
        """Start everything, and end everything in reverse whatever happens.

        Raises ``NotReadyError`` or ``UnplannedDeathError`` when a process does not become ready,
        ``TeardownError`` when a graceful shutdown failed (the process is ended nevertheless).
        """
        with Scopes() as scopes:
            opening = Opening(self._spec, scopes)
            keeper = opening.keeper
            if self._spec.disks is not None:
                keeper.own_mounts()
            addresses = AddressPlan(keeper.lease((ZOOKEEPER_PORT, BOOKIE_PORT, PROXY_PORT)))
            programs = LocalPrograms(self._archives)
            runner = KeptProcesses(keeper)
            yield opening.cluster(Site(self._spec, keeper, runner, addresses, opening.events, programs))
