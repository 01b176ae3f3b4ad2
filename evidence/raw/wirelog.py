"""One segment of the proxy's wire log: its layout (version 2), its sound records, and what is damaged.

The proxy writes it (``proxy/wirelog/record.go``); a test compares the two. A segment is a header of
128 bytes and up to 131,072 records of 112 bytes, all little-endian. A record's CRC-32 follows the bytes
that it covers; ``forwarded_ns`` is filled in later and is not covered.

Judges nothing. A proxy that was killed may leave its very last record half stored; that one shows
it, for a record is stored in one sweep over zeros, and neither its number nor its checksum is ever
zero. It is cut. Everything else that does not agree is damage, named by record number, and
yields no record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evidence.raw.segments import agree, in_use, named_damages, packed, wrong_header

MAGIC = b"FPWIRE1\n"
VERSION = 2
HEADER_BYTES = 128
RECORD_BYTES = 112
RECORDS = 131_072
CRC_AT = 96

HEADER = packed(
    """
    magic S8, version <u4, record_bytes <u4, run_id <u8, first_seq <i8, number <u4, records <u4,
    zero V84, crc <u4
    """
)
RECORD = packed(
    """
    seq <i8, received_ns <i8, ledger <i8, entry <i8, txn <i8, lac <i8, connection <u4,
    size_bytes <u4, status <i4, delivered <i4, rule <u4, flags <u4, link <u2, batch_place <u2,
    batch_size <u2, way u1, protocol u1, kind u1, op u1, zero <u2, zero_before <u4, asked_ns <i8,
    crc <u4, zero_behind <u4, forwarded_ns <i8
    """
)
_WORDS = RECORD_BYTES // 8
_LAYOUT = {"version": VERSION, "record_bytes": RECORD_BYTES, "records": RECORDS}

Bytes = NDArray[np.uint8]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class WireSegment:
    """What one segment holds.

    ``number`` is its number in the log, 0 when its header is damaged; ``used`` counts the written
    records, including damaged ones but not a torn one; ``records`` (of dtype ``RECORD``) holds the
    sound records. ``damage`` are sentences, empty for a sound segment. ``frames`` counts sound records
    by (link, way); :func:`evidence.collect.wirelogs.count_frames` fills it in.
    """

    number: int
    used: int
    records: NDArray[np.void]
    torn: int = 0
    damage: tuple[str, ...] = ()
    frames: Mapping[tuple[int, int], int] = field(default_factory=dict)


def first_seq_of(number: int) -> int:
    """The sequence number of the first record of a log's segment with this number (from 1)."""
    return (number - 1) * RECORDS + 1


def decode_segment(path: Path, *, run_id: int) -> WireSegment:
    """The records of the file at ``path``; ``OSError`` when it cannot be read, never for its content."""
    if path.stat().st_size == 0:
        return decode(b"", run_id=run_id)
    return decode(np.memmap(path, dtype=np.uint8, mode="r"), run_id=run_id)


def decode(data: bytes | Bytes, *, run_id: int) -> WireSegment:
    """The records of a segment's bytes."""
    content = np.frombuffer(data, dtype=np.uint8)
    head = content[:HEADER_BYTES].tobytes()
    wrong = wrong_header(head, HEADER, magic=MAGIC, layout=_LAYOUT, run_id=run_id, what="log")
    if not wrong:
        number, first_seq = np.frombuffer(head, dtype=HEADER)[["number", "first_seq"]][0].item()
        if number < 1 or first_seq != first_seq_of(number):
            wrong = f"segment {number} begins with record {first_seq}"
    if wrong:
        return WireSegment(0, 0, np.empty(0, dtype=RECORD), damage=(wrong,))
    room = min(RECORDS, (len(content) - HEADER_BYTES) // RECORD_BYTES)
    stored = content[HEADER_BYTES : HEADER_BYTES + room * RECORD_BYTES].reshape(room, RECORD_BYTES)
    return _decode(stored, number, len(content))


def _decode(stored: Bytes, number: int, size_bytes: int) -> WireSegment:
    written = in_use(stored.reshape(-1).view("<i8").reshape(-1, _WORDS))
    used = int(np.flatnonzero(written)[-1]) + 1 if written.any() else 0
    stored, written = stored[:used], written[:used]
    records = stored.reshape(-1).view(RECORD)
    due = first_seq_of(number) + np.arange(used, dtype=np.int64)
    sound = _sound(stored, records) & (records["seq"] == due)
    torn = int(used > 0 and not sound[-1] and 0 in (records["seq"][-1], records["crc"][-1]))
    kept = slice(0, used - torn)
    damage = (
        *_wrong_length(size_bytes),
        *named_damages("is missing", due[kept][~written[kept]].tolist(), "record {}".format),
        *named_damages("is damaged", due[kept][~sound[kept] & written[kept]].tolist(), "record {}".format),
    )
    return WireSegment(number, used - torn, records if sound.all() else records[sound], torn, damage)


def _sound(stored: Bytes, records: NDArray[np.void]) -> Mask:
    """Whether each record agrees with its checksum, and what lies outside of it with the rest."""
    forwarded_ns = records["forwarded_ns"]
    in_order = (forwarded_ns == 0) | (forwarded_ns >= records["received_ns"])
    return np.asarray(agree(stored[:, : CRC_AT + 4]) & (records["zero_behind"] == 0) & in_order)


def _wrong_length(size_bytes: int) -> tuple[str, ...]:
    """What is wrong with a segment's length, if anything; only the last one of a closed log is short."""
    behind = size_bytes - HEADER_BYTES
    if behind < 0 or (behind % RECORD_BYTES == 0 and behind <= RECORDS * RECORD_BYTES):
        return ()  # The header's check reports a header that is cut off.
    return (f"the file has {size_bytes} bytes, which no number of records up to {RECORDS} takes",)
