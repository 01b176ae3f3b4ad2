"""Throughput of the client: recording against not recording, and against BookKeeper's own client.

All write to one cluster in turns: 1 KiB entries, E3 WQ3 AQ2, unprotected mode (no journal), straight
to the bookies. Recording is compared at 1,000 adds outstanding. BookKeeper's benchmark uses one
number both as its window and as its limit of adds a second, so the comparison with it takes a
window so wide that the limit does not bind; ours takes the same.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.turns import (
    BOOKIE_CONF,
    ENTRY_BYTES,
    HEAP_MB,
    OUTSTANDING,
    PATIENCE_S,
    TURN_TIMEOUT_S,
    turn,
)
from bench.upstream import upstream_class_path
from cluster.local.backend import LocalBackend
from cluster.servers.cluster import RunningCluster
from cluster.servers.settings import RunSpec
from evidence.folder import RunFolder
from protocol.addresses import ZOOKEEPER
from protocol.errors import ClientError
from protocol.java import java
from protocol.modes import MODES

WIDE_OUTSTANDING = 20_000
_UPSTREAM_S = 8
_UPSTREAM_MOST = 1_000_000
_UPSTREAM_RATE = re.compile(r"(\d+) ops/sec")


def client_bench(rounds: int, entries: int) -> Iterator[str]:
    """Lines of the table; the last say the two ratios."""
    rates: dict[str, list[float]] = {"recording": [], "plain": [], "recording wide": [], "upstream": []}
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as place:
        folder = RunFolder.create(Path(place), "unprotected")
        spec = RunSpec(
            folder,
            MODES["unprotected"],
            clients=("recording", "plain"),
            bookie_conf=BOOKIE_CONF,
            client_conf={"addEntryTimeoutSec": str(PATIENCE_S), "delayEnsembleChange": "true"},
            client_heap_mb=HEAP_MB,
            unrecorded=frozenset({"plain"}),
            linked=False,
            observed=False,
        )
        with LocalBackend(spec).open() as cluster:
            for name in ("recording", "plain"):
                turn(cluster, name, "warm", entries, OUTSTANDING)
            turns: dict[str, Callable[[int], float]] = {
                "recording": lambda number: turn(cluster, "recording", f"h{number}", entries, OUTSTANDING),
                "plain": lambda number: turn(cluster, "plain", f"h{number}", entries, OUTSTANDING),
                "recording wide": lambda number: turn(
                    cluster, "recording", f"w{number}", entries, WIDE_OUTSTANDING
                ),
                "upstream": lambda _: _upstream(cluster, folder, entries),
            }
            for number in range(1, rounds + 1):
                # Every second round backwards, so that no one always follows the same other.
                for name in list(turns)[:: 1 if number % 2 else -1]:
                    rates[name].append(turns[name](number))
                yield f"round {number}: " + ", ".join(
                    f"{name} {rate[-1]:,.0f}/s" for name, rate in rates.items()
                )
    for name, rate in rates.items():
        yield f"{name:14} median {statistics.median(rate):,.0f} adds/s ({min(rate):,.0f} to {max(rate):,.0f})"
    for name, other in (("recording", "plain"), ("recording wide", "upstream")):
        ratios = [ours / theirs for ours, theirs in zip(rates[name], rates[other], strict=True)]
        yield f"{name} / {other}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _upstream(cluster: RunningCluster, folder: RunFolder, entries: int) -> float:
    """BookKeeper's own latency benchmark with the same shape; adds per second as it says itself."""
    host, port = cluster.addresses.direct(ZOOKEEPER)
    hosts = folder.server("recording") / "hosts"
    argv = [
        str(java()),
        *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Xmx{HEAP_MB}m", "-XX:MaxDirectMemorySize=64m"),
        f"-Djdk.net.hosts.file={hosts}",
        f"-Dlog4j2.configurationFile={folder.server('recording') / 'log4j2.xml'}",
        *("-cp", upstream_class_path(), "org.apache.bookkeeper.benchmark.BenchThroughputLatency"),
        *(
            "--zookeeper",
            f"{host}:{port}",
            "--entrysize",
            str(ENTRY_BYTES),
            "--throttle",
            str(WIDE_OUTSTANDING),
        ),
        *("--ensemble", "3", "--quorum", "3", "--ackQuorum", "2", "--sendlimit", str(_UPSTREAM_MOST)),
        *("--time", str(_UPSTREAM_S), "--warmupMessages", str(entries), "--sockettimeout", str(PATIENCE_S)),
        *("--latencyFile", str(folder.path / "latency.dump")),
    ]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=TURN_TIMEOUT_S, check=False)
    found = _UPSTREAM_RATE.findall(done.stdout + done.stderr)
    if not found:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise ClientError(f"BookKeeper's benchmark said no rate (exit {done.returncode}): {last}")
    return float(found[-1])
