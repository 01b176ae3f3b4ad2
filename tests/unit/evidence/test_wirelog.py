"""Segments of the wire log, decoded: what is whole, what a kill cut off, what is damaged."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evidence.raw.wirelog import (
    CRC_AT,
    HEADER_BYTES,
    RECORD_BYTES,
    RECORDS,
    WireSegment,
    decode,
    decode_segment,
)
from tests.unit.evidence.wire_records import RUN_ID, answer, request, segment

LAYOUT = "112, 131072)"


def decoded(data: bytes | bytearray) -> WireSegment:
    return decode(bytes(data), run_id=RUN_ID)


def at_record(index: int, byte: int = 0) -> int:
    return HEADER_BYTES + RECORD_BYTES * index + byte


def test_what_the_proxy_stored_comes_back() -> None:
    found = decoded(segment(request(0), answer(0, status=504, flags=17)))
    assert (found.number, found.used, found.torn, found.damage) == (1, 2, 0, ())
    results = {name: found.records[name].tolist() for name in found.records.dtype.names or ()}
    assert results["seq"] == [1, 2]
    assert results["received_ns"] == [1000, 1010]
    assert results["forwarded_ns"] == [1005, 1015]
    assert results["asked_ns"] == [0, 1002]
    assert (results["status"], results["flags"], results["way"]) == ([-1, 504], [0, 17], [0, 1])
    assert (results["txn"], results["lac"], results["size_bytes"]) == ([100, 100], [-1, -1], [1100, 1100])


def test_a_later_segment_counts_on() -> None:
    found = decoded(segment(request(0), number=3))
    assert (found.number, found.records["seq"].tolist()) == (3, [2 * RECORDS + 1])


@pytest.mark.parametrize("closed", [True, False])
def test_a_segment_that_was_only_prepared_holds_nothing(closed: bool) -> None:
    found = decoded(segment(closed=closed))
    assert (found.used, len(found.records), found.damage) == (0, 0, ())


@pytest.mark.parametrize("stored", [8, 48, 88, 96])
def test_a_last_record_that_a_kill_cut_off_is_no_record(stored: int) -> None:
    data = segment(request(0), answer(0), request(1))
    data[at_record(2, stored) : at_record(3)] = bytes(RECORD_BYTES - stored)
    found = decoded(data)
    assert (found.used, found.torn, found.damage) == (2, 1, ())
    assert found.records["seq"].tolist() == [1, 2]


def test_only_the_last_record_can_have_been_cut_off() -> None:
    data = segment(request(0), answer(0), request(1))
    data[at_record(1, CRC_AT) : at_record(1, CRC_AT + 4)] = bytes(4)
    assert decoded(data).damage == ("record 2 is damaged",)
    data = segment(request(0))
    data[at_record(500, 9)] = 1
    found = decoded(data)
    assert (found.used, found.torn, found.records["seq"].tolist()) == (500, 1, [1])
    assert found.damage[0] == "record 2 is missing"
    assert found.damage[-1] == "479 more, up to record 500: is missing"


def test_a_record_in_another_ones_place_is_damage() -> None:
    data = segment(request(0), answer(0), request(1))
    data[at_record(1) : at_record(2)] = data[at_record(0) : at_record(1)]
    found = decoded(data)
    assert found.damage == ("record 2 is damaged",)
    assert found.records["seq"].tolist() == [1, 3]


def test_a_frame_was_not_passed_on_before_it_came() -> None:
    data = segment(request(0, forwarded_ns=999), request(1, forwarded_ns=0))
    found = decoded(data)
    assert found.damage == ("record 1 is damaged",)
    assert found.records["forwarded_ns"].tolist() == [0]


def test_a_segment_that_is_cut_short_is_damage_and_its_whole_records_are_used() -> None:
    found = decoded(segment(request(0), answer(0))[: at_record(1, 50)])
    size_bytes = at_record(1, 50)
    assert found.damage == (
        f"the file has {size_bytes} bytes, which no number of records up to 131072 takes",
    )
    assert found.records["seq"].tolist() == [1]


@pytest.mark.parametrize(
    ("header", "wrong"),
    [
        ({"run_id": 3}, f"it is a log of run 3, not of run {RUN_ID}"),
        (
            {"version": 1},
            f"the layout (version, record bytes, records) is (1, {LAYOUT}, not (2, {LAYOUT}",
        ),
        ({"magic": b"OTHER"}, "the header is damaged"),
        ({"first_seq": 2}, "segment 1 begins with record 2"),
        ({"number": 0}, "segment 0 begins with record 1"),
    ],
)
def test_a_segment_with_another_header_gives_no_records(header: dict[str, Any], wrong: str) -> None:
    found = decoded(segment(request(0), header=header))
    assert (len(found.records), found.damage) == (0, (wrong,))


def test_a_file_is_read_as_its_bytes_are(tmp_path: Path) -> None:
    path = tmp_path / "frames-000001.wire"
    for data, damage in (
        (b"", ("the header is cut off",)),
        (bytes(100), ("the header is cut off",)),
        (bytes(128), ("the header is damaged",)),
        (segment(request(0)), ()),
    ):
        path.write_bytes(data)
        assert decode_segment(path, run_id=RUN_ID).damage == damage


WHOLE = segment(request(0), request(1, flags=2048), answer(0), answer(1, asked_ns=0), request(2), closed=True)
SOUND = {int(record["seq"]): record.tobytes() for record in decoded(WHOLE).records}


@settings(max_examples=400)
@given(at=st.integers(0, len(WHOLE) - 1), flipped=st.integers(1, 255))
def test_damage_in_any_byte_is_found(at: int, flipped: int) -> None:
    data = bytearray(WHOLE)
    data[at] ^= flipped
    found = decoded(data)
    index, byte = divmod(at - HEADER_BYTES, RECORD_BYTES)
    if at >= HEADER_BYTES and byte >= CRC_AT + 8 and not found.damage:
        return  # The time of passing on has no checksum: the seal of closed evidence is its only proof.
    assert found.damage
    assert all(SOUND[int(record["seq"])] == record.tobytes() for record in found.records)
    assert at < HEADER_BYTES or index + 1 not in found.records["seq"]


@settings(max_examples=100)
@given(data=st.binary(max_size=600), headed=st.booleans())
def test_any_bytes_are_decoded_and_none_are_believed(data: bytes, headed: bool) -> None:
    found = decoded(segment(closed=True) + data if headed else data)
    assert len(found.records) == 0
    if not headed or len(data) % RECORD_BYTES:
        assert found.damage


@settings(max_examples=40)
@given(count=st.integers(0, 20), stored=st.integers(1, RECORD_BYTES // 4 - 1))
def test_a_kill_loses_at_most_the_last_record(count: int, stored: int) -> None:
    """A process that ends in the middle of a sweep over the file leaves all before it whole."""
    data = segment(*(request(entry) for entry in range(count + 1)))
    data[at_record(count, 4 * stored) :] = bytes(len(data) - at_record(count, 4 * stored))
    found = decoded(data)
    assert found.damage == ()
    assert found.records["entry"].tolist()[:count] == list(range(count))
    assert found.used == count + (4 * stored > CRC_AT)


def test_a_full_segment_is_decoded_at_once(tmp_path: Path) -> None:
    record = np.frombuffer(bytes(segment(request(0), closed=True)), dtype=np.uint8)[HEADER_BYTES:]
    path = tmp_path / "frames-000001.wire"
    path.write_bytes(bytes(segment(closed=True)) + np.tile(record, RECORDS).tobytes())
    decode_segment(path, run_id=RUN_ID)
    began = time.process_time()
    found = decode_segment(path, run_id=RUN_ID)
    assert (found.used, len(found.records)) == (RECORDS, 1)  # all others claim the first one's number
    assert time.process_time() - began < 0.6
