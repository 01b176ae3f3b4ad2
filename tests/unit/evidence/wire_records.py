"""Builds segments of the wire log for tests, record by record, with checksums from zlib."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from evidence.codes import Direction, Message, Status
from evidence.raw.wirelog import (
    CRC_AT,
    HEADER,
    HEADER_BYTES,
    MAGIC,
    RECORD,
    RECORD_BYTES,
    RECORDS,
    VERSION,
    first_seq_of,
)

RUN_ID = 2**64 - 5
Fields = dict[str, Any]


def request(entry: int, **fields: Any) -> Fields:
    """An add on link 1 that was passed on; ``fields`` replace what is usual."""
    usual = {
        "ledger": 5,
        "entry": entry,
        "txn": 100 + entry,
        "lac": entry - 1,
        "connection": 3,
        "size_bytes": 1100,
        "status": Status.NONE,
        "delivered": Status.NONE,
        "link": 1,
        "way": Direction.REQUEST,
        "protocol": 3,
        "kind": Message.ADD,
        "op": 2,
    }
    return usual | fields


def answer(entry: int, **fields: Any) -> Fields:
    """The bookie's EOK to it."""
    usual = {"way": Direction.ANSWER, "status": Status.EOK, "delivered": Status.EOK, "lac": -1}
    return request(entry, **(usual | fields))


def segment(
    *records: Fields, number: int = 1, closed: bool = False, header: Fields | None = None
) -> bytearray:
    """A whole segment; record n came at ``1000 + 10 n`` and was passed on 5 ns later.

    The request of an answer was asked 8 ns before it; ``closed`` cuts the file behind the last record.
    """
    content = bytearray(_header(number, header or {}))
    for index, fields in enumerate(records):
        at_ns = 1000 + 10 * index
        asked_ns = at_ns - 8 if fields.get("way") == Direction.ANSWER else 0
        times = {"received_ns": at_ns, "asked_ns": asked_ns, "forwarded_ns": at_ns + 5}
        content += _record({"seq": first_seq_of(number) + index} | times | fields)
    return content if closed else content + bytes(HEADER_BYTES + RECORDS * RECORD_BYTES - len(content))


def _header(number: int, fields: Fields) -> bytes:
    usual = {
        "magic": MAGIC,
        "version": VERSION,
        "record_bytes": RECORD_BYTES,
        "run_id": RUN_ID,
        "first_seq": first_seq_of(number),
        "number": number,
        "records": RECORDS,
    }
    content = _packed(HEADER, usual | fields)[:-4]
    return content + zlib.crc32(content).to_bytes(4, "little")


def _record(fields: Fields) -> bytes:
    content = _packed(RECORD, fields)
    return content[:CRC_AT] + zlib.crc32(content[:CRC_AT]).to_bytes(4, "little") + content[CRC_AT + 4 :]


def _packed(layout: np.dtype[Any], fields: Fields) -> bytes:
    row = np.zeros(1, dtype=layout)
    for name, value in fields.items():
        row[0][name] = value
    return row.tobytes()
