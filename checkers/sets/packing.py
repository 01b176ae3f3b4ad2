"""Columns of whole numbers in as few bytes as their spread allows, for the way from process to process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from checkers.sets.spans import Ints

Packed = tuple[int, NDArray[np.unsignedinteger]]
"""The least number, and what is to be added to it."""


def packed(column: Ints) -> Packed:
    """An ``int64`` column, smaller; differences wrap around, so that no spread is too wide."""
    if not len(column):
        return 0, column.astype(np.uint8)
    least, most = int(column.min()), int(column.max())
    return least, (column - np.int64(least)).view(np.uint64).astype(np.min_scalar_type(most - least))


def unpacked(column: Packed) -> Ints:
    """What :func:`packed` was given."""
    least, more = column
    return more.astype(np.uint64).view(np.int64) + np.int64(least)
