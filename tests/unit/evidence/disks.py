"""Copies of disks made by hand: an index with RocksDB itself, journals byte by byte."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from rocksdict import Options, Rdict

from evidence.raw.disk_layout import COPY_JSON


def index(
    folder: Path, entries: Iterable[tuple[int, int]], ledgers: Mapping[int, bytes] | None = None
) -> None:
    """A ``locations`` and a ``ledgers`` folder in ``folder``; without ``ledgers``, those of all entries."""
    places = list(entries)
    if ledgers is None:
        ledgers = {ledger: ledger_data() for ledger, _ in places}
    _write(folder / "locations", {struct.pack(">qq", *place): b"\0" * 8 for place in places})
    _write(folder / "ledgers", {struct.pack(">q", ledger): data for ledger, data in ledgers.items()})


def ledger_data(*, fenced: bool = False, limbo: bool = False) -> bytes:
    """``LedgerData`` as a bookie writes it."""
    data = bytes([8, 1, 16, fenced, 26, 20]) + b"k" * 20
    return data + bytes([40, 1]) * limbo


def journal(path: Path, records: Iterable[tuple[int, int]]) -> None:
    """A journal file of these (ledger, entry); a negative entry is a mark."""
    path.parent.mkdir(parents=True, exist_ok=True)
    body = b"".join(struct.pack(">iqq", 20, *place) + b"body" for place in records)
    path.write_bytes((b"BKLG" + struct.pack(">i", 6)).ljust(512, b"\0") + body + b"\0" * 512)


def ended(folder: Path, **changed: object) -> None:
    """``copy.json`` of a copy that went well."""
    facts = {"server": "b1", "boot": 1, "began_ns": 50, "ended_ns": 60, "linked": {}, "failed": ""}
    (folder / COPY_JSON).write_text(json.dumps({**facts, **changed}))


def _write(folder: Path, rows: Mapping[bytes, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    database = Rdict(str(folder), Options(raw_mode=True))
    for key, value in rows.items():
        database[key] = value
    database.flush()
    database.close()
