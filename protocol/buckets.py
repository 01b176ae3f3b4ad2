"""Which block of entries, and which bucket of the evidence tables, a row belongs to.

A block is a range of entry ids of one ledger; rows that name no entry (-1) are the ledger's block -1. All
rows of a block share a bucket, so that a judging task sees everything about an entry without a shuffle.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ENTRIES_PER_BLOCK = 16_384
_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xC2B2AE3D27D4EB4F)


def block_of(entry: NDArray[np.int64]) -> NDArray[np.int64]:
    """The block of each entry id; -1 for -1."""
    return entry // ENTRIES_PER_BLOCK


def bucket_of(ledger: NDArray[np.int64], entry: NDArray[np.int64], buckets: int) -> NDArray[np.int32]:
    """Bucket number (0..buckets-1) of each (ledger, entry)."""
    block = block_of(entry)
    with np.errstate(over="ignore"):
        mixed = ledger.astype(np.uint64) * _A + block.astype(np.uint64) * _B
        mixed ^= mixed >> np.uint64(29)
        mixed *= _A
        mixed ^= mixed >> np.uint64(32)
    return (mixed % np.uint64(buckets)).astype(np.int32)
