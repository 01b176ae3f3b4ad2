"""The layout of a client's history file, and whether a header is one.

The Java client writes it (``client/``, ``HistoryFormat``); a test compares the two. A file is a
header and 65,536 slots of 128 bytes, all little-endian; a slot is an invocation half and an outcome
half, each ending in the CRC-32 of what is before it. Does not interpret the fields.
"""

from __future__ import annotations

import numpy as np

from evidence.crc import crc32

MAGIC = b"FPHIST1\n"
VERSION = 1
SLOT_BYTES = 128
HALF_BYTES = SLOT_BYTES // 2
CRC_AT = HALF_BYTES - 4
SLOTS = 65_536
FILE_BYTES = SLOT_BYTES * (1 + SLOTS)
BOOT_SHIFT = 40

HEADER = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("slot_size", "<u4"),
        ("run_id", "<u8"),
        ("first_seq", "<i8"),
        ("client", "<u4"),
        ("slots", "<u4"),
        ("name", "S32"),
        ("zero", "V52"),
        ("crc", "<u4"),
    ]
)
INVOKED = np.dtype(
    [
        ("seq", "<i8"),
        ("ns", "<i8"),
        ("ledger", "<i8"),
        ("entry", "<i8"),
        ("last", "<i8"),
        ("lac_before", "<i8"),
        ("handle", "<i4"),
        ("size_bytes", "<i4"),
        ("kind", "u1"),
        ("flags", "u1"),
        ("zero", "<u2"),
        ("crc", "<u4"),
    ]
)
COMPLETED = np.dtype(
    [
        ("ns", "<i8"),
        ("ledger", "<i8"),
        ("entry", "<i8"),
        ("lac", "<i8"),
        ("expected", "<i8"),
        ("digest", "<u8"),
        ("error", "<i4"),
        ("origin", "<u4"),
        ("outcome", "u1"),
        ("proof", "u1"),
        ("zero", "<u2"),
        ("crc", "<u4"),
    ]
)
SLOT = np.dtype([("invoked", INVOKED), ("completed", COMPLETED)])


def wrong_length(data: bytes) -> tuple[str, ...]:
    """What is wrong with a file's length, if anything."""
    if len(data) == FILE_BYTES:
        return ()
    return (f"the file has {len(data)} bytes instead of {FILE_BYTES}",)


def is_torn_header(header: bytes) -> bool:
    """Whether the client was killed before or while it stored the header, over zeros."""
    return not any(header[:8]) or not any(header[-8:])


def wrong_header(header: bytes, run_id: int) -> str:
    """What is wrong with a header, or nothing."""
    if len(header) < SLOT_BYTES:
        return "the header is cut off"
    fields = np.frombuffer(header, dtype=HEADER)[0]
    stored = np.frombuffer(header, dtype=np.uint8).reshape(1, SLOT_BYTES)
    if int(crc32(stored[:, : SLOT_BYTES - 4])[0]) != int(fields["crc"]) or bytes(fields["magic"]) != MAGIC:
        return "the header is damaged"
    layout = (int(fields["version"]), int(fields["slot_size"]), int(fields["slots"]))
    if layout != (VERSION, SLOT_BYTES, SLOTS):
        return f"the layout (version, slot bytes, slots) is {layout}, not {(VERSION, SLOT_BYTES, SLOTS)}"
    if int(fields["run_id"]) != run_id:
        return f"it is a history of run {int(fields['run_id'])}, not of run {run_id}"
    return ""
