"""Wire logs made with NumPy: the frames of a writer's adds, in segments as the proxy leaves them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidence.raw.wirelog import RECORD

ADD, EOK, NONE = 1, 0, -1
Records = NDArray[Any]


def adds(ledgers: Mapping[int, int], *, links: int = 3, began_ns: int = 1_000_000_000) -> Records:
    """Entry after entry (ledger -> how many): a request on each link, then each bookie's EOK.

    Frames come 1000 ns apart and are passed on 300 ns later.
    """
    ledger = np.repeat(list(ledgers), [2 * links * count for count in ledgers.values()])
    entry = np.concatenate([np.repeat(np.arange(count), 2 * links) for count in ledgers.values()])
    rows = np.zeros(len(ledger), dtype=RECORD)
    place = np.arange(len(ledger)) % (2 * links)
    rows["ledger"], rows["entry"] = ledger, entry
    rows["txn"], rows["link"] = np.arange(len(rows)) // (2 * links), place % links + 1
    rows["connection"], rows["protocol"], rows["kind"], rows["op"] = rows["link"], 3, ADD, 2
    rows["received_ns"] = began_ns + 1000 * np.arange(len(rows))
    rows["forwarded_ns"] = rows["received_ns"] + 300
    answers = place >= links
    rows["way"] = answers
    rows["asked_ns"] = np.where(answers, rows["received_ns"] - 1000 * links, 0)
    rows["status"] = rows["delivered"] = np.where(answers, EOK, NONE)
    rows["lac"], rows["size_bytes"] = np.where(answers, -1, entry - 1), np.where(answers, 40, 1100)
    return rows
