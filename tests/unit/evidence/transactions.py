"""Transactions of ZooKeeper on a ledger's metadata (ledger 7), as lines of its log."""

from __future__ import annotations

import base64
from typing import Any

from evidence.collect.clock import WallClock

MS = 1_000_000
CLOCK = WallClock.of(
    {"wall_ns": 1000 * MS, "monotonic_ns": 0}, {"wall_ns": 9000 * MS, "monotonic_ns": 8000 * MS}
)


def metadata(state: str, *, last_entry: int = -1, bookies: str = "b1 b2") -> str:
    members = "".join(f' ensembleMember: "{bookie}:3181"' for bookie in bookies.split())
    text = (
        f"quorumSize: 2 ensembleSize: 2 length: 10 lastEntryId: {last_entry} state: {state} "
        f"ackQuorumSize: 1 segment {{{members} firstEntryId: 0 }} digestType: CRC32C"
    )
    return base64.b64encode(b"BookieMetadataFormatVersion\t2\n" + text.encode()).decode()


def txn(
    zxid: int, op: str, *, version: int | None = None, data: str | None = None, **other: Any
) -> dict[str, Any]:
    """Its time is its number, in ms after the run began."""
    return {
        "zxid": hex(zxid),
        "time_ms": 1000 + zxid,
        "op": op,
        "path": "/ledgers/00/0000/L0007",
        "version": version,
        "data": data,
    } | other


def put_back(zxid: int, upto: int, at_ns: int) -> dict[str, Any]:
    """The store's content is again that of transaction ``upto``."""
    return {"op": "put_back", "path": "/", "zxid": hex(zxid), "from": hex(upto), "at_ns": at_ns}
