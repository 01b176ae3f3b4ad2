"""One turn of a measurement: a ledger full of adds by one client of a cluster without faults."""

from __future__ import annotations

import time
from collections.abc import Mapping

from cluster.commands import Result, within
from cluster.servers.cluster import RunningCluster
from plans.shapes import LedgerShape
from protocol.errors import ClientError

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


def turn(cluster: RunningCluster, name: str, handle: str, entries: int, outstanding: int) -> float:
    """Fill one ledger by the client of that name; adds per second. Raises ``ClientError``."""
    client = within(cluster.clients[name], TURN_TIMEOUT_S)
    _ok(client.create(handle, SHAPE, digest="CRC32"))
    began = time.monotonic()
    _ok(client.append(handle, entries, entry_bytes=ENTRY_BYTES, outstanding=outstanding))
    took_s = time.monotonic() - began
    _ok(client.close(handle))
    return entries / took_s


def _ok(result: Result) -> None:
    if not result.ok:
        raise ClientError(f"the benchmark's client failed: {result.refusal}")
