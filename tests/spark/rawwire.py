"""Wire logs made with NumPy: the frames of a writer's adds, in segments as the proxy leaves them.

Says the layout once more, by offsets, so that the decoder is not its own test.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.spark.rawfolder import crc32

SEGMENT = 131_072
ADD, REQUEST, ANSWER, EOK, NONE = 1, 0, 1, 0, -1

_FIELDS = {
    "seq": ("<u8", 0),
    "received_ns": ("<i8", 8),
    "ledger": ("<i8", 16),
    "entry": ("<i8", 24),
    "txn": ("<i8", 32),
    "lac": ("<i8", 40),
    "connection": ("<u4", 48),
    "size": ("<u4", 52),
    "status": ("<i4", 56),
    "delivered": ("<i4", 60),
    "rule": ("<u4", 64),
    "flags": ("<u4", 68),
    "link": ("<u2", 72),
    "way": ("u1", 78),
    "protocol": ("u1", 79),
    "kind": ("u1", 80),
    "op": ("u1", 81),
    "asked_ns": ("<i8", 88),
    "crc": ("<u4", 96),
    "forwarded_ns": ("<i8", 104),
}
RECORD = np.dtype(
    {
        "names": list(_FIELDS),
        "formats": [kind for kind, _ in _FIELDS.values()],
        "offsets": [at for _, at in _FIELDS.values()],
        "itemsize": 112,
    }
)
_HEADER = np.dtype(
    {
        "names": ["magic", "version", "record", "run_id", "first_seq", "number", "records", "crc"],
        "formats": ["S8", "<u4", "<u4", "<u8", "<u8", "<u4", "<u4", "<u4"],
        "offsets": [0, 8, 12, 16, 24, 32, 36, 124],
        "itemsize": 128,
    }
)
Records = NDArray[Any]


def adds(ledgers: Mapping[int, int], *, links: int = 3, began_ns: int = 1_000_000_000) -> Records:
    """Entry after entry (ledger -> how many): a request on each link, then each bookie's EOK.

    Frames come 1000 ns apart and are passed on 300 ns later.
    """
    ledger = np.repeat(list(ledgers), [2 * links * count for count in ledgers.values()])
    entry = np.concatenate([np.repeat(np.arange(count), 2 * links) for count in ledgers.values()])
    rows = np.zeros(len(ledger), dtype=RECORD)
    place = np.arange(len(ledger)) % (2 * links)
    rows["ledger"], rows["entry"] = ledger, entry
    rows["txn"], rows["link"] = np.arange(len(rows)) // (2 * links), place % links + 1
    rows["connection"], rows["protocol"], rows["kind"], rows["op"] = rows["link"], 3, ADD, 2
    rows["received_ns"] = began_ns + 1000 * np.arange(len(rows))
    rows["forwarded_ns"] = rows["received_ns"] + 300
    answers = place >= links
    rows["way"] = answers
    rows["asked_ns"] = np.where(answers, rows["received_ns"] - 1000 * links, 0)
    rows["status"] = rows["delivered"] = np.where(answers, EOK, NONE)
    rows["lac"], rows["size"] = np.where(answers, -1, entry - 1), np.where(answers, 40, 1100)
    return rows


def write_log(folder: Path, run_id: int, records: Records, names: Mapping[int, str]) -> dict[str, Any]:
    """Number, seal and write the records as a log that was closed; return ``wire`` of ``end.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    records = _laid_out(records)
    records["seq"] = 1 + np.arange(len(records))
    for number, first in enumerate(range(0, max(1, len(records)), SEGMENT), start=1):
        write_segment(folder, run_id, records[first : first + SEGMENT], number)
    lines = (json.dumps({"link": link, "name": name}) + "\n" for link, name in names.items())
    (folder / "links.jsonl").write_text("".join(lines))
    log = {"open": True, "records": len(records), "lost": 0, "unlogged": 0, "error": ""}
    links = {
        name: {
            "requests": int(((records["link"] == link) & (records["way"] == REQUEST)).sum()),
            "answers": int(((records["link"] == link) & (records["way"] == ANSWER)).sum()),
            **dict.fromkeys(("raw_streams", "oversize", "unparsed"), 0),
        }
        for link, name in names.items()
    }
    return {"log": log | {"links": {name: link for link, name in names.items()}}, "links": links}


def _laid_out(records: Records) -> Records:
    """The same fields with the places of the format: NumPy packs them when it joins arrays."""
    rows = np.zeros(len(records), dtype=RECORD)
    for name in RECORD.names or ():
        rows[name] = records[name]
    return rows


def write_segment(folder: Path, run_id: int, records: Records, number: int) -> None:
    """One segment with its checksums, cut behind its last record."""
    header = np.zeros(1, dtype=_HEADER)
    header["magic"], header["version"], header["record"] = b"FPWIRE1\n", 2, 112
    header["run_id"], header["first_seq"] = run_id, (number - 1) * SEGMENT + 1
    header["number"], header["records"] = number, SEGMENT
    header["crc"] = crc32(header.view(np.uint8).reshape(1, 128)[:, :124])
    records["crc"] = crc32(np.ascontiguousarray(records).view(np.uint8).reshape(-1, 112)[:, :96])
    (folder / f"frames-{number:06d}.wire").write_bytes(header.tobytes() + records.tobytes())
