"""A whole run folder of a shape: histories, transactions, wire log, closed and sealed.

Segments on disk have their headers, sequence numbers and checksums.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from bench.raw.frames import LINKS, frames
from bench.raw.shape import BOOKIES, MS, OBSERVER, RUN_ID, SIZE_BYTES, STEP_NS, WRITER, Shape
from bench.raw.slots import Rows, closed_ns, observer_slots, writer_slots
from evidence.findings import Finding
from evidence.folder import RunFolder
from evidence.raw import history, wirelog
from evidence.raw.history import BOOT_SHIFT, SLOT, SLOT_BYTES, SLOTS
from evidence.raw.segments import crc32
from evidence.raw.wirelog import RECORD, RECORD_BYTES, RECORDS, first_seq_of
from harness.provenance import provenance
from protocol.wire import encode_metadata, ledger_path

Found = tuple[str, str, int, int, int]
"""(property, kind, ledger, first entry, last entry) of a finding."""
_PLAN: Mapping[str, object] = {
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
    folder.steps.write_text(json.dumps({"step": "heal", "began_ns": 0, "ended_ns": 1}) + "\n")
    folder.faults.write_text("")
    slots = {
        client[0]: write_slots(folder.operations, *client, rows)
        for client, rows in ((WRITER, writer_slots(shape)), (OBSERVER, observer_slots(shape)))
    }
    end_ns = shape.written_ns + 20 * (slots["observer"] + 1) * STEP_NS
    ends = ({"event": "started", "at_ns": 1}, {"event": "exit", "code": 143, "signal": None, "at_ns": end_ns})
    events = ({"server": name, "boot": 1, **end} for name in BOOKIES for end in ends)
    folder.events.write_text("".join(json.dumps(event) + "\n" for event in events))
    for name in BOOKIES:
        folder.server(name).mkdir()
        (folder.server(name) / "boot-1.log").touch()
    tree = {
        "closed_ns": end_ns,
        "clock": {"wall_ns": _WALL_NS + end_ns, "monotonic_ns": end_ns},
        "complete": True,
        "histories": {client: {"slots": count, "ended": "exit"} for client, count in slots.items()},
    }
    folder.write_end(
        tree | ({"wire": write_log(folder.frames, frames(shape), LINKS)} if shape.frames else {})
    )
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


def found_of(finding: Finding) -> Found:
    """A finding in the form of :func:`expected`."""
    return (finding.property, finding.kind, finding.ledger, finding.first_entry, finding.last_entry)


def _facts() -> dict[str, object]:
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
    contents = ("create", _metadata("OPEN", -1)), ("set", _metadata("CLOSED", shape.last))
    times_ns = np.stack(closed_ns(shape, np.arange(shape.ledgers)), axis=1).reshape(-1)
    for zxid, place in enumerate(np.argsort(times_ns, kind="stable").tolist(), start=1):
        ledger, version = divmod(place, 2)
        (op, data), path = contents[version], f"/ledgers{ledger_path(ledger)}"
        line = {"zxid": hex(zxid), "time_ms": (_WALL_NS + int(times_ns[place])) // MS, "op": op, "path": path}
        yield json.dumps(line | {"version": version, "data": data}) + "\n"


def _metadata(state: str, last_entry: int) -> str:
    """A ledger's metadata as ZooKeeper's log carries it."""
    content = encode_metadata(
        quorumSize=len(BOOKIES),
        ensembleSize=len(BOOKIES),
        length=SIZE_BYTES * (last_entry + 1),
        lastEntryId=last_entry,
        state=state,
        segment=[{"ensembleMember": [f"{name}:3181" for name in BOOKIES], "firstEntryId": 0}],
        ackQuorumSize=2,
    )
    return base64.b64encode(content).decode()


def write_slots(
    folder: Path, name: str, number: int, blocks: Iterable[Rows], *, boot: int = 1, run_id: int = RUN_ID
) -> int:
    """Write the segments of a boot of one client; return how many slots they hold.

    ``blocks`` have their sequence numbers already; a slot whose outcome is 0 never completed.
    """
    total = 0
    for index, slots in enumerate(_cut(blocks, SLOT, SLOTS)):
        header = np.zeros(1, dtype=history.HEADER)
        header["magic"], header["version"] = history.MAGIC, history.VERSION
        header["slot_size"], header["run_id"], header["client"] = SLOT_BYTES, run_id, number
        header["first_seq"], header["slots"] = (boot << BOOT_SHIFT) + 1 + index * SLOTS, SLOTS
        header["name"] = name.encode()
        halves = slots.view(np.uint8).reshape(len(slots), 2, history.HALF_BYTES)
        for half, part in enumerate(("invoked", "completed")):
            slots[part]["crc"] = crc32(halves[:, half, : history.CRC_AT])
        halves[slots["completed"]["outcome"] == 0, 1] = 0
        path = folder / f"{name}-{boot:03d}-{index + 1:06d}.hist"
        _write(path, header, slots, size_bytes=history.FILE_BYTES)
        total += len(slots)
    return total


def write_log(
    folder: Path, blocks: Iterable[Rows], names: Mapping[int, str], *, run_id: int = RUN_ID
) -> dict[str, object]:
    """Write a wire log of links with these names and close it; return ``wire`` of ``end.json``.

    The records are numbered here.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps({"link": link, "name": name}) + "\n" for link, name in names.items())
    (folder / "links.jsonl").write_text("".join(lines))
    counts = np.zeros((1 << 16, 2), dtype=np.int64)  # by link and way
    for number, records in enumerate(_cut(blocks, RECORD, RECORDS), start=1):
        header = np.zeros(1, dtype=wirelog.HEADER)
        header["magic"], header["version"] = wirelog.MAGIC, wirelog.VERSION
        header["record_bytes"], header["run_id"], header["records"] = RECORD_BYTES, run_id, RECORDS
        header["number"], header["first_seq"] = number, first_seq_of(number)
        records["seq"] = first_seq_of(number) + np.arange(len(records))
        raw = records.view(np.uint8).reshape(len(records), RECORD_BYTES)
        records["crc"] = crc32(raw[:, : wirelog.CRC_AT])
        _write(folder / f"frames-{number:06d}.wire", header, records)
        np.add.at(counts, (records["link"], records["way"]), 1)
    silent = dict.fromkeys(("raw_streams", "oversize", "unparsed"), 0)
    passed = {link: {"requests": int(counts[link][0]), "answers": int(counts[link][1])} for link in names}
    log = {"open": True, "records": int(counts.sum()), "lost": 0, "unlogged": 0, "error": ""}
    return {
        "log": log | {"links": {name: link for link, name in names.items()}},
        "links": {name: passed[link] | silent for link, name in names.items()},
    }


def _cut(blocks: Iterable[Rows], kind: np.dtype[np.void], size: int) -> Iterator[Rows]:
    """The same rows in arrays of ``size``, the last one shorter; one array at least."""
    room, used, full = np.zeros(size, dtype=kind), 0, False
    for block in blocks:
        taken = 0
        while taken < len(block):
            count = min(size - used, len(block) - taken)
            room[used : used + count] = block[taken : taken + count]
            used, taken = used + count, taken + count
            if used == size:
                yield room
                used, full = 0, True
    if used or not full:
        yield room[:used]


def _write(path: Path, header: Rows, rows: Rows, *, size_bytes: int | None = None) -> None:
    """A segment, with zeros after its rows up to ``size_bytes``; the header's checksum is its last field."""
    header["crc"] = crc32(header.view(np.uint8).reshape(1, -1)[:, :-4])
    with path.open("wb") as file:
        header.tofile(file)
        rows.tofile(file)
        file.truncate(size_bytes)
