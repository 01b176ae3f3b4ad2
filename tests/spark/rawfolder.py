"""Raw run folders made with NumPy: real history files of a run whose losses are known.

One writer creates each ledger, adds its entries and closes it; the observer watches, asks every
bookie twice and reads all back. Lost entries are missing in the same tables as in a real run.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.raw.folder import write_slots
from evidence.codes import Flag, Kind, Outcome, Proof
from evidence.collect.histories import segment_files
from evidence.folder import RunFolder
from evidence.raw import history
from evidence.raw.history import COMPLETED, INVOKED
from protocol.modes import MODES

RUN_ID = 2**63 + 5
WRITER, OBSERVER = 101, 250
BOOKIES = {"b1": 1, "b2": 2, "b3": 3}
SIZE_BYTES = 100
NO_SUCH_ENTRY, DATA_UNKNOWN, NOT_ENOUGH_BOOKIES = -13, -108, -6
MS = 1_000_000

_INVOKED = {"ns": "invoked_ns"}
_COMPLETED = {"ns": "completed_ns"} | {name: f"{name}_told" for name in ("ledger", "entry", "zero", "crc")}
SLOT = np.dtype(
    [(_INVOKED.get(name, name), INVOKED[name]) for name in INVOKED.names or ()]
    + [(_COMPLETED.get(name, name), COMPLETED[name]) for name in COMPLETED.names or ()]
)
"""Both halves of a slot side by side."""
Slots = NDArray[Any]


@dataclass
class Story:
    """``ledgers`` is ledger id -> number of entries; the rest is what went wrong, by ledger.

    ``lost``: (first, last), or a range, of entries acknowledged and then absent from every bookie, with
    the ledger closed over them as if they were there. ``closed_below``: the last entry at which the
    recovery closed the ledger, the entries above it gone. ``denied_later``: (first, last) of entries that
    were read at the end and that the last census pass did not find any more. ``refused``: ledgers that stay
    open and cannot be opened at the end; bookies answer that they do not know. ``names``: of ledgers.
    """

    ledgers: Mapping[int, int]
    lost: Mapping[int, tuple[int, int] | range] = field(default_factory=dict)
    closed_below: Mapping[int, int] = field(default_factory=dict)
    refused: Collection[int] = ()
    denied_later: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    names: Mapping[int, str] = field(default_factory=dict)

    def end(self, ledger: int) -> int:
        """The last entry in the closing metadata."""
        return self.closed_below.get(ledger, self.ledgers[ledger] - 1)

    def kept(self, ledger: int) -> NDArray[np.int64]:
        """The entries that can still be read."""
        entries = np.arange(self.ledgers[ledger])
        return entries[(entries <= self.end(ledger)) & ~_inside(entries, self.lost.get(ledger))]

    def shown(self, ledger: int, number: int) -> NDArray[np.int64]:
        """The entries that a pass of the census finds."""
        kept = self.kept(ledger)
        return kept[~_inside(kept, self.denied_later.get(ledger))] if number == 2 else kept


def _inside(entries: NDArray[np.int64], span: tuple[int, int] | range | None) -> NDArray[np.bool_]:
    if isinstance(span, range):
        return np.isin(entries, span)
    first, last = span or (0, -1)
    inside: NDArray[np.bool_] = (entries >= first) & (entries <= last)
    return inside


def make(
    path: Path,
    story: Story,
    *,
    required: Sequence[str] = ("durability",),
    plan: Mapping[str, Any] | None = None,
    complete: bool = True,
    silent: Sequence[str] = (),
    logged: Callable[[RunFolder], Mapping[str, Any]] | None = None,
    logs: Mapping[str, str] | None = None,
    events: Sequence[Mapping[str, Any]] = (),
    doctored: Callable[[RunFolder], None] = lambda _: None,
    resolved: Mapping[str, Any] | None = None,
) -> RunFolder:
    """A closed run folder that tells ``story``; ``silent`` clients left no history.

    ``resolved`` is the plan (:meth:`plans.resolve.ResolvedPlan.as_json`), with the mode; else the
    mode is ``protected``.

    ``plan`` is the plan of ``run.json`` where one is to be compared with. ``logged`` writes a wire log
    before the evidence is closed, and passes ``end.json`` to ``wire``; ``logs`` belong to servers' first
    boots, ``events`` are further events of them. ``doctored`` changes the raw evidence before it is closed.
    """
    folder = RunFolder.create(path, (resolved or {}).get("mode", "protected"))
    for server, text in (dict.fromkeys(BOOKIES, "") | dict(logs or {})).items():
        folder.server(server).mkdir(parents=True)
        (folder.server(server) / "boot-1.log").write_text(text)
    folder.write_run(
        {
            "run_id": str(RUN_ID),
            "scenario": "made/up",
            "mode": folder.mode,
            "plan": {"modes": [folder.mode], "required": list(required), **(plan or {})},
            "seed": 1,
            "repeat": ["fencepost", "run", "made/up"],
            "bookkeeper": "4.18.0",
            "versions": dict.fromkeys(BOOKIES, "4.18.0"),
            "conf": {"bookie": MODES[folder.mode].bookie},
            "bookies": BOOKIES,
            "clients": {"writer": WRITER, "observer": OBSERVER} | dict.fromkeys(silent, 110),
            "clock": {"wall_ns": 1_000_000 * MS, "monotonic_ns": 0},
            **(resolved or {}),
        }
    )
    write_history(folder, "writer", WRITER, writer_slots(story))
    # A reader sees a ledger closed only after the writer's last add.
    write_history(folder, "observer", OBSERVER, observer_slots(story), began_ns=200_000 * MS)
    folder.transactions.write_text("".join(json.dumps(line) + "\n" for line in transactions(story)))
    named = [{"step": "named", "ledger": n, "name": story.names.get(n, f"l{n}")} for n in story.ledgers]
    planned = _each((resolved or {}).get("plan", plan or {}).get("steps", ()))
    steps = [{"step": next(iter(one)), "began_ns": n, "ended_ns": n} for n, one in enumerate(planned)]
    folder.steps.write_text("".join(json.dumps(line) + "\n" for line in (*named, *steps)))
    kill = {"fault": 1, "kind": "kill", "target": "b1", "params": {}}
    phases = ("planned", "injected", "confirmed", "healed")
    folder.faults.write_text(
        "".join(json.dumps(kill | {"phase": p, "at_ns": n, "proof": {}}) + "\n" for n, p in enumerate(phases))
    )
    started = [{"server": b, "boot": 1, "event": "started", "at_ns": 1} for b in BOOKIES]
    folder.events.write_text("".join(json.dumps(event) + "\n" for event in [*started, *events]))
    doctored(folder)
    files = segment_files(folder.operations)
    histories = {
        client: {"slots": sum(file.slots for file in files if file.client == client)}
        for client in ("writer", "observer")
    }
    clock = {"wall_ns": 1_900_000 * MS, "monotonic_ns": 900_000 * MS}
    wire = {"wire": logged(folder)} if logged else {}
    _end_all(folder)
    folder.write_end(
        {"closed_ns": 900_000 * MS, "clock": clock, "complete": complete, "histories": histories} | wire
    )
    return folder


def _end_all(folder: RunFolder) -> None:
    """Everything that was started ends, and later boots have logs as well."""
    events = [json.loads(line) for line in folder.events.read_text().splitlines()]
    started, ended = (
        {(one["server"], one["boot"]) for one in events if one["event"] == name}
        for name in ("started", "exit")
    )
    with folder.events.open("a") as lines:
        for server, boot in sorted(started - ended):
            end = {"event": "exit", "code": 143, "signal": None, "at_ns": 899_000 * MS}
            lines.write(json.dumps({"server": server, "boot": boot, **end}) + "\n")
    for server, boot in started:
        if boot > 1:
            (folder.server(server) / f"boot-{boot}.log").touch()


def _each(steps: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The steps of a plan's tree, and those of its branches."""
    for step in steps:
        if "together" in step:
            yield from chain.from_iterable(map(_each, step["together"]))
        else:
            yield step


