"""The fault log and the servers' events become rows; what says nothing usable is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evidence.codes import NEVER
from evidence.collect.faults import collect_faults
from evidence.collect.logs import LogEvent, log_events
from evidence.collect.servers import collect_servers
from evidence.schemas import FAULTS, SERVERS


def phase(fault: int, name: str, at_ns: int, **proof: Any) -> dict[str, Any]:
    params = {"target": "b1"} if name == "planned" else {}
    return {
        "fault": fault,
        "kind": "kill",
        "target": "b1",
        "params": params,
        "phase": name,
        "at_ns": at_ns,
        "proof": proof,
    }


def test_the_phases_of_a_fault_are_one_row() -> None:
    lines = [
        phase(2, "planned", 5),
        phase(1, "planned", 10),
        phase(1, "injected", 11),
        phase(1, "confirmed", 12, code=-9),
        phase(1, "healed", 13, answers=403),
    ]
    found = collect_faults(lines)
    assert found.table.schema == FAULTS
    first, second = found.table.to_pylist()
    assert [first[f"{name}_ns"] for name in ("planned", "injected", "confirmed", "healed")] == [
        10,
        11,
        12,
        13,
    ]
    assert json.loads(first["params"]) == {"target": "b1"}
    assert json.loads(first["proof"]) == {"confirmed": {"code": -9}, "healed": {"answers": 403}}
    assert (second["planned_ns"], second["injected_ns"], second["healed_ns"]) == (5, NEVER, NEVER)


def test_a_failed_fault_shows_in_its_proof_and_a_line_of_rubbish_is_named() -> None:
    found = collect_faults(
        [phase(1, "failed", 9), {"fault": 1}, phase(1, "healing", 3)], ["line 3 is damaged"]
    )
    assert json.loads(found.table.to_pylist()[0]["proof"]) == {"failed": {}}
    assert found.damage[0] == "faults: line 3 is damaged"
    assert len(found.damage) == 3


def test_events_keep_their_interval_and_everything_else_as_detail() -> None:
    lines = [
        {"server": "b1", "boot": 1, "event": "exit", "at_ns": 90, "code": None, "signal": 9},
        {"server": "b1", "boot": 1, "event": "answering", "at_ns": 50, "earliest_ns": 40},
        {"server": "b1"},
    ]
    found = collect_servers(lines)
    assert found.table.schema == SERVERS
    answering, exited = found.table.to_pylist()
    assert (answering["event"], answering["earliest_ns"], answering["latest_ns"]) == ("answering", 40, 50)
    assert json.loads(exited["detail"]) == {"code": None, "signal": 9}
    assert found.damage == ("servers: a recorded event says nothing usable: {'server': 'b1'}",)


def test_a_log_line_belongs_to_the_boot_that_had_begun() -> None:
    lines = [
        {"server": "b1", "boot": boot, "event": "started", "at_ns": at} for boot, at in ((1, 10), (2, 20))
    ]
    logs = [LogEvent("b1", at, "mark_limbo") for at in (5, 15, 25)]
    rows = collect_servers(lines, logs).table.to_pylist()
    assert [row["boot"] for row in rows if row["event"] == "mark_limbo"] == [0, 1, 2]


def test_the_log_tells_limbo_in_the_words_of_every_release(tmp_path: Path) -> None:
    log = tmp_path / "b1.log"
    log.write_text(
        "123456789 INFO [main] Unclean shutdown detected\n"
        "123456790 INFO [main] Event: PREBOOT_START, RunId: 11-22, Reason: UNCLEAN_SHUTDOWN\n"
        "123456791 INFO [main] Mark limbo {event=MARK_LIMBO, ledgerId=7, runId=11-22}\n"
        "123456792 INFO [main] Event: FULL_CHECK_END, runId: 11-22, ok: 3, error: 0, missing: 0\n"
        "123456793 INFO [main] {event=RECOVER_LIMBO_LEDGER, ledgerId=7}\n"
        "123456794 INFO [main] {event=CLEAR_INTEGCHECK_FLAG}\n"
        "at some.Class.MARK_LIMBO(Other.java)\n"
        "123456795 INFO [main] nothing that matters\n"
    )
    events = list(log_events("b1", log))
    assert [event.event for event in events] == [
        "unclean_shutdown",
        "preboot_start",
        "mark_limbo",
        "full_check_end",
        "recover_limbo_ledger",
        "clear_integcheck_flag",
    ]
    assert events[2] == LogEvent("b1", 123456791, "mark_limbo", {"ledgerId": 7})
    assert events[3].detail == {"ok": 3, "error": 0, "missing": 0}
