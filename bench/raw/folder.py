"""A whole run folder of a shape: histories, transactions, wire log, closed and sealed."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.raw.frames import LINKS, counters, frames
from bench.raw.segments import write_frames, write_slots
from bench.raw.shape import BOOKIES, MS, OBSERVER, RUN_ID, SIZE_BYTES, STEP_NS, WRITER, Shape
from bench.raw.slots import closed_ns, observer_slots, writer_slots
from evidence.findings import Finding
from evidence.folder import RunFolder
from harness.provenance import provenance

Found = tuple[str, str, int, int, int]
"""(property, kind, ledger, first entry, last entry) of a finding."""
_PLAN: Mapping[str, Any] = {
    "name": "made/at-size",
    "about": "Made by scripts/bench judge.",
    "source": {"document": "none"},
    "control": {"mode": "unprotected"},
    "modes": ["protected"],
    "steps": [{"heal": {}}],
    "expect": {
        "protected": ["holds"],
        "unprotected": [{"breaks": {"property": "durability", "kind": "lost"}}],
    },
    "required": [],
    "clients": [WRITER[0]],
}
_RELEASE = "4.18.0"
_WALL_NS = 1_700_000_000_000 * MS


def make(run: Path, shape: Shape) -> RunFolder:
    """Write the evidence of one mode, ``protected``, into the folder ``run``; closed and sealed."""
    folder = RunFolder.create(run, "protected")
    folder.write_run(_facts())
    folder.transactions.write_text("".join(_transactions(shape)))
    folder.steps.write_text("")
    folder.faults.write_text("")
    started = ({"server": name, "boot": 1, "event": "started", "at_ns": 1} for name in BOOKIES)
    folder.events.write_text("".join(json.dumps(event) + "\n" for event in started))
    slots = {
        client[0]: write_slots(folder.operations, client, rows)
        for client, rows in ((WRITER, writer_slots(shape)), (OBSERVER, observer_slots(shape)))
    }
    end_ns = shape.written_ns + 20 * (slots["observer"] + 1) * STEP_NS
    tree = {
        "closed_ns": end_ns,
        "clock": {"wall_ns": _WALL_NS + end_ns, "monotonic_ns": end_ns},
        "complete": True,
        "histories": {client: {"slots": count, "ended": "exit"} for client, count in slots.items()},
    }
    folder.write_end(tree | ({"wire": _wire(folder, shape)} if shape.frames else {}))
    return folder


def expected(shape: Shape) -> set[Found]:
    """What a judge must find, and nothing else."""
    wounds = shape.wounds
    if wounds is None:
        return set()
    ledger, swapped = wounds.ledger, (wounds.swapped, wounds.swapped + 1)
    found = {
        ("order", "read_out_of_order", ledger, *swapped),
        ("lac", "went_back", ledger, wounds.told_back, wounds.told_back),
        ("content", "damaged", ledger, wounds.damaged, wounds.damaged),
    }
    if shape.census:
        found.add(("durability", "lost", ledger, wounds.lost, wounds.lost_last))
    if shape.frames:
        found.add(("answers", "denied_own_ack", ledger, wounds.lost, wounds.lost_last))
    return found


def told(finding: Finding) -> Found:
    """A finding in the form of :func:`expected`."""
    return (finding.property, finding.kind, finding.ledger, finding.first_entry, finding.last_entry)


def _facts() -> dict[str, Any]:
    return {
        "run_id": str(RUN_ID),
        "scenario": "made/at-size",
        "repeat": ["scripts/bench", "judge"],
        "mode": "protected",
        "seed": 1,
        "bookkeeper": _RELEASE,
        "versions": dict.fromkeys(BOOKIES, _RELEASE),
        "plan": _PLAN,
        "conf": {},
        "bookies": dict(BOOKIES),
        "clients": dict((WRITER, OBSERVER)),
        **provenance(),
        "clock": {"wall_ns": _WALL_NS, "monotonic_ns": 0},
    }


def _transactions(shape: Shape) -> Iterator[str]:
    """Each ledger is created open and closed with its next version; numbered as they come."""
    contents = ("create", _metadata(1, -1)), ("set", _metadata(3, shape.last))
    times_ns = np.stack(closed_ns(shape, np.arange(shape.ledgers)), axis=1).reshape(-1)
    for zxid, place in enumerate(np.argsort(times_ns, kind="stable").tolist(), start=1):
        ledger, version = divmod(place, 2)
        (op, data), digits = contents[version], f"{ledger:010d}"
        path = f"/ledgers/{digits[:2]}/{digits[2:6]}/L{digits[6:]}"
        line = {"zxid": hex(zxid), "time_ms": (_WALL_NS + int(times_ns[place])) // MS, "op": op, "path": path}
        yield json.dumps(line | {"version": version, "data": data}) + "\n"


def _metadata(state: int, last_entry: int) -> str:
    """A ledger's metadata as ZooKeeper's log carries it: BookKeeper's version 3, field by field."""
    members = b"".join(_text(1, f"{name}:3181") for name in BOOKIES)
    segment = members + _number(2, 0)
    content = b"".join(
        (
            *(_number(field, len(BOOKIES)) for field in (1, 2)),  # write quorum, ensemble
            _number(3, SIZE_BYTES * (last_entry + 1)),
            _number(4, last_entry),
            _number(5, state),
            _varint(6 << 3 | 2) + _varint(len(segment)) + segment,
            _number(7, 3),  # CRC32C
            _text(8, "fencepost"),
            _number(9, 2),  # ack quorum
        )
    )
    return base64.b64encode(b"BookieMetadataFormatVersion\t3\n" + _varint(len(content)) + content).decode()


def _text(field: int, text: str) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(text)) + text.encode()


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value % 2**64)


def _varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def _wire(folder: RunFolder, shape: Shape) -> dict[str, Any]:
    count = write_frames(folder.frames, frames(shape))
    lines = (json.dumps({"link": link, "name": name}) + "\n" for link, name in LINKS.items())
    (folder.frames / "links.jsonl").write_text("".join(lines))
    log = {"open": True, "records": count, "lost": 0, "unlogged": 0, "error": ""}
    return {
        "log": log | {"links": {name: link for link, name in LINKS.items()}},
        "links": counters(shape),
    }
