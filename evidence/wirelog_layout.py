"""The layout of a segment of the wire log, version 2, and whether a header is one.

The proxy writes it (``proxy/wirelog/record.go``); a test compares the two. A segment is a header of
128 bytes and up to 131,072 records of 112 bytes, all little-endian. A record's CRC-32 follows the bytes
that it covers; ``forwarded_ns`` is filled in later and is not covered. Does not interpret the fields.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidence.crc import crc32

MAGIC = b"FPWIRE1\n"
VERSION = 2
HEADER_BYTES = 128
RECORD_BYTES = 112
RECORDS = 131_072
HEADER_CRC_AT = 124
CRC_AT = 96

HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("record_bytes", "<u4"),
        ("run_id", "<u8"),
        ("first_seq", "<i8"),
        ("number", "<u4"),
        ("records", "<u4"),
        ("zero", "V84"),
        ("crc", "<u4"),
    ]
)
RECORD = np.dtype(
    [
        ("seq", "<i8"),
        ("received_ns", "<i8"),
        ("ledger", "<i8"),
        ("entry", "<i8"),
        ("txn", "<i8"),
        ("lac", "<i8"),
        ("connection", "<u4"),
        ("size_bytes", "<u4"),
        ("status", "<i4"),
        ("delivered", "<i4"),
        ("rule", "<u4"),
        ("flags", "<u4"),
        ("link", "<u2"),
        ("batch_place", "<u2"),
        ("batch_size", "<u2"),
        ("way", "u1"),
        ("protocol", "u1"),
        ("kind", "u1"),
        ("op", "u1"),
        ("zero", "<u2"),
        ("zero_before", "<u4"),
        ("asked_ns", "<i8"),
        ("crc", "<u4"),
        ("zero_behind", "<u4"),
        ("forwarded_ns", "<i8"),
    ]
)

Bytes = NDArray[np.uint8]


def first_seq_of(number: int) -> int:
    """The sequence number of the first record of a log's segment with this number (from 1)."""
    return (number - 1) * RECORDS + 1


def wrong_length(size_bytes: int) -> tuple[str, ...]:
    """What is wrong with a segment's length, if anything; only the last one of a closed log is short."""
    behind = size_bytes - HEADER_BYTES
    if behind < 0 or (behind % RECORD_BYTES == 0 and behind <= RECORDS * RECORD_BYTES):
        return ()  # ``wrong_header`` reports a header that is cut off.
    return (f"the file has {size_bytes} bytes, which no number of records up to {RECORDS} takes",)


def wrong_header(header: Bytes, run_id: int) -> str:
    """What is wrong with a header, or nothing. A segment has its name only with a whole one."""
    if len(header) < HEADER_BYTES:
        return "the header is cut off"
    fields: Any = np.ascontiguousarray(header).view(HEADER)[0]
    summed = crc32(header.reshape(1, HEADER_BYTES)[:, :HEADER_CRC_AT])
    if int(summed[0]) != int(fields["crc"]) or bytes(fields["magic"]) != MAGIC:
        return "the header is damaged"
    layout = tuple(int(fields[name]) for name in ("version", "record_bytes", "records"))
    if layout != (VERSION, RECORD_BYTES, RECORDS):
        return (
            f"the layout (version, record bytes, records) is {layout}, not {(VERSION, RECORD_BYTES, RECORDS)}"
        )
    if int(fields["run_id"]) != run_id:
        return f"it is a log of run {int(fields['run_id'])}, not of run {run_id}"
    number, first_seq = int(fields["number"]), int(fields["first_seq"])
    if number < 1 or first_seq != first_seq_of(number):
        return f"segment {number} begins with record {first_seq}"
    return ""
