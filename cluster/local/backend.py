"""The local backend: a whole cluster of plain processes for one run, begun and ended as one scope.

Use::

    with open_cluster(RunSpec(folder, mode, bookies=3, clients=("writer",), run_id=7)) as cluster:
        cluster.clients["writer"].call("create", timeout_s=10, handle="h1", ensemble=3, ...)

Inside, everything is ready; outside, nothing of it is left. The processes are children of the keeper; their
programs are this machine's Java, the jars in the cache, and what was built here.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from cluster.local.archives import CACHED, Archives, train_missing
from cluster.processes.runner import CLIENT, Java, Programs
from cluster.processes.scopes import Scopes
from cluster.processes.settings import RunSpec
from cluster.processes.site import Site
from cluster.releases import artifacts
from cluster.servers.cluster import Cluster
from cluster.servers.disks import unmount_others
from cluster.servers.opening import Opening
from protocol.addresses import BOOKIE_PORT, PROXY_PORT, ZOOKEEPER_PORT, AddressPlan
from protocol.java import java

network = "127"


def prepare(versions: Sequence[str], results: Path) -> None:  # noqa: ARG001 - the containers' backend needs it
    """Make the class-data archives, with which later starts are faster."""
    for version in versions:
        train_missing(version, open_cluster)


@contextmanager
def open_cluster(spec: RunSpec, archives: Archives = CACHED) -> Iterator[Cluster]:
    """Start everything, and end everything in reverse whatever happens.

    Raises ``NotReadyError`` or ``UnplannedDeathError`` when a process does not become ready,
    ``TeardownError`` when a graceful shutdown failed (the process is ended nevertheless). That of a bookie
    or autorecovery that hangs is no error, but in ``Cluster.hung``.
    """
    with Scopes() as scopes:
        opening = Opening(spec, scopes)
        keeper = opening.keeper
        if spec.disks is not None:
            keeper.own_mounts()
            unmount_others(keeper)
        addresses = AddressPlan(keeper.lease((ZOOKEEPER_PORT, BOOKIE_PORT, PROXY_PORT)))
        programs = _programs(archives)
        yield opening.cluster(Site(spec, keeper, keeper, addresses, opening.events, programs))


def _programs(archives: Archives) -> Programs:
    """Java, the jars of a release and for clients the client's jar, and the proxy that set-up built."""

    def with_java(version: str, role: str) -> Java:
        jars = [_checked(version).class_path, *([str(artifacts.client_jar())] if role == CLIENT else [])]
        return Java(str(java()), os.pathsep.join(jars), tuple(archives.options(version, role)))

    return Programs(socket.gethostname(), with_java, lambda: str(artifacts.proxy_binary()))


@cache
def _checked(version: str) -> artifacts.ServerArtifacts:
    """The jars of a release, checked once per process of the harness."""
    return artifacts.class_path(version)
