"""The highest value of each ledger, and which client's operation said so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Peak(NamedTuple):
    """A value with the client number and sequence number of the operation that told it."""

    value: int
    client: int
    seq: int


Peaks = Mapping[int, Peak]


def higher(left: Peak, right: Peak) -> Peak:
    """The higher value; of equal ones that of the lower client number, then the earlier operation."""
    return min(left, right, key=lambda peak: (-peak.value, peak.client, peak.seq))


def peaks(
    ledger: NDArray[Any], value: NDArray[Any], client: NDArray[Any], seq: NDArray[Any]
) -> dict[int, Peak]:
    """The peak of each ledger over rows in any order; linear when rows come sorted by ledger."""
    if not len(ledger):
        return {}
    if np.any(ledger[1:] < ledger[:-1]):
        order = np.argsort(ledger, kind="stable")
        ledger, value, client, seq = ledger[order], value[order], client[order], seq[order]
    starts = np.flatnonzero(np.concatenate([[True], ledger[1:] != ledger[:-1]]))
    tops = np.maximum.reduceat(value, starts)
    at_top = np.flatnonzero(value == np.repeat(tops, np.diff(np.append(starts, len(ledger)))))
    order = at_top[np.lexsort((seq[at_top], client[at_top], ledger[at_top]))]
    firsts = order[np.concatenate([[True], ledger[order][1:] != ledger[order][:-1]])]
    return {
        int(ledger[row]): Peak(int(value[row]), int(client[row]), int(seq[row])) for row in firsts.tolist()
    }


def merge_peaks(left: Peaks, right: Peaks) -> dict[int, Peak]:
    """The peaks of both."""
    merged = dict(left)
    for ledger, peak in right.items():
        merged[ledger] = higher(merged[ledger], peak) if ledger in merged else peak
    return merged
