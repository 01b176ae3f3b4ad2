"""CRC-32 (IEEE, as in zlib) of many records of one length at once, in NumPy.

The checksum is affine over GF(2): the contribution of a word depends only on its value and on the number
of following bytes. So there is one table of 65,536 numbers for each place, and a record's checksum is the
exclusive or of one number from each (Sarwate's table method, unrolled over the record and by two bytes).
Most words of neighbouring records are equal: such a place is looked up once. Independent of the records.
"""

from __future__ import annotations

import zlib
from functools import cache

import numpy as np
from numpy.typing import NDArray

_BYTES = np.arange(256, dtype=np.uint32)
_POLYNOMIAL = np.uint32(0xEDB88320)
_ONE = np.uint32(1)
_EIGHT = np.uint32(8)
_TOGETHER = 2048
"""Rows at a time: these and their columns fit a core's cache, so turning them round costs little."""


def crc32(records: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The CRC-32 of each row of ``records``, of shape (rows, length); the length is a multiple of four."""
    rows, length = records.shape
    result = np.full(rows, zlib.crc32(bytes(length)), dtype=np.uint32)
    words = records.view("<u4")
    for at in range(0, rows, _TOGETHER):
        part, columns = result[at : at + _TOGETHER], np.ascontiguousarray(words[at : at + _TOGETHER].T)
        differs = np.bitwise_or.reduce(columns ^ columns[:, :1], axis=1).view("<u2")
        pairs = columns.view("<u2")
        for place, behind in enumerate(reversed(range(len(differs)))):
            column = pairs[place // 2, place % 2 :: 2]
            part ^= _word(behind).take(column if differs[place] else column[:1])
    return result


@cache
def _word(behind: int) -> NDArray[np.uint32]:
    """What each value of two bytes (the first one low) adds, where ``behind`` words follow; 256 KiB."""
    first, second = _byte(2 * behind + 1), _byte(2 * behind)
    return (second[:, np.newaxis] ^ first[np.newaxis, :]).reshape(-1)


@cache
def _byte(behind: int) -> NDArray[np.uint32]:
    """What each value of a byte adds to the checksum of zeros, where ``behind`` bytes follow."""
    if behind:
        nearer: NDArray[np.uint32] = _byte(behind - 1)
        table: NDArray[np.uint32] = _byte(0)[nearer & np.uint32(0xFF)] ^ (nearer >> _EIGHT)
        return table
    table = _BYTES.copy()
    for _ in range(8):
        table = np.where(table & _ONE, (table >> _ONE) ^ _POLYNOMIAL, table >> _ONE)
    return table
