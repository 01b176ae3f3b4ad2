"""Class-data archives: what lets a JVM start in half the time, made once per JVM, release and role.

An archive is a cache file that a JVM silently does without when it does not fit. It is written by a JVM at
its ordered end (``-XX:ArchiveClassesAtExit``), in one short cluster whose JVMs write what they loaded, and
put in place in one step. A cluster starts without archives too, only slower: so no failure here fails a run.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cluster.commands import within
from cluster.processes.runner import BOOKIE, CLIENT, ZOOKEEPER
from cluster.processes.settings import RunSpec
from cluster.releases import artifacts
from cluster.releases.checksums import exclusive
from cluster.servers.client import Client
from cluster.servers.cluster import Cluster
from evidence.folder import RunFolder
from plans.grammar.steps import LedgerShape
from protocol.errors import FencepostError, NotReadyError
from protocol.java import archive_options, remove_unread, write_base_archive
from protocol.modes import MODES

_LOG = logging.getLogger("fencepost.archives")
_FAILED: set[str] = set()
"""Releases for which this process failed: a machine that is busy now will be busy for the next scenario."""


@dataclass(frozen=True, slots=True)
class Archives:
    """JVMs of the roles ``trained`` write archives into ``folder`` when they end; others use the cache."""

    folder: Path = Path()
    trained: frozenset[str] = frozenset()

    def options(self, version: str, role: str) -> list[str]:
        """JVM options for a ``role`` of a release: the file to be written, or what the cache has."""
        if role in self.trained:
            return [f"-XX:ArchiveClassesAtExit={self.made(role)}"]
        return archive_options(_path(version, role))

    def made(self, role: str) -> Path:
        """Where the JVM of a role writes its archive."""
        return self.folder / f"{role}.jsa"


CACHED = Archives()
Opener = Callable[[RunSpec, Archives], AbstractContextManager[Cluster]]
"""Opens a new cluster whose JVMs use these archives."""


@cache
def _path(version: str, role: str) -> Path:
    """Where an archive belongs; each build of the client's jar has its own."""
    path = artifacts.class_data_archive(version, role)
    if role != CLIENT:
        return path
    stat = artifacts.client_jar().stat()
    jar = hashlib.sha256(f"{stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()[:8]
    return path.with_stem(f"{path.stem}-{jar}")


def _missing(version: str) -> frozenset[str]:
    """The roles of a release that have no archive yet."""
    return frozenset(role for role in (ZOOKEEPER, BOOKIE, CLIENT) if not _path(version, role).is_file())


def train_missing(version: str, opened: Opener) -> None:
    """Create the missing archives of a release; a process that asks meanwhile waits for them."""
    if not _missing(version) or version in _FAILED:
        return
    folder = _path(version, CLIENT).parent
    try:
        with exclusive(folder / f"{version}.lock"):
            roles = _missing(version)
            if roles and write_base_archive():
                _LOG.info("preparing faster starts of BookKeeper %s (once)", version)
                with tempfile.TemporaryDirectory(dir=folder, prefix=".training-") as scratch:
                    _train(version, Archives(Path(scratch), roles), opened)
    except (FencepostError, OSError) as error:
        _FAILED.add(version)
        _LOG.warning("no class-data archives for BookKeeper %s: %s", version, error)


def _train(version: str, archives: Archives, opened: Opener) -> None:
    spec = RunSpec(
        RunFolder.create(archives.folder, "protected"),
        MODES["protected"],
        bookies=1,
        clients=("trainee",) if CLIENT in archives.trained else (),
        version=version,
        linked=False,
        observed=False,
        stop_timeout_s=180,  # writing an archive takes seconds
    )
    with opened(spec, archives) as cluster:
        for client in cluster.clients.values():
            _exercise(client)
    if cluster.hung:
        raise NotReadyError(cluster.hung[0])
    for role in archives.trained:
        _keep(version, role, archives.made(role))


def _exercise(client: Client) -> None:
    """A little of everything that a client does often."""
    commands = within(client, 120)
    commands.create("h", LedgerShape(ensemble=1, write_quorum=1, ack_quorum=1))
    commands.append("h", 100, entry_bytes=1024, outstanding=10)
    commands.read("h", 0, 99)
    commands.close("h")


def _keep(version: str, role: str, made: Path) -> None:
    """Install a new archive; delete those of other builds of the client that no JVM has read for a week."""
    if not made.is_file():
        return
    made.chmod(0o644)
    made.replace(_path(version, role))
    if role == CLIENT:
        stem = artifacts.class_data_archive(version, role).stem
        remove_unread(_path(version, role).parent.glob(f"{stem}-*.jsa"))
