"""The fault log and the servers' events become rows; what says nothing usable is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evidence.codes import NEVER
from evidence.collect.clock import WallClock
from evidence.collect.faults import collect_faults
from evidence.collect.logs import LogEvent, log_events
from evidence.collect.servers import collect_servers
from evidence.schemas import FAULTS, SERVERS

MS = 1_000_000
CLOCK = WallClock.of(
    {"wall_ns": 1000 * MS, "monotonic_ns": 0}, {"wall_ns": 9000 * MS, "monotonic_ns": 8000 * MS}
)


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
        {"server": "b1", "boot": 1, "event": "odd", "at_ns": 95, "earliest_ns": 99},
        {"server": "b1"},
    ]
    found = collect_servers(lines, CLOCK)
    assert found.table.schema == SERVERS
    answering, exited, odd = found.table.to_pylist()
    assert (odd["earliest_ns"], odd["latest_ns"]) == (95, 95)
    assert (answering["event"], answering["earliest_ns"], answering["latest_ns"]) == ("answering", 40, 50)
    assert json.loads(exited["detail"]) == {"code": None, "signal": 9}
    assert found.damage == ("servers: a recorded event says nothing usable: {'server': 'b1'}",)


def test_a_log_line_is_dated_by_the_runs_clock_or_else_by_the_wall_clock_with_its_error() -> None:
    logs = [LogEvent("b1", 2, 0, 1500, "preboot_end"), LogEvent("b1", 1, 7 * MS, 1007, "mark_limbo")]
    first, second = collect_servers([], CLOCK, logs).table.to_pylist()
    assert (first["event"], first["boot"], first["earliest_ns"], first["latest_ns"]) == (
        "mark_limbo",
        1,
        7 * MS,
        7 * MS,
    )
    assert (second["boot"], second["earliest_ns"], second["latest_ns"]) == (2, 498 * MS, 503 * MS)


def test_the_log_tells_limbo_in_the_words_of_every_release(tmp_path: Path) -> None:
    log = tmp_path / "boot-2.log"
    log.write_text(
        "123456789 1795258741454 INFO  [main] EmbeddedServer - Unclean shutdown detected. The bookie {}\n"
        "123456790 1795258741908 INFO  [main] Check - Event: PREBOOT_START, RunId: 1-2, Reason: UNCLEAN {}\n"
        "0 1795258742194 INFO  [main] Check - Marking ledger {event=MARK_LIMBO, ledgerId=7, runId=1-2}\n"
        "0 1795258743228 INFO  [rx-0] Check - Event: FULL_CHECK_END, runId: 1-2, ok: 3, error: 0 {}\n"
        "0 1795258743229 INFO  [rx-0] Check - Recovering {event=RECOVER_LIMBO_LEDGER, ledgerId=7}\n"
        "0 1795258743288 INFO  [rx-0] Check - Clearing {event=CLEAR_INTEGCHECK_FLAG, runId=2}\n"
        "\tat some.Class.MARK_LIMBO(Other.java)\n"
        "0 1795258743289 INFO  [rx-0] Check - nothing that matters {}\n"
    )
    events = list(log_events("b1", 2, log))
    assert [event.event for event in events] == [
        "unclean_shutdown",
        "preboot_start",
        "mark_limbo",
        "full_check_end",
        "recover_limbo_ledger",
        "clear_integcheck_flag",
        "log_read",
    ]
    assert events[0] == LogEvent("b1", 2, 123456789, 1795258741454, "unclean_shutdown")
    assert events[1].detail == {"reason": "UNCLEAN"}
    assert events[2] == LogEvent("b1", 2, 0, 1795258742194, "mark_limbo", {"ledgerId": 7})
    assert events[3].detail == {"ok": 3, "error": 0}
