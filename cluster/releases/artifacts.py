"""Programs that a run needs: server jars by version, the client's jar, the proxy, a JVM.

Server jars come from a Maven repository into a cache outside the checkout, appear there in one
step, and are compared with their lock of SHA-256 sums at every start. The project's locks name each
jar's path in the repository; Maven resolves a release without a lock. A user's own build (a fork, a
patch, a release candidate) comes from a folder of jars and gets a name of the form
``4.19.0-jars.0123456789ab``, by its release and the sum of its jars. The cache is ``FENCEPOST_CACHE``,
else ``XDG_CACHE_HOME/fencepost``, else ``~/.cache/fencepost``. This module starts no server and does
not use the run folder.
``python -m cluster.releases.artifacts VERSION...`` fetches ahead of time.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cluster.releases import checksums
from cluster.releases.checksums import cache_root as cache_root
from cluster.releases.checksums import exclusive
from cluster.releases.versions import DEFAULT_VERSION, PUBLISHED, is_build, parse
from protocol.errors import FencepostError, PrerequisiteError, UsageError
from protocol.java import about, java

CHECKOUT = Path(__file__).resolve().parents[2]
LOCKS = CHECKOUT / "locks"
_SERVER, _STORE = "bookkeeper-server", "zookeeper"
_GROUP = re.compile(r"^(?:[a-z][a-z0-9_]*\.)+[a-z][a-z0-9_-]*?-(?=[a-z])")
_JAR = re.compile(r"(?P<artifact>[A-Za-z][\w.+-]*?)-(?P<version>\d[\w.]*)(?P<rest>(?:-[\w.]+)*)\.jar")
_NO_CLASSES = ("-tests.jar", "-sources.jar", "-javadoc.jar")
_NUMBER = re.compile(r"\d+\.\d+\.\d+")
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


def adopt(folder: Path) -> str:
    """Put the build into the cache and return its name, as ``--bookkeeper`` takes it.

    ``folder`` holds all jars of a server (``lib/`` of a binary distribution), or only BookKeeper's own: then
    the nearest release supplies the others. ``UsageError`` when it holds no ``bookkeeper-server``.
    """
    own: dict[str, Path] = {}
    for path in sorted(folder.glob("*.jar")):
        if not path.name.endswith(_NO_CLASSES):
            _require_jar(path)
            _require_single(path, own)
            own[_artifact(path)] = path
    server = own.get(_SERVER)
    if server is None:
        raise UsageError(
            f"{folder} holds no {_SERVER}-*.jar ({len(own)} jars seen)",
            remedy="name the folder into which BookKeeper's build put its jars",
        )
    number = _number(server)
    if _STORE not in own:
        own = {_artifact(path): path for path in class_path(_nearest(number)).jars} | own
    name = f"{number}-jars.{_sum(own)}"
    parse(name)
    place = cache_root() / "bookkeeper" / name
    if not place.is_dir():
        _copy(own, place)
    return name


def require_adopted(version: str) -> None:
    """Refuse a build that is not in the cache: it cannot be downloaded from a repository."""
    if is_build(version) and not is_cached(version):
        raise PrerequisiteError(
            f"the build {version} is not in the cache", remedy="give its folder again with --jars"
        )


def client_jar() -> Path:
    """The client's jar, built by ``scripts/setup``; ``PrerequisiteError`` when it is missing."""
    return _built(CHECKOUT / "client" / "target" / "fencepost-client.jar", "the client's jar")


def agent_jar() -> Path:
    """The agent's jar, built by ``scripts/setup``; ``PrerequisiteError`` when it is missing."""
    return _built(CHECKOUT / "agent" / "target" / "fencepost-agent.jar", "the agent's jar")


def proxy_binary() -> Path:
    """The proxy, built by ``scripts/setup``; ``PrerequisiteError`` when it is missing."""
    return _built(CHECKOUT / "proxy" / "bin" / "fencepost-proxy", "the proxy")


def class_data_archive(version: str, role: str) -> Path:
    """Where the class-data archive of a role for this Java and this release belongs; the file may not exist.

    The name changes with the JVM and with the jars, because a JVM refuses another's archive.
    """
    artifacts = class_path(version)
    command = java()
    identity = f"{command}\n{about(command)}\n{artifacts.class_path}\n{artifacts.lock.read_text()}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    return cache_root() / "class-data" / f"bookkeeper-{version}-{digest}-{role}.jsa"


def _fetch(version: str, folder: Path) -> None:
    """Fill a folder beside ``folder`` and rename it; continues an interrupted fetch."""
    from cluster.releases import maven

    _LOG.info("fetching the jars of BookKeeper %s into %s", version, folder)
    project_lock = _project_lock(version)
    if project_lock.is_file():
        part = folder.with_name(f".{version}.part")
        maven.fetch(checksums.read_paths(project_lock), part)
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
    from cluster.releases import maven

    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{version}-") as scratch:
        jars = Path(scratch) / version
        jars.mkdir()
        maven.resolve(version, jars, work=Path(scratch))
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


def _require_jar(path: Path) -> None:
    with path.open("rb") as stream:
        if stream.read(2) != b"PK":
            raise UsageError(f"{path} is no jar: it is not a zip file", remedy="build it again, or remove it")


def _require_single(path: Path, own: Mapping[str, Path]) -> None:
    """Refuse a second server: only one of them would run."""
    other = own.get(_SERVER)
    if other is not None and _artifact(path) == _SERVER:
        raise UsageError(
            f"{path.parent} holds two servers, {other.name} and {path.name}",
            remedy="remove the one that is not to run, with the other jars of its build",
        )


def _artifact(path: Path) -> str:
    """``bookkeeper-server`` for ``bookkeeper-server-4.18.0.jar``, with or without its group before it.

    A classifier (``linux-x86_64``) belongs to the name.
    """
    name = _GROUP.sub("", path.name)
    match = _JAR.fullmatch(name)
    if match is None:
        return name
    return match["artifact"] + match["rest"].removeprefix("-SNAPSHOT")


def _number(server: Path) -> str:
    found = _NUMBER.search(server.name)
    if found is None:
        raise UsageError(f"{server.name} does not say which release it is, as in {_SERVER}-4.18.0.jar")
    return found[0]


def _nearest(number: str) -> str:
    """The newest published release of the same line, else the default."""
    line = parse(number)[:2]
    return next((version for version in reversed(PUBLISHED) if parse(version)[:2] == line), DEFAULT_VERSION)


def _sum(jars: Mapping[str, Path]) -> str:
    digest = hashlib.sha256()
    for artifact, path in sorted(jars.items()):
        digest.update(f"{artifact} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:12]


def _copy(jars: Mapping[str, Path], place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}-") as scratch:
        fresh = Path(scratch) / place.name
        fresh.mkdir()
        for path in jars.values():
            shutil.copyfile(path, fresh / path.name)
        try:
            fresh.rename(place)
        except OSError:
            if not place.is_dir():  # another process was quicker
                raise


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
