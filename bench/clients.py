"""Throughput of the client: recording against not recording, and against BookKeeper's own client.

All write to one cluster in turns, in unprotected mode (no journal), straight to the bookies. Recording is
compared at 1,000 adds outstanding. BookKeeper's benchmark uses one number both as its window and as its limit
of adds a second, so the comparison with it takes a window so wide that the limit does not bind; ours takes
the same. That benchmark is fetched on first use, never part of a run; of ``bookkeeper-benchmark`` only
release 4.17.3 is on Maven Central.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bench.turns import (
    ENTRY_BYTES,
    HEAP_MB,
    OUTSTANDING,
    PATIENCE_S,
    TURN_TIMEOUT_S,
    in_turns,
    opened,
    ratios,
    spec,
    spread,
    turn,
)
from cluster.releases.artifacts import cache_root
from cluster.releases.maven import copy_dependencies
from cluster.servers.cluster import Cluster
from protocol.addresses import ZOOKEEPER
from protocol.errors import ClientError, PrerequisiteError
from protocol.java import java

WIDE_OUTSTANDING = 20_000
_WAYS = {
    "recording": ("recording", OUTSTANDING),
    "plain": ("plain", OUTSTANDING),
    "recording wide": ("recording", WIDE_OUTSTANDING),
    "upstream": ("", 0),
}
"""The client of each measurement, and its window; BookKeeper's own is none of the cluster's."""
_UPSTREAM_S = 8
_UPSTREAM_MOST = 1_000_000
_UPSTREAM_RATE = re.compile(r"(\d+) ops/sec")
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


def client_bench(rounds: int, entries: int) -> Iterator[str]:
    """Lines of the table; the last say the two ratios."""
    rates: dict[str, list[float]] = {way: [] for way in _WAYS}
    clients = ("recording", "plain")
    wanted = replace(spec("unprotected"), clients=clients, unrecorded=frozenset({"plain"}))
    with opened(wanted) as cluster:
        for name in clients:
            turn(cluster, "warm", entries, name=name)
        for number, order in in_turns([*_WAYS], rounds):
            for way in order:
                name, outstanding = _WAYS[way]
                if name:
                    rates[way].append(turn(cluster, f"{outstanding}.{number}", entries, outstanding, name))
                else:
                    rates[way].append(_upstream(cluster, entries))
            yield f"round {number}: " + ", ".join(f"{way} {taken[-1]:,.0f}/s" for way, taken in rates.items())
    for way, rate in rates.items():
        yield f"{way:14} median {spread(rate, ',.0f').replace(' (', ' adds/s (')}"
    for way, other in (("recording", "plain"), ("recording wide", "upstream")):
        yield f"{way} / {other}: {ratios(rates[way], rates[other])}"


def _upstream(cluster: Cluster, entries: int) -> float:
    """BookKeeper's own latency benchmark with the same shape; adds per second as it says itself."""
    host, port = cluster.site.addresses.direct(ZOOKEEPER)
    server = cluster.clients["recording"].folder
    argv = [
        str(java()),
        *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Xmx{HEAP_MB}m", "-XX:MaxDirectMemorySize=64m"),
        f"-Djdk.net.hosts.file={server / 'hosts'}",
        f"-Dlog4j2.configurationFile={server / 'log4j2.xml'}",
        *("-cp", upstream_class_path(), "org.apache.bookkeeper.benchmark.BenchThroughputLatency"),
        *("--zookeeper", f"{host}:{port}"),
        *("--entrysize", str(ENTRY_BYTES), "--throttle", str(WIDE_OUTSTANDING)),
        *("--ensemble", "3", "--quorum", "3", "--ackQuorum", "2", "--sendlimit", str(_UPSTREAM_MOST)),
        *("--time", str(_UPSTREAM_S), "--warmupMessages", str(entries), "--sockettimeout", str(PATIENCE_S)),
        *("--latencyFile", str(server / "latency.dump")),
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=TURN_TIMEOUT_S, check=False)
    found = _UPSTREAM_RATE.findall(done.stdout + done.stderr)
    if not found:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise ClientError(f"BookKeeper's benchmark said no rate (exit {done.returncode}): {last}")
    return float(found[-1])


def upstream_class_path() -> str:
    """The class path of the benchmark; ``PrerequisiteError`` when it cannot be fetched."""
    home = cache_root() / "benchmark"
    folder = home / VERSION
    if not folder.is_dir():
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home, prefix=f".{VERSION}-") as scratch:
            jars = Path(scratch) / VERSION
            done = copy_dependencies(_POM, jars, Path(scratch))
            if done is None or done.returncode != 0:
                raise PrerequisiteError(
                    f"Maven could not fetch bookkeeper-benchmark {VERSION}",
                    remedy="check the network and Maven's settings, then run again",
                )
            jars.rename(folder)
    return os.pathsep.join(str(jar) for jar in sorted(folder.glob("*.jar")))
