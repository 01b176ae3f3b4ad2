"""Which jars make up one BookKeeper release: resolved and fetched by Maven into one folder.

Only for releases without a lock, and to write locks: a locked release needs no resolution. The
generated pom imports the release's own dependency management, so the jars equal those with which the
release was built and shipped, and adds the two libraries that a ZooKeeper server needs and
BookKeeper declares optional. Uses neither locks nor caches: it fills the folder it is given.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from pathlib import Path

from cluster.maven import maven
from cluster.versions import unsupported
from protocol.errors import FencepostError, PrerequisiteError

PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
TIMEOUT_S = 900
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


def pom(version: str) -> str:
    """The pom whose dependencies are the servers' jars of ``version``."""
    return _POM.format(version=version)


def fetch(version: str, into: Path, *, work: Path) -> dict[str, str]:
    """Put every runtime jar of ``version`` into ``into``; path in the repository to SHA-256.

    The pom is written to ``work``. ``UsageError`` when the repository says that there is no such
    release, ``PrerequisiteError`` when Maven cannot be fetched or cannot reach its repository.
    """
    file, layout = work / "pom.xml", work / "layout"
    file.write_text(pom(version), encoding="utf-8")
    argv = [*maven(), "-q", "-f", str(file), f"{PLUGIN}:copy-dependencies", "-DincludeScope=runtime"]
    argv += ["-Dmdep.useRepositoryLayout=true", f"-DoutputDirectory={layout}"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise PrerequisiteError(
            f"Maven did not fetch the jars of BookKeeper {version} within {TIMEOUT_S} s",
            remedy="Check the network and FENCEPOST_MAVEN, then run again: what arrived is kept.",
        ) from None
    if done.returncode != 0:
        raise failure(version, _COLOUR.sub("", done.stdout + done.stderr))
    sums = {}
    for jar in layout.rglob("*.jar"):
        sums[jar.relative_to(layout).as_posix()] = hashlib.sha256(jar.read_bytes()).hexdigest()
        jar.rename(into / jar.name)
    return sums


def failure(version: str, output: str) -> FencepostError:
    """The error that Maven's output means: no such release, or a repository out of reach."""
    absent = _ABSENT.search(output)
    if absent is not None and absent["version"] == version:
        return unsupported(version, "is not in the Maven repository")
    lines = [line for line in output.splitlines() if line.startswith("[ERROR]")] or output.splitlines()
    reason = next((line.removeprefix("[ERROR]").strip() for line in lines if "rtifact" in line), "")
    return PrerequisiteError(
        f"Maven could not fetch the jars of BookKeeper {version}: {reason or ' '.join(lines[:3])}",
        remedy="Check the network, FENCEPOST_MAVEN and MAVEN_OPTS (docs/java.md), then run again.",
    )
