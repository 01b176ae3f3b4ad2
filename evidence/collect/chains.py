"""ZooKeeper's transactions to the ``chains`` table: each version of the list of a log's ledgers.

A log made of ledgers keeps their ids in one znode (``client/``, ``ChainStore``). A version is in
force not before ZooKeeper stamped its transaction. Where a fault restored an older content of the
store, versions later than that content are removed. Judges nothing.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable

from evidence.collect.clock import WallClock
from evidence.collect.collected import Collected, collected
from evidence.collect.ledgers import PUT_BACK
from evidence.schemas import ChainRow
from evidence.shapes import Transaction

FOLDER = "/fencepost/chains/"


def collect_chains(lines: Iterable[Transaction], clock: WallClock, damage: Iterable[str] = ()) -> Collected:
    """Rows of ``chains``, sorted by log and version, from transactions in zxid order.

    An unreadable transaction becomes damage; transactions on other paths are skipped.
    """
    rows: list[ChainRow] = []
    broken = list(damage)
    for line in lines:
        try:
            if line["op"] == PUT_BACK:
                rows = [row for row in rows if row["zxid"] <= int(line["from"], 16)]
            elif line["path"].startswith(FOLDER):
                rows.append(_row(line, rows, clock))
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            broken.append(
                f"transaction {line.get('zxid')} on {line.get('path')} cannot be read: "
                f"{type(error).__name__}: {error}"
            )
    rows.sort(key=lambda row: (row["chain"], row["zxid"]))
    return collected("chains", rows, broken)


def _row(line: Transaction, rows: Iterable[ChainRow], clock: WallClock) -> ChainRow:
    name, zxid = line["path"].removeprefix(FOLDER), int(line["zxid"], 16)
    if line["op"] not in ("create", "set"):
        raise ValueError(f"no client deletes a log, but this is {line['op']!r}")
    born = zxid if line["op"] == "create" else max(row["born"] for row in rows if row["chain"] == name)
    return {
        "chain": name,
        "version": int(line["version"]),
        "ledgers": [int(one) for one in json.loads(base64.b64decode(line["data"], validate=True))["ledgers"]],
        "zxid": zxid,
        "born": born,
        "earliest_ns": clock.interval_ns(int(line["time_ms"]))[0],
    }
