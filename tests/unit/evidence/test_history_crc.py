"""Checksums of many records at once equal zlib's."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from evidence.crc import crc32


@given(
    arrays.arrays(np.uint8, st.tuples(st.integers(0, 20), st.integers(1, 32).map(lambda words: 4 * words)))
)
def test_every_record_has_the_checksum_that_zlib_gives(records: np.ndarray) -> None:
    assert crc32(records).tolist() == [zlib.crc32(record.tobytes()) for record in records]


@pytest.mark.parametrize("length", [60, 124])
def test_records_may_lie_apart_in_memory(length: int) -> None:
    whole = np.random.default_rng(1).integers(0, 256, (50, 128), dtype=np.uint8)
    part = whole[:, :length]
    assert crc32(part).tolist() == [zlib.crc32(row.tobytes()) for row in part]