def writer_slots(story: Story) -> Slots:
    """Create, adds by ascending id, close: for each ledger on a separate handle."""
    parts = []
    for handle, (ledger, count) in enumerate(story.ledgers.items(), start=1):
        create, close = _rows(1, Kind.CREATE, -1), _rows(1, Kind.CLOSE, ledger)
        create["ledger_told"] = ledger
        close["entry_told"] = count - 1
        adds = _rows(count, Kind.ADD, ledger)
        adds["entry"] = adds["entry_told"] = adds["expected"] = np.arange(count)
        _payload(adds)
        if ledger in story.closed_below or ledger in story.refused:
            close["outcome"], close["error"] = Outcome.UNKNOWN, -101
        for rows in (create, adds, close):
            rows["handle"] = handle
        parts += [create, adds, close]
    return np.concatenate(parts)


def observer_slots(story: Story) -> Slots:
    """Watch, census, final reads, census again."""
    parts = [
        _watched(ledger, version, state)
        for ledger in story.ledgers
        for version, state in ((0, 1), (1, 3))
        if version == 0 or ledger not in story.refused
    ]
    parts += [_census(story, ledger, 1, bookie) for ledger in story.ledgers for bookie in BOOKIES.values()]
    for handle, ledger in enumerate(story.ledgers, start=1):
        parts += _final(story, ledger, handle)
    parts += [_census(story, ledger, 2, bookie) for ledger in story.ledgers for bookie in BOOKIES.values()]
    return np.concatenate(parts)


