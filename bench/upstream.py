"""BookKeeper's own benchmark client, for comparison; fetched on first use, never part of a run.

Only release 4.17.3 of ``bookkeeper-benchmark`` is on Maven Central.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from cluster.artifacts import cache_root
from cluster.maven import maven
from cluster.resolution import PLUGIN
from protocol.errors import PrerequisiteError

VERSION = "4.17.3"
_POM = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>fencepost</groupId>
  <artifactId>upstream-benchmark</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.bookkeeper</groupId>
      <artifactId>bookkeeper-benchmark</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""
_TIMEOUT_S = 600


def upstream_class_path() -> str:
    """The class path of the benchmark; ``PrerequisiteError`` when it cannot be fetched."""
    home = cache_root() / "benchmark"
    folder = home / VERSION
    if not folder.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home, prefix=f".{VERSION}-") as scratch:
            jars = Path(scratch) / VERSION
            _fetch(Path(scratch), jars)
            jars.rename(folder)
    return os.pathsep.join(str(jar) for jar in sorted(folder.glob("*.jar")))


def _fetch(work: Path, jars: Path) -> None:
    pom = work / "pom.xml"
    pom.write_text(_POM, encoding="utf-8")
    argv = [*maven(), "-q", "-f", str(pom), f"{PLUGIN}:copy-dependencies"]
    argv += ["-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode != 0:
        raise PrerequisiteError(
            f"Maven could not fetch bookkeeper-benchmark {VERSION}",
            remedy="check the network and Maven's settings, then run again",
        )
