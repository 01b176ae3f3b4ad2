"""Which bucket of the evidence tables a row belongs to.

All rows of one block of entries of one ledger share a bucket, so that a judging task sees
everything about an entry without a shuffle. Works on ints and on NumPy arrays alike.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ENTRIES_PER_BLOCK = 65_536
_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xC2B2AE3D27D4EB4F)


def bucket_of(ledger: NDArray[np.int64], entry: NDArray[np.int64], buckets: int) -> NDArray[np.int32]:
    """Bucket number (0..buckets-1) of each (ledger, entry); entry -1 counts as block 0."""
    block = np.maximum(entry, 0) // ENTRIES_PER_BLOCK
    with np.errstate(over="ignore"):
        mixed = ledger.astype(np.uint64) * _A + block.astype(np.uint64) * _B
        mixed ^= mixed >> np.uint64(29)
        mixed *= _A
        mixed ^= mixed >> np.uint64(32)
    return (mixed % np.uint64(buckets)).astype(np.int32)