def transactions(story: Story) -> list[dict[str, Any]]:
    """Each ledger is created open and closed with version 1."""
    lines = []
    for zxid, ledger in enumerate(story.ledgers, start=1):
        digits = f"{ledger:010d}"
        at = f"/ledgers/{digits[:2]}/{digits[2:6]}/L{digits[6:]}"
        common = {"time_ms": 1_000_001, "path": at}
        opened = {"op": "create", "version": None, "data": _metadata("OPEN", -1)}
        closed = {"op": "set", "version": 1, "data": _metadata("CLOSED", story.end(ledger))}
        lines.append(common | {"zxid": hex(2 * zxid)} | opened)
        if ledger not in story.refused:
            lines.append(common | {"zxid": hex(2 * zxid + 1)} | closed)
    return lines


def write_history(
    folder: RunFolder, client: str, number: int, slots: Slots, *, boot: int = 1, began_ns: int = 1000 * MS
) -> int:
    """Number, stamp, seal and write the slots as the segments of one boot; return how many there are."""
    slots["seq"] = (boot << 40) + 1 + np.arange(len(slots))
    entry_rows = (slots["kind"] == Kind.ENTRY) & (slots["last"] == 0)
    slots["last"][entry_rows] = slots["seq"][0]
    slots["invoked_ns"] = began_ns + np.arange(len(slots)) * 1000
    # An add takes longer than all frames of a made-up wire log.
    took_ns = np.where(slots["kind"] == Kind.ADD, 10 * MS, 500)
    slots["completed_ns"] = np.where(slots["outcome"] == 0, 0, slots["invoked_ns"] + took_ns)
    return write_slots(
        folder.operations, client, number, [slots.view(history.SLOT)], boot=boot, run_id=RUN_ID
    )


def _rows(count: int, kind: Kind, ledger: int) -> Slots:
    rows = np.zeros(count, dtype=SLOT)
    for name in ("entry", "last", "lac_before", "entry_told", "lac", "expected"):
        rows[name] = -1
    rows["kind"], rows["ledger"], rows["ledger_told"], rows["outcome"] = kind, ledger, ledger, Outcome.OK
    return rows


def _payload(rows: Slots) -> None:
    rows["size_bytes"], rows["origin"], rows["proof"] = SIZE_BYTES, WRITER, Proof.PROVES_ITSELF
    rows["digest"] = rows["ledger_told"].astype(np.uint64) << 32 | (rows["entry_told"].astype(np.uint64) + 7)


def _watched(ledger: int, version: int, state: int) -> Slots:
    row = _rows(1, Kind.WATCHED, ledger)
    row["last"], row["lac"] = version, state
    return row


def _census(story: Story, ledger: int, number: int, bookie: int) -> Slots:
    count = story.ledgers[ledger]
    rows = _rows(count, Kind.CENSUS, ledger)
    rows["entry"] = rows["entry_told"] = np.arange(count)
    rows["last"], rows["handle"] = number, bookie
    _payload(rows)
    absent = np.setdiff1d(np.arange(count), story.shown(ledger, number))
    rows["error"][absent] = NO_SUCH_ENTRY
    if ledger in story.refused:
        rows["error"], absent = DATA_UNKNOWN, np.arange(count)
    rows["proof"][absent] = Proof.NONE
    for name in ("digest", "origin", "size_bytes"):
        rows[name][absent] = 0
    return rows


def _final(story: Story, ledger: int, handle: int) -> list[Slots]:
    end, kept = story.end(ledger), story.kept(ledger)
    opened, read = _rows(1, Kind.OPEN, ledger), _rows(1, Kind.READ, ledger)
    opened["entry_told"] = opened["lac"] = end
    opened["flags"] = Flag.FINAL | Flag.RECOVERY
    if ledger in story.refused:
        opened["outcome"], opened["error"], opened["handle"] = Outcome.UNKNOWN, NOT_ENOUGH_BOOKIES, handle
        opened["entry_told"] = opened["lac"] = -1
        return [opened]
    read["entry"], read["last"], read["entry_told"], read["flags"] = 0, end, len(kept), Flag.FINAL
    if len(kept) <= end:
        read["outcome"], read["error"] = Outcome.UNKNOWN, NO_SUCH_ENTRY
    entries = _rows(len(kept), Kind.ENTRY, ledger)
    entries["entry"] = entries["entry_told"] = entries["expected"] = kept
    entries["flags"], entries["last"] = Flag.FINAL, 0
    entries["lac_before"] = end
    _payload(entries)
    for rows in (opened, read, entries):
        rows["handle"] = handle
    return [opened, read, entries]


def _metadata(state: str, last_entry: int) -> str:
    members = " ".join(f'ensembleMember: "{name}:3181"' for name in BOOKIES)
    length_bytes = (last_entry + 1) * SIZE_BYTES if state == "CLOSED" else 0
    text = (
        f"quorumSize: 3 ensembleSize: 3 length: {length_bytes} lastEntryId: {last_entry} state: {state} "
        f"segment {{ {members} firstEntryId: 0 }} digestType: CRC32C ackQuorumSize: 2"
    )
    return base64.b64encode(b"BookieMetadataFormatVersion\t2\n" + text.encode()).decode()
