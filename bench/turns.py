"""One turn of a measurement: a ledger full of adds by one client of a cluster without faults."""

from __future__ import annotations

import time
from collections.abc import Mapping

from cluster.servers.cluster import RunningCluster
from protocol.errors import ClientError

ENTRY_BYTES = 1024
OUTSTANDING = 1000
PATIENCE_S = 30  # a wide window waits for seconds on a busy machine
HEAP_MB = 512
QUORUMS: Mapping[str, int] = {"ensemble": 3, "write_quorum": 3, "ack_quorum": 2}
TURN_TIMEOUT_S = 300
BOOKIE_CONF: Mapping[str, str] = {
    # Written often, and throttled rather than refused when the disk does not keep up.
    "flushInterval": "1000",
    "dbStorage_writeCacheMaxSizeMb": "128",
    "dbStorage_maxThrottleTimeMs": "60000",
}


def turn(cluster: RunningCluster, name: str, handle: str, entries: int, outstanding: int) -> float:
    """Fill one ledger by the client of that name; adds per second. Raises ``ClientError``."""
    client = cluster.clients[name]
    _ok(client.call("create", timeout_s=30, handle=handle, digest="CRC32", **QUORUMS))
    began = time.monotonic()
    _ok(
        client.call(
            "append",
            timeout_s=TURN_TIMEOUT_S,
            handle=handle,
            entries=entries,
            entry_bytes=ENTRY_BYTES,
            outstanding=outstanding,
        )
    )
    took_s = time.monotonic() - began
    _ok(client.call("close", timeout_s=60, handle=handle))
    return entries / took_s


def _ok(reply: dict[str, object]) -> None:
    if not reply.get("ok"):
        raise ClientError(f"the benchmark's client failed: {reply}")
