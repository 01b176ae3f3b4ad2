"""Measurements in turns: clusters without faults, one ledger full of adds after the other, and ratios.

All adds have 1 KiB and go to ledgers of E3 WQ3 AQ2.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil

from cluster.commands import CommandResult, within
from cluster.local.backend import open_cluster
from cluster.processes.settings import RunSpec
from cluster.servers.cluster import Cluster
from evidence.folder import RunFolder
from plans.grammar.steps import LedgerShape
from protocol.errors import ClientError
from protocol.modes import MODES

CLIENT = "writer"
ENTRY_BYTES = 1024
OUTSTANDING = 1000
PATIENCE_S = 30  # a wide window waits for seconds on a busy machine
HEAP_MB = 512
SHAPE = LedgerShape(ensemble=3, write_quorum=3, ack_quorum=2)
TURN_TIMEOUT_S = 300
BOOKIE_CONF: Mapping[str, str] = {
    # Written often, and throttled rather than refused when the disk does not keep up.
    "flushInterval": "1000",
    "dbStorage_writeCacheMaxSizeMb": "128",
    "dbStorage_maxThrottleTimeMs": "60000",
}
CLIENT_CONF: Mapping[str, str] = {"addEntryTimeoutSec": str(PATIENCE_S), "delayEnsembleChange": "true"}


def spec(mode: str) -> RunSpec:
    """One client straight to the bookies; its folder is given when the cluster is opened."""
    return RunSpec(
        RunFolder(Path()),
        MODES[mode],
        clients=(CLIENT,),
        bookie_conf=BOOKIE_CONF,
        client_conf=CLIENT_CONF,
        client_heap_mb=HEAP_MB,
        linked=False,
        observed=False,
    )


@contextmanager
def opened(wanted: RunSpec, scratch: Path | None = None) -> Iterator[Cluster]:
    """The cluster, in a temporary folder below ``scratch``."""
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-", dir=scratch) as place:
        folder = RunFolder.create(Path(place), wanted.mode.name)
        with open_cluster(replace(wanted, folder=folder)) as cluster:
            yield cluster


def in_turns(names: Sequence[str], rounds: int) -> Iterator[tuple[int, Sequence[str]]]:
    """Each round (from 1) with its order, every second one backwards: none always follows the same."""
    for number in range(1, rounds + 1):
        yield number, names[:: 1 if number % 2 else -1]


def turn(
    cluster: Cluster, handle: str, entries: int, outstanding: int = OUTSTANDING, name: str = CLIENT
) -> float:
    """Fill one ledger by the client of that name; adds per second. Raises ``ClientError``."""
    client = within(cluster.clients[name], TURN_TIMEOUT_S)
    _ok(client.create(handle, SHAPE, digest="CRC32"))
    began = time.monotonic()
    _ok(client.append(handle, entries, entry_bytes=ENTRY_BYTES, outstanding=outstanding))
    took_s = time.monotonic() - began
    _ok(client.close(handle))
    return entries / took_s


def _ok(result: CommandResult) -> None:
    if not result.ok:
        raise ClientError(f"the benchmark's client failed: {result.refusal}")


def process(cluster: Cluster, name: str) -> psutil.Process:
    """One of the cluster's processes, to be asked what it has used since its start."""
    return psutil.Process(cluster.process(name).pid)


def spread(values: Sequence[float], form: str = ".2f") -> str:
    """The median, and the least and the most in brackets."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def ratios(these: Sequence[float], those: Sequence[float]) -> str:
    """The spread of the ratios, turn by turn."""
    return spread([one / other for one, other in zip(these, those, strict=True)])
