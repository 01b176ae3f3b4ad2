"""What a run needs from outside: server jars by version, the client's jar, the proxy, a JVM.

Server jars come from Maven into a cache outside the checkout (``FENCEPOST_CACHE``, else
``XDG_CACHE_HOME/fencepost``, else ``~/.cache/fencepost``), are written in one step, and are
compared with their lock of SHA-256 sums at every start. Starts no server and knows no run folder.
``python -m cluster.artifacts VERSION...`` fetches ahead of time.
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cluster import checksums, resolution
from cluster.versions import DEFAULT_VERSION as DEFAULT_VERSION  # part of this module's face
from cluster.versions import parse
from protocol.errors import FencepostError, PrerequisiteError

CHECKOUT = Path(__file__).resolve().parent.parent
LOCKS = CHECKOUT / "locks"
JAVA_MINIMUM = 17
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


def cache_root() -> Path:
    """Where fetched and derived files are kept between runs; not created here."""
    own = os.environ.get("FENCEPOST_CACHE")
    if own:
        return Path(own).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().resolve() / "fencepost"


def class_path(version: str = DEFAULT_VERSION) -> ServerArtifacts:
    """The checked jars of ``version``, fetched on first use (60 to 110 MB, a minute or less).

    ``UsageError`` for a version that cannot be run, ``PrerequisiteError`` when Maven or its
    repository is out of reach or when a jar differs from its lock. Safe in many processes at once.
    """
    parse(version)
    home = cache_root() / "bookkeeper"
    folder = home / version
    with _exclusive(home / f"{version}.lock"):
        if not folder.is_dir():
            _fetch(version, folder)
        lock, note = _lock_of(version, home, folder)
        found = _checked(version, lock, folder)
    return ServerArtifacts(version, folder, tuple(folder / name for name in sorted(found)), lock, note)


def is_cached(version: str = DEFAULT_VERSION) -> bool:
    """Whether the jars of ``version`` are there already (not whether they are intact)."""
    return (cache_root() / "bookkeeper" / version).is_dir()


def locked_versions() -> list[str]:
    """The versions whose lock is part of the project, oldest first."""
    names = [path.name.removeprefix("bookkeeper-") for path in LOCKS.glob("bookkeeper-*.sha256")]
    return sorted((name.removesuffix(".sha256") for name in names), key=parse)


def client_jar() -> Path:
    """The client's jar as ``scripts/setup`` builds it; ``PrerequisiteError`` when it is not there."""
    return _built(CHECKOUT / "client" / "target" / "fencepost-client.jar", "the client's jar")


def proxy_binary() -> Path:
    """The proxy as ``scripts/setup`` builds it; ``PrerequisiteError`` when it is not there."""
    return _built(CHECKOUT / "proxy" / "bin" / "fencepost-proxy", "the proxy")


@cache
def java() -> Path:
    """The ``java`` command of JAVA_HOME, else of PATH; ``PrerequisiteError`` unless it is 17 or newer."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    remedy = "Run scripts/setup, or install one: apt-get install openjdk-17-jdk-headless."
    if found is None or not os.access(found, os.X_OK):
        seen = f"JAVA_HOME={home} has no bin/java" if home else "PATH has no java"
        raise PrerequisiteError(f"no Java {JAVA_MINIMUM} or newer: {seen}", remedy=remedy)
    command = Path(found).resolve()
    version = java_version(command)
    if version < JAVA_MINIMUM:
        raise PrerequisiteError(
            f"{found} is Java {version}, {JAVA_MINIMUM} or newer is needed", remedy=remedy
        )
    return command


def java_version(command: Path) -> int:
    """The feature release (17, 21, ...) of a ``java`` command; ``PrerequisiteError`` if it does not say."""
    text = _release_text(command)
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    if match is None:
        raise PrerequisiteError(f"{command} does not say its version: {text[:200]!r}")
    return int(match[1])


def class_data_archive(version: str = DEFAULT_VERSION) -> Path:
    """Where the class-data archive of this Java and this release belongs; the file may not exist.

    The name changes with the JVM and with the jars, because a JVM refuses another's archive.
    """
    artifacts = class_path(version)
    command = java()
    identity = f"{command}\n{_release_text(command)}\n{artifacts.class_path}\n{artifacts.lock.read_text()}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    return cache_root() / "class-data" / f"bookkeeper-{version}-{digest}.jsa"


def _fetch(version: str, folder: Path) -> None:
    """Fill a temporary folder beside ``folder``, compare it with the lock, rename it into place."""
    _LOG.info("fetching the jars of BookKeeper %s into %s", version, folder)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{version}-") as scratch:
        work = Path(scratch)
        jars = work / version
        jars.mkdir()
        resolution.fetch(version, jars, work=work)
        project_lock = _project_lock(version)
        if project_lock.is_file():
            _checked(version, project_lock, jars)
        jars.rename(folder)


def _project_lock(version: str) -> Path:
    return LOCKS / f"bookkeeper-{version}.sha256"


def _lock_of(version: str, home: Path, folder: Path) -> tuple[Path, str]:
    """The lock that applies, written now if there is none, and what the user should know of it."""
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


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    """Hold an advisory lock on ``path``; the kernel lets go of it with the process."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise PrerequisiteError(
            f"the cache {path.parent} cannot be written: {error.strerror}",
            remedy="Set FENCEPOST_CACHE to a folder that this user can write.",
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _built(path: Path, what: str) -> Path:
    if not path.is_file():
        raise PrerequisiteError(f"{what} is not built: {path} is missing", remedy="Run scripts/setup.")
    return path


def _release_text(command: Path) -> str:
    """The JDK's ``release`` file, or what ``java -version`` prints when there is none."""
    release = command.parent.parent / "release"
    if release.is_file():
        return release.read_text(encoding="utf-8", errors="replace")
    try:
        done = subprocess.run(
            [str(command), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PrerequisiteError(f"{command} cannot be run: {error}") from None
    return done.stderr


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
