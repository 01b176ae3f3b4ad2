"""CRC-32 (IEEE, as in zlib) of many records of one length at once, in NumPy.

The checksum is affine over GF(2): what a word contributes depends on its value and its place alone.
So there is one table of 65,536 numbers for each place, and a record's checksum is the exclusive or of
one number from each (Sarwate's table method, unrolled over the record and by two bytes). Most words of
neighbouring records are the same: such a place is looked up once. Knows bytes, not records.
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


def crc32(records: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The CRC-32 of each row of ``records``, an array of shape (rows, length)."""
    rows, length = records.shape
    result = np.full(rows, zlib.crc32(bytes(length)), dtype=np.uint32)
    if not rows:
        return result
    odd = length % 2
    words = np.ascontiguousarray(records[:, : length - odd]).view("<u2")
    for column, table in zip(np.ascontiguousarray(words.T), _of_words(length), strict=True):
        same = bool((column == column[0]).all())
        result ^= table[column[0] if same else column]
    if odd:
        result ^= _of_bytes(length)[-1][records[:, -1]]
    return result


@cache
def _of_words(length: int) -> NDArray[np.uint32]:
    """For each pair of places, what each value of its two bytes (the first one low) adds: 256 KiB a pair."""
    pairs = _of_bytes(length)[: length - length % 2].reshape(-1, 2, 256)
    return (pairs[:, 1, :, np.newaxis] ^ pairs[:, 0, np.newaxis, :]).reshape(-1, 1 << 16)


@cache
def _of_bytes(length: int) -> NDArray[np.uint32]:
    """For each place of a record, what each value of its byte adds to the checksum of zeros."""
    table = _BYTES.copy()
    for _ in range(8):
        table = np.where(table & _ONE, (table >> _ONE) ^ _POLYNOMIAL, table >> _ONE)
    tables = np.empty((length, 256), dtype=np.uint32)
    contribution = table
    for place in reversed(range(length)):
        tables[place] = contribution
        contribution = table[contribution & np.uint32(0xFF)] ^ (contribution >> _EIGHT)
    return tables
