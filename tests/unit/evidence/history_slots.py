"""Builds history files for tests, slot by slot, with checksums from zlib."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from evidence.codes import Kind, Outcome, Proof
from evidence.raw.history import (
    BOOT_SHIFT,
    COMPLETED,
    FILE_BYTES,
    HEADER,
    INVOKED,
    MAGIC,
    SLOT_BYTES,
    SLOTS,
)

RUN_ID = 2**64 - 5
CLIENT = 101
BOOT = 2
FIRST_SEQ = (BOOT << BOOT_SHIFT) + 1
Half = dict[str, Any]


def add(entry: int, *, ledger: int = 5, result: Half | None = None) -> tuple[Half, Half]:
    """An acknowledged add, or an add with the given outcome half; an empty half means that it never ended."""
    acked = {"ledger": ledger, "entry": entry, "lac": entry, "expected": entry, "outcome": Outcome.OK}
    asked = {
        "kind": Kind.ADD,
        "ledger": ledger,
        "entry": entry,
        "last": -1,
        "lac_before": entry - 1,
        "handle": 7,
        "size_bytes": 100,
    }
    return asked, acked if result is None else result


def census(entry: int, bookie: int, *, error: int = 0, proof: int = Proof.PROVES_ITSELF) -> tuple[Half, Half]:
    """An answer of a bookie."""
    asked = {"kind": Kind.CENSUS, "ledger": 5, "entry": entry, "last": 1, "handle": bookie, "size_bytes": 100}
    fields = {
        "ledger": 5,
        "entry": entry,
        "error": error,
        "outcome": Outcome.OK,
        "proof": proof,
        "digest": 2**63,
    }
    return asked, fields


def watched(version: int, state: int) -> tuple[Half, Half]:
    """A version of metadata that was seen."""
    asked = {"kind": Kind.WATCHED, "ledger": 5, "entry": -1, "last": version}
    return asked, {"ledger": 5, "entry": -1, "lac": state, "outcome": Outcome.OK}


def history(*slots: tuple[Half, Half], header: Half | None = None, first_ns: int = 1_000) -> bytearray:
    """A whole file with these slots; slot n is invoked at ``first_ns + 10 n`` and ends 5 ns later."""
    parts = [_header(header or {})]
    for index, (asked, result) in enumerate(slots):
        at_ns = first_ns + 10 * index
        parts.append(_half(INVOKED, {"seq": FIRST_SEQ + index, "ns": at_ns, **asked}))
        parts.append(_half(COMPLETED, {"ns": at_ns + 5, **result}) if result else bytes(SLOT_BYTES // 2))
    content = b"".join(parts)
    return bytearray(content + bytes(FILE_BYTES - len(content)))


def seq(index: int) -> int:
    """The sequence number of the n-th slot, from 0."""
    return FIRST_SEQ + index


def _header(fields: Half) -> bytes:
    whole = {
        "magic": MAGIC,
        "version": 1,
        "slot_size": SLOT_BYTES,
        "run_id": RUN_ID,
        "first_seq": FIRST_SEQ,
        "client": CLIENT,
        "slots": SLOTS,
        "name": b"writer",
    }
    return _half(HEADER, whole | fields)


def _half(layout: np.dtype[Any], fields: Half) -> bytes:
    record = np.zeros(1, dtype=layout)
    for name, value in fields.items():
        record[0][name] = value
    content = record.tobytes()[:-4]
    return content + zlib.crc32(content).to_bytes(4, "little")
