"""Builds a run's folder as judging leaves it: three bookies, two clients, one lost entry or none."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evidence.codes import NEVER, Direction, Holding, Kind, Message, Outcome, Status
from evidence.collection import Collection, write_collection
from evidence.findings import Finding, Judgement, RunVerdict, Verdict
from evidence.folder import FoundRun, RunFolder, modes_of, write_json
from evidence.schemas import TABLES
from tests.stored_tables import write_tables

BEGAN = 1_000_000_000
S = 1_000_000_000
BOOKIES = {"b1": 1, "b2": 2, "b3": 3}
CLIENTS = {"observer": 250, "recoverer": 102, "writer": 101}
HOSTILE = "</script><img src=x onerror=alert(1)>\"'&"


def stored_run(
    results: Path,
    *,
    scenario: str = "bp46/truncation",
    stamp: str = "20260101T000000Z",
    seed: int = 7,
    modes: Iterable[str] = ("unprotected", "protected"),
    entries: int = 50,
    hostile: str = "",
    conf: Mapping[str, str] | None = None,
) -> FoundRun:
    """A judged run; ``unprotected`` lost its last entry. ``hostile`` is put wherever evidence has text."""
    path = results / scenario / f"{stamp}-{seed}"
    names = list(modes)
    for mode in names:
        _mode(RunFolder.create(path, mode), scenario, seed, names, entries, hostile, conf or {})
    tree = {
        mode: {
            "verdict": "anomaly" if mode == "unprotected" else "valid",
            "headline": _headline(mode, entries),
            "met": True,
            "reasons": [f"as expected: holds{hostile}"],
            "decisions": [],
        }
        for mode in names
    }
    write_json(path / "verdict.json", {"scenario": scenario, "seed": seed, "met": True, "modes": tree})
    return FoundRun(path, modes_of(path))


def _mode(
    folder: RunFolder,
    scenario: str,
    seed: int,
    modes: list[str],
    entries: int,
    hostile: str,
    conf: Mapping[str, str],
) -> None:
    lost = folder.mode == "unprotected"
    plan = {
        "name": scenario,
        "about": f"A crash truncates a ledger.{hostile}",
        "modes": modes,
        "source": {"document": "BP-46", "section": f"Scenario 2{hostile}"},
        "cluster": {"bookies": 3},
        "steps": [],
    }
    folder.write_run(
        {
            "scenario": scenario,
            "source": scenario,
            "seed": seed,
            "mode": folder.mode,
            "plan": plan,
            "run_id": "1",
            "rounds": None,
            "bookkeeper": "4.18.0",
            "versions": dict.fromkeys([*BOOKIES, *CLIENTS], "4.18.0"),
            "bookies": BOOKIES,
            "clients": CLIENTS,
            "conf": {"bookie": {"journalWriteData": "false", **conf}, "client": {}, "overridden": {}},
            "clock": {"wall_ns": 1, "monotonic_ns": BEGAN},
            "commit": "0" * 40,
            "dirty": False,
            "argv": ["run", scenario],
            "host": {"system": "Linux"},
        }
    )
    steps = [
        {"step": "named", "ledger": 4, "name": f"main{hostile}", "at_ns": BEGAN + S},
        {
            "step": "append",
            "planned": "ok",
            "outcome": "ok",
            "text": f"writer appends to main{hostile}",
            "began_ns": BEGAN + S,
            "ended_ns": BEGAN + 2 * S,
        },
    ]
    folder.steps.write_text("".join(json.dumps(one) + "\n" for one in steps))
    tables = {
        "operations": _operations(entries),
        "frames": _table("frames", _frames(entries - 1, lost=lost)),
        "ledgers": _table("ledgers", _versions(entries, lost=lost)),
        "faults": _table("faults", [_fault(hostile)]),
        "servers": _table("servers", _servers(hostile)),
        "census": _census(entries, lost=lost),
        "holdings": TABLES["holdings"].empty_table(),
    }
    rows = write_tables(folder.tables, tables, 4)
    write_collection(folder.tables, Collection(4, rows, ()))
    write_json(folder.verdict_json, _verdict(scenario, folder.mode, entries, hostile, lost=lost).as_json())
    folder.write_end({"complete": True, "closed_ns": BEGAN + 9 * S})


def _headline(mode: str, entries: int) -> str:
    return f"{int(mode == 'unprotected')} of {entries:,} acknowledged entries lost"


def _verdict(scenario: str, mode: str, entries: int, hostile: str, *, lost: bool) -> RunVerdict:
    last, proof = entries - 1, [f"writer got ok for entry {entries - 1}{hostile}"]
    loss = Finding("durability", "lost", 4, last, last, 1, "unexplained", f"lost{hostile}", proof)
    result = Verdict.ANOMALY if lost else Verdict.VALID
    judgement = Judgement(
        "durability",
        result,
        "a census",
        seen={"acknowledged": entries},
        counts={"lost": int(lost), "acknowledged_gone": int(lost)},
        findings=[loss] if lost else [],
        notes=[f"a note{hostile}"],
    )
    return RunVerdict(scenario, mode, result, _headline(mode, entries), {"durability": judgement})


def _table(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    schema = TABLES[name]
    blank = {field.name: [] if pa.types.is_list(field.type) else 0 for field in schema}
    blank |= {field.name: "" for field in schema if pa.types.is_string(field.type)}
    blank |= {field.name: False for field in schema if pa.types.is_boolean(field.type)}
    return pa.Table.from_pylist([blank | row for row in rows], schema=schema)


def _operations(entries: int) -> pa.Table:
    """Adds within a second, latencies that grow; one in a thousand takes a tenth of a second."""
    number = np.arange(entries, dtype=np.int64)
    invoked = BEGAN + S + (number * S) // max(entries, 1)
    took = 200_000 + (number % 97) * 10_000 + np.where(number % 1000 == 999, 100_000_000, 0)
    blank = {field.name: np.zeros(entries, dtype=np.int64) for field in TABLES["operations"]}
    columns = blank | {
        "ledger": np.full(entries, 4),
        "entry": number,
        "client": np.full(entries, 101),
        "seq": number + 1,
        "kind": np.full(entries, Kind.ADD),
        "outcome": np.full(entries, Outcome.OK),
        "invoked_ns": invoked,
        "completed_ns": invoked + took,
    }
    arrays = [pa.array(columns[field.name]).cast(field.type) for field in TABLES["operations"]]
    return pa.Table.from_arrays(arrays, schema=TABLES["operations"])


def _frames(entry: int, *, lost: bool) -> list[dict[str, Any]]:
    base = {"ledger": 4, "entry": entry, "source": 101, "protocol": 3, "lac": -1}
    rows = []
    for number, bookie in enumerate((1, 3)):
        at = BEGAN + 2 * S + number * 1000
        rows.append(_frame(base, bookie, 1, at, way=Direction.REQUEST, kind=Message.ADD))
        rows.append(_frame(base, bookie, 1, at + 500_000, way=Direction.ANSWER, kind=Message.ADD, status=0))
    status = Status.ENOENTRY if lost else Status.EOK
    asked = base | {"source": 102}
    at = BEGAN + 4 * S
    rows.append(_frame(asked, 1, 2, at, way=Direction.REQUEST, kind=Message.RECOVERY_READ))
    rows.append(
        _frame(asked, 1, 2, at + 100, way=Direction.ANSWER, kind=Message.RECOVERY_READ, status=status)
    )
    return [row | {"seq": number + 1} for number, row in enumerate(rows)]


def _frame(
    base: Mapping[str, Any], bookie: int, boot: int, at_ns: int, *, status: int = -1, **fields: int
) -> dict[str, Any]:
    times = {"received_ns": at_ns, "forwarded_ns": at_ns + 10, "asked_ns": NEVER}
    return {**base, **times, **fields, "bookie": bookie, "boot": boot, "status": status, "delivered": status}


def _versions(entries: int, *, lost: bool) -> list[dict[str, Any]]:
    fragments = [{"first_entry": 0, "bookies": ["b1", "b2", "b3"]}]
    base = {"ledger": 4, "ensemble": 3, "write_quorum": 3, "ack_quorum": 2, "fragments": fragments}
    last = entries - 2 if lost else entries - 1
    return [
        base | {"version": 0, "state": 1, "last_entry": -2, "earliest_ns": BEGAN + S, "latest_ns": BEGAN + S},
        base | {"version": 1, "state": 3, "last_entry": last, "zxid": 1} | _at(5),
    ]


def _at(second: float) -> dict[str, int]:
    return {"earliest_ns": BEGAN + int(second * S), "latest_ns": BEGAN + int(second * S)}


def _fault(hostile: str) -> dict[str, Any]:
    times = {f"{phase}_ns": BEGAN + 3 * S for phase in ("planned", "injected", "confirmed")}
    params = json.dumps({"target": "b1", **({"as": hostile} if hostile else {})})
    named = {"fault": 1, "kind": f"kill{hostile}", "target": "b1", "params": params, "proof": "{}"}
    return {**named, **times, "healed_ns": BEGAN + 4 * S}


def _servers(hostile: str) -> list[dict[str, Any]]:
    def event(server: str, boot: int, name: str, second: float, **detail: Any) -> dict[str, Any]:
        return {"server": server, "boot": boot, "event": name, "detail": json.dumps(detail)} | _at(second)

    return [
        *(event(name, 1, "started", 0.1) for name in BOOKIES),
        *(event(name, 1, "answering", 0.5) for name in BOOKIES),
        event("b1", 1, "exit", 3, signal=9, code=None),
        event("b1", 2, "started", 3.2),
        event("b1", 2, "answering", 3.9),
        event(f"writer{hostile}", 1, "started", 0.2),
    ]


def _census(entries: int, *, lost: bool) -> pa.Table:
    shown = min(entries, 1000)
    rows = [
        {
            "ledger": 4,
            "entry": entry,
            "pass_number": 2,
            "bookie": bookie,
            "holding": Holding.ABSENT if lost and entry == shown - 1 else Holding.PRESENT,
            "answered_ns": BEGAN + 6 * S,
        }
        for entry in range(shown)
        for bookie in BOOKIES.values()
    ]
    return _table("census", rows)
