"""Programs that a run needs: server jars by version, the client's jar, the proxy, a JVM.

Server jars come from a Maven repository into a cache outside the checkout, appear there in one
step, and are compared with their lock of SHA-256 sums at every start. The project's locks name each
jar's path in the repository; Maven resolves a release without a lock. This module starts no server
and does not use the run folder.
``python -m cluster.artifacts VERSION...`` fetches ahead of time.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cluster import checksums
from cluster.cache import cache_root as cache_root
from cluster.cache import exclusive
from cluster.versions import DEFAULT_VERSION as DEFAULT_VERSION  # part of this module's face
from cluster.versions import parse
from protocol.errors import FencepostError, PrerequisiteError
from protocol.java import about, java

CHECKOUT = Path(__file__).resolve().parent.parent
LOCKS = CHECKOUT / "locks"
_LOG = logging.getLogger("fencepost.artifacts")


@dataclass(frozen=True, slots=True)
class ServerArtifacts:
    """The jars of one release of BookKeeper with its ZooKeeper, checked against ``lock``.

    ``note`` is empty, or one sentence for the user: that the lock is new and not the project's.
    """

    version: str
    folder: Path
    jars: tuple[Path, ...]
    lock: Path
    note: str = ""

    @property
    def class_path(self) -> str:
        """The value of Java's ``-cp``: every jar, sorted by name, so equal from run to run."""
        return os.pathsep.join(str(jar) for jar in self.jars)


def class_path(version: str = DEFAULT_VERSION) -> ServerArtifacts:
    """The checked jars of ``version``, fetched on first use (60 to 110 MB, a minute or less).

    ``UsageError`` for a version that cannot be run, ``PrerequisiteError`` when the repository is out
    of reach or when a jar differs from its lock. Safe in many processes at once.
    """
    parse(version)
    home = cache_root() / "bookkeeper"
    folder = home / version
    with exclusive(home / f"{version}.lock"):
        if not folder.is_dir():
            _fetch(version, folder)
        lock, note = _lock_of(version, home, folder)
        found = _checked(version, lock, folder)
    return ServerArtifacts(version, folder, tuple(folder / name for name in sorted(found)), lock, note)


def is_cached(version: str = DEFAULT_VERSION) -> bool:
    """Whether the jars of ``version`` are in the cache (not whether they are intact)."""
    return (cache_root() / "bookkeeper" / version).is_dir()


def locked_versions() -> list[str]:
    """The versions whose lock is part of the project, oldest first."""
    names = [path.name.removeprefix("bookkeeper-") for path in LOCKS.glob("bookkeeper-*.sha256")]
    return sorted((name.removesuffix(".sha256") for name in names), key=parse)


def client_jar() -> Path:
    """The client's jar, built by ``scripts/setup``; ``PrerequisiteError`` when it is missing."""
    return _built(CHECKOUT / "client" / "target" / "fencepost-client.jar", "the client's jar")


def agent_jar() -> Path:
    """The agent's jar, built by ``scripts/setup``; ``PrerequisiteError`` when it is missing."""
    return _built(CHECKOUT / "agent" / "target" / "fencepost-agent.jar", "the agent's jar")


def proxy_binary() -> Path:
    """The proxy, built by ``scripts/setup``; ``PrerequisiteError`` when it is missing."""
    return _built(CHECKOUT / "proxy" / "bin" / "fencepost-proxy", "the proxy")


def class_data_archive(version: str = DEFAULT_VERSION) -> Path:
    """Where the class-data archive of this Java and this release belongs; the file may not exist.

    The name changes with the JVM and with the jars, because a JVM refuses another's archive.
    """
    artifacts = class_path(version)
    command = java()
    identity = f"{command}\n{about(command)}\n{artifacts.class_path}\n{artifacts.lock.read_text()}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    return cache_root() / "class-data" / f"bookkeeper-{version}-{digest}.jsa"


def _fetch(version: str, folder: Path) -> None:
    """Fill a folder beside ``folder`` and rename it; continues an interrupted fetch."""
    from cluster import central  # set-up uses this module before any package is there

    _LOG.info("fetching the jars of BookKeeper %s into %s", version, folder)
    project_lock = _project_lock(version)
    if project_lock.is_file():
        part = folder.with_name(f".{version}.part")
        central.fetch(checksums.read_paths(project_lock), part)
        part.rename(folder)
        return
    try:
        _resolve(version, folder)
    except PrerequisiteError as error:
        if version in str(error):
            raise
        raise PrerequisiteError(f"BookKeeper {version}: {error}", remedy=error.remedy) from None


def _resolve(version: str, folder: Path) -> None:
    """Fill ``folder`` with the jars of a release that the project has no lock of."""
    from cluster import resolution

    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{version}-") as scratch:
        jars = Path(scratch) / version
        jars.mkdir()
        resolution.fetch(version, jars, work=Path(scratch))
        jars.rename(folder)


def _project_lock(version: str) -> Path:
    return LOCKS / f"bookkeeper-{version}.sha256"


def _lock_of(version: str, home: Path, folder: Path) -> tuple[Path, str]:
    """The lock that applies, written now if it is missing, and a message for the user about it."""
    project_lock = _project_lock(version)
    if project_lock.is_file():
        return project_lock, ""
    own = home / f"{version}.sha256"
    if own.is_file():
        return own, ""
    checksums.write_lock(own, checksums.digests(folder))
    note = f"BookKeeper {version} has no lock in the project: its sums were taken on this first use ({own})"
    _LOG.warning("%s", note)
    return own, note


def _checked(version: str, lock: Path, folder: Path) -> dict[str, str]:
    found = checksums.digests(folder)
    wrong = checksums.differences(checksums.read_lock(lock), found)
    if wrong:
        more = f" (and {len(wrong) - 3} more)" if len(wrong) > 3 else ""
        raise PrerequisiteError(
            f"the jars of BookKeeper {version} differ from {lock}: {'; '.join(wrong[:3])}{more}",
            remedy=f"Remove {cache_root() / 'bookkeeper' / version} and run scripts/setup again.",
        )
    return found


def _built(path: Path, what: str) -> Path:
    if not path.is_file():
        raise PrerequisiteError(f"{what} is not built: {path} is missing", remedy="Run scripts/setup.")
    return path


def main(versions: list[str]) -> int:
    """Fetch and check the named versions (default: the default); exit code as the command line's."""
    for version in versions or [DEFAULT_VERSION]:
        try:
            artifacts = class_path(version)
        except FencepostError as error:
            sys.stderr.write(f"error: {error}\n{error.remedy}\n")
            return error.exit_code
        sys.stdout.write(f"BookKeeper {version}: {len(artifacts.jars)} jars in {artifacts.folder}\n")
        if artifacts.note:
            sys.stdout.write(f"note: {artifacts.note}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
