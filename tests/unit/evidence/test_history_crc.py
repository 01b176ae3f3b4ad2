"""Checksums of many records at once equal zlib's."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from evidence.raw.segments import agree, crc32

RECORDS = arrays.arrays(np.uint8, st.tuples(st.integers(0, 20), st.integers(5, 128)))


def summed(content: np.ndarray) -> np.ndarray:
    """Each row with its checksum behind it."""
    return np.hstack([content, crc32(content).astype("<u4").view(np.uint8).reshape(-1, 4)])


@given(RECORDS)
def test_every_record_has_the_checksum_that_zlib_gives(records: np.ndarray) -> None:
    assert crc32(records).tolist() == [zlib.crc32(record.tobytes()) for record in records]


@pytest.mark.parametrize("length", [60, 124])
def test_records_may_lie_apart_in_memory(length: int) -> None:
    whole = np.random.default_rng(1).integers(0, 256, (50, 128), dtype=np.uint8)
    part = whole[:, :length]
    assert crc32(part).tolist() == [zlib.crc32(row.tobytes()) for row in part]
    whole[:, length : length + 4] = summed(part)[:, length:]
    assert agree(whole[:, : length + 4]).all()


@given(RECORDS, st.data())
def test_exactly_the_damaged_records_disagree(content: np.ndarray, data: st.DataObject) -> None:
    records = summed(content)
    number, length = records.shape
    places = st.tuples(st.integers(0, max(0, number - 1)), st.integers(0, length - 1), st.integers(1, 255))
    damaged = data.draw(st.lists(places, max_size=3, unique_by=lambda place: place[0])) if number else []
    for row, byte, change in damaged:
        records[row, byte] ^= change
    assert np.flatnonzero(~agree(records)).tolist() == sorted(row for row, *_ in damaged)


@pytest.mark.parametrize("number", [2047, 2048, 2049, 5000])
def test_damage_is_found_among_many(number: int) -> None:
    records = summed(np.random.default_rng(2).integers(0, 256, (number, 60), dtype=np.uint8))
    assert agree(records).all()
    records[-1, 7] ^= 1
    records[:2] = 0
    assert np.flatnonzero(~agree(records)).tolist() == [0, 1, number - 1]
