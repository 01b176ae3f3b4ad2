"""Class-data archives: what lets a JVM start in half the time, made once per JVM, release and role.

An archive is a cache file that a JVM silently does without when it does not fit. It is written by
a JVM at its ordered end (``-XX:ArchiveClassesAtExit``) and put in place in one step. Knows file
names and options; the training that fills them is ``cluster.local.training``.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from cluster import artifacts
from cluster.servers.runner import BOOKIE, CLIENT, ZOOKEEPER
from protocol.errors import PrerequisiteError

_FORMER_S = 7 * 86400
"""How long an archive of another build of the client is kept; each takes 20 MB."""


class Archives(Protocol):
    """Which options about archives a JVM is started with."""

    def options(self, version: str, role: str) -> list[str]:
        """JVM options for a program of ``role`` (bookie, zookeeper, client) of a release."""
        ...


class CachedArchives:
    """Use what the cache has."""

    def options(self, version: str, role: str) -> list[str]:
        """Name the archive if it is there."""
        path = archive_path(version, role)
        return [f"-XX:SharedArchiveFile={path}"] if path is not None and path.is_file() else []


@dataclass(frozen=True, slots=True)
class TrainedArchives:
    """JVMs of some roles write archives into ``folder`` when they end; the others use the cache."""

    folder: Path
    roles: frozenset[str]

    def options(self, version: str, role: str) -> list[str]:
        """Name the file to be written, or what the cache has."""
        if role not in self.roles:
            return CachedArchives().options(version, role)
        return [f"-XX:ArchiveClassesAtExit={self.made(role)}"]

    def made(self, role: str) -> Path:
        """Where the JVM of a role writes its archive."""
        return self.folder / f"{role}.jsa"


def archive_path(version: str, role: str) -> Path | None:
    """Where an archive belongs; None for the client while its jar is not built."""
    base = _base(version)
    if role != CLIENT:
        return base.with_name(f"{base.stem}-{role}.jsa")
    try:
        stat = artifacts.client_jar().stat()
    except PrerequisiteError:
        return None
    jar = hashlib.sha256(f"{stat.st_size} {stat.st_mtime_ns}".encode()).hexdigest()[:8]
    return base.with_name(f"{base.stem}-{role}-{jar}.jsa")


def missing(version: str) -> list[str]:
    """The roles of a release that have no archive yet."""
    paths = {role: archive_path(version, role) for role in (ZOOKEEPER, BOOKIE, CLIENT)}
    return [role for role, path in paths.items() if path is not None and not path.is_file()]


def keep(version: str, role: str, made: Path) -> None:
    """Install a new archive and delete old archives of the client's former builds.

    Recent ones are kept: another checkout has its own build and shares the cache.
    """
    path = archive_path(version, role)
    if path is None or not made.is_file():
        return
    former = [] if role != CLIENT else list(path.parent.glob(f"{_base(version).stem}-{role}-*.jsa"))
    made.chmod(0o644)
    made.replace(path)
    for old in former:
        if old != path and time.time() - old.stat().st_mtime > _FORMER_S:
            old.unlink(missing_ok=True)


@contextmanager
def training_turn(version: str) -> Iterator[Path | None]:
    """The archives' folder while no other process trains this release, None while one does."""
    folder = _base(version).parent
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


@cache
def _base(version: str) -> Path:
    return artifacts.class_data_archive(version)
