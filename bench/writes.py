"""What journaling costs in disk writes: bytes that bookies write for each byte acknowledged to the client.

Two clusters alike stand side by side, one with the journal and one without. The same adds go to them in
turns (1 KiB entries, E3 WQ3 AQ2). A turn ends when each bookie has ended two checkpoints after the last
add, so that nothing of it is in the bookie's memory only. The figures are ``write_bytes`` of proc(5): bytes
of pages that a process made dirty in files on a disk; a file system in memory counts none.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.turns import ENTRY_BYTES, HEAP_MB, PATIENCE_S, turn
from cluster.local.backend import LocalBackend
from cluster.servers.cluster import RunningCluster
from cluster.servers.process import OwnedProcess
from cluster.servers.settings import RunSpec
from cluster.waiting import wait_until
from evidence.folder import RunFolder
from harness.conditions.storage import checkpoints_ended
from protocol.modes import MODES

WAYS = ("journal", "unprotected")
_CLIENT = "writer"
_CHECKPOINTS_TIMEOUT_S = 120.0


def writes_bench(rounds: int, entries: int, outstanding: int, scratch: Path) -> Iterator[str]:
    """Lines of the table: each round's bytes for each acknowledged byte, then medians and their ratio."""
    turns: dict[str, list[float]] = {way: [] for way in WAYS}
    with ExitStack() as stack:
        clusters = {way: _open(stack, way, scratch) for way in WAYS}
        for cluster in clusters.values():
            _written_per_byte(cluster, "warm", entries, outstanding)
        for number in range(1, rounds + 1):
            for way in WAYS[:: 1 if number % 2 else -1]:
                per_bookie = _written_per_byte(clusters[way], f"h{number}", entries, outstanding)
                turns[way].append(statistics.mean(per_bookie))
                yield f"round {number} {way:12} " + ", ".join(f"{one:.2f}" for one in per_bookie)
    for way in WAYS:
        yield f"{way:12} {_described(turns[way])} bytes written by a bookie for each byte acknowledged"
    ratios = [one / other for one, other in zip(turns[WAYS[1]], turns[WAYS[0]], strict=True)]
    yield f"without the journal / with it: {_described(ratios)}"


def _open(stack: ExitStack, way: str, scratch: Path) -> RunningCluster:
    place = stack.enter_context(tempfile.TemporaryDirectory(prefix="fencepost-bench-", dir=scratch))
    spec = RunSpec(
        RunFolder.create(Path(place), way),
        MODES[way],
        clients=(_CLIENT,),
        bookie_conf={
            "flushInterval": "10000",  # BookKeeper's default
            # Throttled rather than refused when the disk does not keep up.
            "dbStorage_maxThrottleTimeMs": "60000",
        },
        client_conf={"addEntryTimeoutSec": str(PATIENCE_S), "delayEnsembleChange": "true"},
        client_heap_mb=HEAP_MB,
        linked=False,
        logged=False,
        observed=False,
    )
    return stack.enter_context(LocalBackend(spec).open())


def _written_per_byte(
    cluster: RunningCluster, handle: str, entries: int, outstanding: int
) -> Sequence[float]:
    """For each bookie, bytes written for each byte of a ledger with this number of adds."""
    before = _write_bytes(cluster)
    turn(cluster, _CLIENT, handle, entries, outstanding)
    _await_checkpoints(cluster)
    after = _write_bytes(cluster)
    return [(after[name] - before[name]) / (entries * ENTRY_BYTES) for name in sorted(after)]


def _await_checkpoints(cluster: RunningCluster) -> None:
    for name, bookie in cluster.bookies.items():
        ended = checkpoints_ended(bookie)
        wait_until(ended, _CHECKPOINTS_TIMEOUT_S, f"checkpoints of {name}")


def _write_bytes(cluster: RunningCluster) -> dict[str, int]:
    """``write_bytes`` of each bookie's process since its start (proc(5), ``/proc/PID/io``)."""
    written: dict[str, int] = {}
    for name, bookie in cluster.bookies.items():
        assert isinstance(bookie, OwnedProcess)  # noqa: S101 - a local cluster's processes are
        lines = Path(f"/proc/{bookie.pid}/io").read_text().splitlines()
        written[name] = int(dict(line.split(": ") for line in lines)["write_bytes"])
    return written


def _described(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
