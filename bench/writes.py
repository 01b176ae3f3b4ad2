"""What journaling costs in disk writes: bytes that bookies write for each byte acknowledged to the client.

Two clusters alike stand side by side, one with the journal and one without. The same adds go to them in
turns. A turn ends when each bookie has ended two checkpoints after the last
add, so that nothing of it is in the bookie's memory only. The figures are ``write_bytes`` of proc(5): bytes
of pages that a process made dirty in files on a disk; a file system in memory counts none.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from bench.turns import ENTRY_BYTES, in_turns, opened, process, ratios, spec, spread, turn
from cluster.servers.cluster import Cluster
from cluster.waiting import wait_until
from harness.conditions.storage import checkpoints_ended

WAYS = ("journal", "unprotected")
_BOOKIE_CONF = {
    "flushInterval": "10000",  # BookKeeper's default
    "dbStorage_maxThrottleTimeMs": "60000",  # throttled rather than refused when the disk does not keep up
}
_CHECKPOINTS_TIMEOUT_S = 120.0


def writes_bench(rounds: int, entries: int, outstanding: int, scratch: Path) -> Iterator[str]:
    """Lines of the table: each round's bytes for each acknowledged byte, then medians and their ratio."""
    turns: dict[str, list[float]] = {way: [] for way in WAYS}
    with ExitStack() as stack:
        wanted = {way: replace(spec(way), bookie_conf=_BOOKIE_CONF, logged=False) for way in WAYS}
        clusters = {way: stack.enter_context(opened(wanted[way], scratch)) for way in WAYS}
        for cluster in clusters.values():
            _written_per_byte(cluster, "warm", entries, outstanding)
        for number, order in in_turns(WAYS, rounds):
            for way in order:
                per_bookie = _written_per_byte(clusters[way], f"h{number}", entries, outstanding)
                turns[way].append(statistics.mean(per_bookie))
                yield f"round {number} {way:12} " + ", ".join(f"{one:.2f}" for one in per_bookie)
    for way in WAYS:
        yield f"{way:12} {spread(turns[way])} bytes written by a bookie for each byte acknowledged"
    yield f"without the journal / with it: {ratios(turns[WAYS[1]], turns[WAYS[0]])}"


def _written_per_byte(cluster: Cluster, handle: str, entries: int, outstanding: int) -> Sequence[float]:
    """For each bookie, bytes written for each byte of a ledger with this number of adds."""
    before = _write_bytes(cluster)
    turn(cluster, handle, entries, outstanding)
    for name, bookie in cluster.bookies.items():
        wait_until(checkpoints_ended(bookie), _CHECKPOINTS_TIMEOUT_S, f"checkpoints of {name}")
    after = _write_bytes(cluster)
    return [(after[name] - before[name]) / (entries * ENTRY_BYTES) for name in sorted(after)]


def _write_bytes(cluster: Cluster) -> dict[str, int]:
    return {name: process(cluster, name).io_counters().write_bytes for name in cluster.bookies}
