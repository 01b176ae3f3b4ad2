"""Class-data archives: what lets a JVM start in half the time, made once per JVM, release and role.

An archive is a cache file that a JVM silently does without when it does not fit. It is written by a JVM at
its ordered end (``-XX:ArchiveClassesAtExit``), in one short cluster whose JVMs write what they loaded, and
put in place in one step. A cluster starts without archives too, only slower: so no failure here fails a run.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cluster.commands import within
from cluster.processes.runner import BOOKIE, CLIENT, ZOOKEEPER
from cluster.processes.settings import RunSpec
from cluster.releases import artifacts
from cluster.servers.client import Client
from cluster.servers.cluster import Cluster
from evidence.folder import RunFolder
from plans.grammar.steps import LedgerShape
from protocol.errors import FencepostError, PrerequisiteError
from protocol.java import archive_options, remove_unread, write_base_archive
from protocol.modes import MODES

_LOG = logging.getLogger("fencepost.archives")
_FAILED: set[tuple[str, frozenset[str]]] = set()
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
        return archive_options(archive_path(version, role))

    def made(self, role: str) -> Path:
        """Where the JVM of a role writes its archive."""
        return self.folder / f"{role}.jsa"


CACHED = Archives()
Opener = Callable[[RunSpec, Archives], AbstractContextManager[Cluster]]
"""Opens a new cluster whose JVMs use these archives."""


def archive_path(version: str, role: str) -> Path | None:
    """Where an archive belongs; None for the client while its jar is not built."""
    path = _path(version, role)
    if role != CLIENT:
        return path
    try:
        stat = artifacts.client_jar().stat()
    except PrerequisiteError:
        return None
    jar = hashlib.sha256(f"{stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()[:8]
    return path.with_stem(f"{path.stem}-{jar}")


def missing(version: str) -> list[str]:
    """The roles of a release that have no archive yet."""
    paths = {role: archive_path(version, role) for role in (ZOOKEEPER, BOOKIE, CLIENT)}
    return [role for role, path in paths.items() if path is not None and not path.is_file()]


def keep(version: str, role: str, made: Path) -> None:
    """Install a new archive; delete those of other builds of the client that no JVM has read for a week."""
    path = archive_path(version, role)
    if path is None or not made.is_file():
        return
    made.chmod(0o644)
    made.replace(path)
    if role == CLIENT:
        remove_unread(path.parent.glob(f"{_path(version, role).stem}-*.jsa"))


def train_missing(version: str, opened: Opener) -> bool:
    """Create missing archives of a release unless another process does so; returns whether all exist."""
    if not missing(version):
        return True
    with _training_turn(version) as folder:
        roles = missing(version)
        if folder is None or not roles or not write_base_archive():
            return not roles
        _LOG.info("preparing faster starts of BookKeeper %s (once)", version)
        for part in (frozenset({BOOKIE, ZOOKEEPER}), frozenset({CLIENT})):
            if part & set(roles) and (version, part) not in _FAILED:
                _try_to_train(version, part, folder, opened)
    return not missing(version)


@contextmanager
def _training_turn(version: str) -> Iterator[Path | None]:
    """The archives' folder while no other process trains this release, None while one does."""
    folder = _path(version, CLIENT).parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / f"{version}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:  # a cache that cannot be written: start without archives
        yield None
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield None
    else:
        yield folder
    finally:
        os.close(lock)


def _try_to_train(version: str, roles: frozenset[str], folder: Path, opened: Opener) -> None:
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".training-") as scratch:
            _train(version, roles, Path(scratch), opened)
    except (FencepostError, OSError) as error:
        _FAILED.add((version, roles))
        _LOG.warning("no class-data archives for BookKeeper %s: %s", version, error)


def _train(version: str, roles: frozenset[str], scratch: Path, opened: Opener) -> None:
    archives = Archives(scratch, roles)
    spec = RunSpec(
        RunFolder.create(scratch, "protected"),
        MODES["protected"],
        bookies=1,
        clients=("trainee",) if CLIENT in roles else (),
        version=version,
        linked=False,
        observed=False,
        stop_timeout_s=180,  # writing an archive takes seconds
    )
    with opened(spec, archives) as cluster:
        for client in cluster.clients.values():
            _exercise(client)
    for role in roles:
        keep(version, role, archives.made(role))


def _exercise(client: Client) -> None:
    """A little of everything that a client does often."""
    commands = within(client, 120)
    commands.create("h", LedgerShape(ensemble=1, write_quorum=1, ack_quorum=1))
    commands.append("h", 100, entry_bytes=1024, outstanding=10)
    commands.read("h", 0, 99)
    commands.close("h")


@cache
def _path(version: str, role: str) -> Path:
    return artifacts.class_data_archive(version, role)
