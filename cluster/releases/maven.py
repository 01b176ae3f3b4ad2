"""Files of a Maven repository: fetched by path and checked by SHA-256, or resolved by Maven's own command.

A locked release needs no Maven. Maven is for releases without a lock, for new locks, and for the Java
projects' unit tests: PATH's ``mvn``, else Maven as an archive from the repository, kept in the cache. Its
settings and its local repository are below the cache, too: nothing in ``~/.m2`` is read or written.

The repository is Maven Central, or the mirror that ``FENCEPOST_MAVEN`` names by its base URL.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import Any

import requests
from jgo.constants import MAVEN_CENTRAL_URL

from cluster.releases import checksums
from cluster.releases.checksums import cache_root, exclusive
from cluster.releases.versions import unsupported
from protocol.errors import FencepostError, PrerequisiteError
from protocol.java import java

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
TIMEOUT_S = 900
LOCK = Path(__file__).resolve().parents[2] / "locks" / "maven.sha256"
_AT_A_TIME = 8
_ATTEMPTS = 4
_REQUEST_TIMEOUT_S = 30
_BLOCK_BYTES = 1 << 14  # the last one is lost when a connection breaks
_OFFLINE = (
    "Check the network, then run again: what arrived is kept. "
    "HTTPS_PROXY names a proxy, FENCEPOST_MAVEN a mirror."
)
# Python has the argument from 3.11.4 on, and Debian 12 has 3.11.2; the archive is compared with its sum.
_FILTER: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
_MIRRORED = "<mirrors><mirror><id>fencepost</id><mirrorOf>*</mirrorOf><url>{url}</url></mirror></mirrors>"
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>fencepost</groupId>
  <artifactId>servers</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencyManagement>
    <dependencies>
      <dependency>
        <groupId>org.apache.bookkeeper</groupId>
        <artifactId>bookkeeper</artifactId>
        <version>{version}</version>
        <type>pom</type>
        <scope>import</scope>
      </dependency>
    </dependencies>
  </dependencyManagement>
  <dependencies>
    <dependency>
      <groupId>org.apache.bookkeeper</groupId>
      <artifactId>bookkeeper-server</artifactId>
      <version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.xerial.snappy</groupId>
      <artifactId>snappy-java</artifactId>
    </dependency>
    <dependency>
      <groupId>io.dropwizard.metrics</groupId>
      <artifactId>metrics-core</artifactId>
    </dependency>
  </dependencies>
</project>
"""
_ABSENT = re.compile(
    r"org\.apache\.bookkeeper:bookkeeper(?:-server)?:(?:pom|jar):(?P<version>\S+)"
    r"(?: in \S+ \(| was not found in| \(present, but unavailable)"
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def repository() -> str:
    """The base URL of the repository."""
    return (os.environ.get("FENCEPOST_MAVEN") or MAVEN_CENTRAL_URL).rstrip("/")


def fetch(sums: Mapping[str, str], into: Path) -> None:
    """Fetch files (path in the repository to SHA-256) into one folder under their last names.

    Complete files are kept, a partial file is continued. ``PrerequisiteError`` when the repository is
    unreachable, lacks a file, or has other content.
    """
    into.mkdir(parents=True, exist_ok=True)
    with requests.Session() as session, ThreadPoolExecutor(_AT_A_TIME) as pool:
        try:
            tasks = [pool.submit(_fetch, session, path, digest, into) for path, digest in sums.items()]
            for task in tasks:
                task.result()
        except OSError as error:
            raise PrerequisiteError(f"{into} cannot be written: {error.strerror}") from None
        finally:
            pool.shutdown(cancel_futures=True)


def _fetch(session: requests.Session, path: str, digest: str, into: Path) -> None:
    target = into / PurePosixPath(path).name
    if target.exists():  # it got its name after its check
        return
    part = target.with_name(f"{target.name}.part")
    url = f"{repository()}/{path}"
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _continue(session, url, part)
        except requests.RequestException as error:
            if not _passing(error):
                raise PrerequisiteError(f"{url} cannot be fetched: {error}", remedy=_OFFLINE) from None
            if attempt == _ATTEMPTS:
                raise PrerequisiteError(
                    f"{repository()} cannot be reached: {error}", remedy=_OFFLINE
                ) from None
            time.sleep(attempt)
            continue
        with part.open("rb") as stream:
            seen = hashlib.file_digest(stream, "sha256").hexdigest()
        if seen == digest:
            part.rename(target)
            return
        part.unlink()
    raise PrerequisiteError(
        f"{url} has SHA-256 {seen}, the lock says {digest}",
        remedy="Check FENCEPOST_MAVEN and the proxy: they return another file than the one locked.",
    )


def _continue(session: requests.Session, url: str, part: Path) -> None:
    """Append to ``part`` what it lacks of the file; a server without ranges sends all of it again."""
    have = part.stat().st_size if part.exists() else 0
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={have}-"} if have else {})}
    with session.get(url, headers=headers, stream=True, timeout=_REQUEST_TIMEOUT_S) as response:
        if response.status_code == requests.codes.requested_range_not_satisfiable:
            return  # it is whole, or is no part of this file: the sum says which
        response.raise_for_status()
        with part.open("ab" if response.status_code == requests.codes.partial_content else "wb") as stream:
            for block in response.iter_content(_BLOCK_BYTES):
                stream.write(block)


def _passing(error: requests.RequestException) -> bool:
    """Whether the next attempt may succeed: the connection broke, or the server has a temporary error."""
    if error.response is None:
        return isinstance(
            error, requests.ConnectionError | requests.Timeout | requests.exceptions.ChunkedEncodingError
        )
    return error.response.status_code >= 500 or error.response.status_code == requests.codes.too_many_requests


def maven() -> list[str]:
    """The command line up to the options of the caller; Maven's JVM is the one of :func:`protocol.java.java`.

    ``PrerequisiteError`` when PATH has no ``mvn`` and the repository is out of reach. Maven
    takes a proxy from ``MAVEN_OPTS=-Dhttps.proxyHost=... -Dhttps.proxyPort=...``.
    """
    home = cache_root() / "maven"
    with exclusive(home / "lock"):
        command = shutil.which("mvn") or str(_unpacked(home))
        settings = home / "settings.xml"
        settings.write_text(f"<settings>{_MIRRORED.format(url=repository())}</settings>\n")
    own = ["-s", str(settings), f"-Dmaven.repo.local={home / 'repository'}"]
    return ["env", "MAVEN_SKIP_RC=1", f"JAVA_HOME={java().parent.parent}", command, "-B", *own]


def _unpacked(home: Path) -> Path:
    ((path, digest),) = checksums.read_paths(LOCK).items()
    archive = home / Path(path).name
    folder = home / archive.name.removesuffix("-bin.tar.gz")
    if not folder.is_dir():
        fetch({path: digest}, home)
        with tempfile.TemporaryDirectory(dir=home) as scratch, tarfile.open(archive) as packed:
            packed.extractall(scratch, **_FILTER)  # noqa: S202  # pinned by its sum
            (Path(scratch) / folder.name).rename(folder)
        archive.unlink()
    return folder / "bin" / "mvn"


def resolve(version: str, into: Path, *, work: Path) -> dict[str, str]:
    """Put every runtime jar of ``version`` into ``into``; path in the repository to SHA-256.

    The generated pom imports the release's own dependency management, so the jars equal those with which the
    release was built and shipped, and adds the two libraries that a ZooKeeper server needs and BookKeeper
    declares optional. The pom is written to ``work``. ``UsageError`` when the repository says that there is
    no such release, ``PrerequisiteError`` when Maven cannot be fetched or cannot reach its repository.
    """
    layout = work / "layout"
    done = copy_dependencies(_POM.format(version=version), layout, work, "-Dmdep.useRepositoryLayout=true")
    if done is None:
        raise PrerequisiteError(
            f"Maven did not fetch the jars of BookKeeper {version} within {TIMEOUT_S} s",
            remedy="Check the network and FENCEPOST_MAVEN, then run again: what arrived is kept.",
        )
    if done.returncode != 0:
        raise failure(version, _COLOUR.sub("", done.stdout + done.stderr))
    sums = {}
    for jar in layout.rglob("*.jar"):
        sums[jar.relative_to(layout).as_posix()] = hashlib.sha256(jar.read_bytes()).hexdigest()
        jar.rename(into / jar.name)
    return sums


def copy_dependencies(
    pom: str, into: Path, work: Path, *options: str
) -> subprocess.CompletedProcess[str] | None:
    """Run Maven to copy the runtime dependencies of ``pom``, which is written to ``work``; None: no end."""
    file = work / "pom.xml"
    file.write_text(pom, encoding="utf-8")
    argv = [*maven(), "-q", "-f", str(file), f"{PLUGIN}:copy-dependencies", "-DincludeScope=runtime"]
    argv += [*options, f"-DoutputDirectory={into}"]
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return None


def failure(version: str, output: str) -> FencepostError:
    """The error that Maven's output means: no such release, or a repository out of reach."""
    absent = _ABSENT.search(output)
    if absent is not None and absent["version"] == version:
        return unsupported(
            version,
            f"is not in the Maven repository {repository()}",
            way_out="Name a repository that has it with FENCEPOST_MAVEN. ",
        )
    lines = [line for line in output.splitlines() if line.startswith("[ERROR]")] or output.splitlines()
    reason = next((line.removeprefix("[ERROR]").strip() for line in lines if "rtifact" in line), "")
    return PrerequisiteError(
        f"Maven could not fetch the jars of BookKeeper {version}: {reason or ' '.join(lines[:3])}",
        remedy="Check the network, FENCEPOST_MAVEN and MAVEN_OPTS (docs/java.md), then run again.",
    )
