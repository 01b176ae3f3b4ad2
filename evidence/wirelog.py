"""Decodes one segment of the proxy's wire log: bytes to sound records, and what is damaged.

Judges nothing. A proxy that was killed may leave its very last record half stored; that one shows
it, for a record is stored in one sweep over zeros, and neither its number nor its checksum is ever
zero. It is cut. Everything else that does not agree is damage, named by record number, and
yields no record.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidence.crc import crc32
from evidence.wirelog_layout import (
    CRC_AT,
    HEADER,
    HEADER_BYTES,
    RECORD,
    RECORD_BYTES,
    RECORDS,
    Bytes,
    wrong_header,
    wrong_length,
)

_WORDS = RECORD_BYTES // 8
_NAMED_DAMAGES = 20

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class WireSegment:
    """What one segment holds.

    ``number`` is its number in the log, 0 when its header is damaged; ``used`` counts the written
    records, including damaged ones but not a torn one; ``records`` (of dtype ``RECORD``) holds the
    sound records. ``damage`` are sentences, empty for a sound segment.
    """

    number: int
    used: int
    records: NDArray[Any]
    torn: int = 0
    damage: tuple[str, ...] = ()


def decode_segment(path: Path, *, run_id: int) -> WireSegment:
    """The records of the file at ``path``; ``OSError`` when it cannot be read, never for its content."""
    if path.stat().st_size == 0:
        return decode(b"", run_id=run_id)
    return decode(np.memmap(path, dtype=np.uint8, mode="r"), run_id=run_id)


def decode(data: bytes | Bytes, *, run_id: int) -> WireSegment:
    """The records of a segment's bytes."""
    content = np.frombuffer(data, dtype=np.uint8)
    wrong = wrong_header(content[:HEADER_BYTES], run_id)
    if wrong:
        return WireSegment(0, 0, np.empty(0, dtype=RECORD), damage=(wrong,))
    number = int(content[:HEADER_BYTES].view(HEADER)[0]["number"])
    room = min(RECORDS, (len(content) - HEADER_BYTES) // RECORD_BYTES)
    stored = content[HEADER_BYTES : HEADER_BYTES + room * RECORD_BYTES].reshape(room, RECORD_BYTES)
    return _decode(stored, number, int(content[:HEADER_BYTES].view(HEADER)[0]["first_seq"]), len(content))


def _decode(stored: Bytes, number: int, first_seq: int, size_bytes: int) -> WireSegment:
    written: Mask = np.asarray(stored.reshape(-1).view("<u8").reshape(-1, _WORDS).any(axis=1))
    used = int(np.flatnonzero(written)[-1]) + 1 if written.any() else 0
    stored, written = stored[:used], written[:used]
    records = stored.reshape(-1).view(RECORD)
    due = first_seq + np.arange(used, dtype=np.int64)
    sound = _sound(stored, records) & (records["seq"] == due)
    torn = int(used > 0 and not sound[-1] and 0 in (records["seq"][-1], records["crc"][-1]))
    kept = slice(0, used - torn)
    damage = (
        *wrong_length(size_bytes),
        *_named("is missing", due[kept][~written[kept]]),
        *_named("is damaged", due[kept][~sound[kept] & written[kept]]),
    )
    return WireSegment(number, used - torn, records if sound.all() else records[sound], torn, damage)


def _sound(stored: Bytes, records: NDArray[Any]) -> Mask:
    """Whether each record agrees with its checksum, and what lies outside of it with the rest."""
    forwarded_ns = records["forwarded_ns"]
    in_order = (forwarded_ns == 0) | (forwarded_ns >= records["received_ns"])
    agrees = crc32(stored[:, :CRC_AT]) == records["crc"]
    return np.asarray(agrees & (records["zero_behind"] == 0) & in_order)


def _named(what: str, seqs: NDArray[np.int64]) -> list[str]:
    named = [f"record {seq} {what}" for seq in seqs[:_NAMED_DAMAGES].tolist()]
    if len(seqs) > _NAMED_DAMAGES:
        named.append(f"{len(seqs) - _NAMED_DAMAGES} more, up to record {seqs[-1]}: {what}")
    return named
