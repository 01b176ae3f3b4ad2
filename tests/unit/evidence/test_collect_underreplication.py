"""Repair as seen in ZooKeeper and in logs of autorecovery, in the messages of several releases."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from evidence.collect.clock import WallClock
from evidence.collect.logs import log_events
from evidence.collect.servers import collect_servers

MS = 1_000_000
CLOCK = WallClock.of({"wall_ns": 1_000 * MS, "monotonic_ns": 0}, {"wall_ns": 1_000 * MS, "monotonic_ns": 0})
ROOT = "/ledgers/underreplication"
LEDGER = f"{ROOT}/ledgers/0000/0000/0000/0007/urL0000000007"


def change(zxid: int, op: str, path: str, text: str = "") -> dict[str, Any]:
    data = base64.b64encode(text.encode()).decode()
    return {"op": op, "path": path, "time_ms": 1_500, "zxid": hex(zxid), "version": 0, "data": data}


def events_of(*lines: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Server, event and detail of each row, in the order of the transactions."""
    rows = collect_servers([], CLOCK, transactions=lines).table.to_pylist()
    found = [(row["server"], row["event"], json.loads(row["detail"])) for row in rows]
    ordered = sorted(found, key=lambda row: int(row[2].pop("zxid"), 16))
    for _, _, detail in ordered:
        detail.pop("version")
    return ordered


def test_an_election_names_the_candidates_and_the_auditor() -> None:
    election = f"{ROOT}/auditorelection"
    assert events_of(
        change(1, "create", election),
        change(2, "create", f"{election}/V_0000000000", 'bookieId: "ar1:3181"\n'),
        change(3, "set", election, 'bookieId: "ar1:3181"\n'),
        change(4, "create", f"{election}/V_0000000001", 'bookieId: "ar2:3181"\n'),
        change(5, "delete", f"{election}/V_0000000000"),
        change(6, "set", election, 'bookieId: "ar2:3181"\n'),
        change(7, "delete", f"{election}/V_0000000009"),
    ) == [
        ("ar1", "candidate", {"vote": "V_0000000000"}),
        ("ar1", "auditor_elected", {}),
        ("ar2", "candidate", {"vote": "V_0000000001"}),
        ("ar1", "candidate_gone", {"vote": "V_0000000000"}),
        ("ar2", "auditor_elected", {}),
    ]


def test_a_ledger_is_marked_with_who_lacks_it_until_it_is_unmarked() -> None:
    assert events_of(
        change(1, "create", f"{ROOT}/ledgers"),
        change(2, "create", f"{ROOT}/ledgers/0000"),
        change(3, "create", LEDGER, 'replica: "b1:3181"\nctime: 5\n'),
        change(4, "create", f"{ROOT}/locks/urL0000000007", 'bookieId: "somewhere"\n'),
        change(5, "set", LEDGER, 'replica: "b1:3181"\nreplica: "b2:3181"\nctime: 6\n'),
        change(6, "delete", LEDGER),
        change(7, "delete", f"{ROOT}/locks/urL0000000007"),
    ) == [
        ("zk1", "ledger_marked", {"ledgerId": 7, "missing": ["b1"]}),
        ("zk1", "repair_locked", {"ledgerId": 7}),
        ("zk1", "ledger_marked", {"ledgerId": 7, "missing": ["b1", "b2"]}),
        ("zk1", "ledger_unmarked", {"ledgerId": 7}),
        ("zk1", "repair_unlocked", {"ledgerId": 7}),
    ]


def test_switches_are_told_and_layouts_are_not() -> None:
    assert events_of(
        change(1, "create", f"{ROOT}/LAYOUT", "x"),
        change(2, "create", f"{ROOT}/disable"),
        change(3, "delete", f"{ROOT}/disable"),
        change(4, "set", f"{ROOT}/lostbookierecoverydelay", "0"),
        change(5, "set", f"{ROOT}/checkallledgersctime", "x"),
    ) == [
        ("zk1", "repair_disabled", {}),
        ("zk1", "repair_enabled", {}),
        ("zk1", "recovery_delay_set", {}),
        ("zk1", "ledgers_check_dated", {}),
    ]


@pytest.mark.parametrize("broken", [{"path": 7}, {"op": []}, {"time_ms": "soon"}, {"zxid": None, "op": "?"}])
def test_a_transaction_that_cannot_be_read_is_passed_over(broken: dict[str, Any]) -> None:
    assert collect_servers([], CLOCK, transactions=[change(1, "create", LEDGER) | broken]).table.num_rows == 0


def test_data_that_cannot_be_read_marks_a_ledger_all_the_same() -> None:
    line = change(1, "create", LEDGER) | {"data": "%"}
    assert events_of(line) == [("zk1", "ledger_marked", {"ledgerId": 7, "missing": []})]


LOGS = {
    "4.14": (
        "2026-11-21 20:48:45,021 - INFO  - [Elector:Auditor@680] - I'm starting as Auditor Bookie. ID: a\n"
        "2026-11-21 20:48:45,022 - INFO  - [AuditorBookie-ar1:3181:Auditor@1127] - Starting auditBookies\n"
        "2026-11-21 20:48:45,023 - INFO  - [AuditorBookie-ar1:3181:Auditor@1162] - Completed auditBookies\n"
        "2026-11-21 20:48:45,024 - INFO  - [main:C@86] - Started component autorecovery-server.\n"
        "2026-11-21 20:48:45,025 - INFO  - [R:Worker@4] - Ledger replicated successfully. ledger id is: 7\n"
        "2026-11-21 20:48:45,026 - INFO  - [component-shutdown-thread:Auditor@2070] - Shutting down auditor\n"
    ),
    "4.15": (
        "21 1795279280021 INFO  [Elector] Auditor - I'm starting as Auditor Bookie. ID: ar1:3181 {}\n"
        "22 1795279280022 INFO  [Auditor] Auditor - Starting auditBookies {}\n"
        "23 1795279280023 INFO  [Auditor] Auditor - Completed auditBookies {}\n"
        "24 1795279280024 INFO  [main] ComponentStarter - Started component autorecovery-server. {}\n"
        "25 1795279280025 INFO  [R] ReplicationWorker - Ledger replicated successfully. ledger id is: 7 {}\n"
        "26 1795279280026 INFO  [main] Auditor - Shutting down auditor {}\n"
    ),
    "4.18": (
        "0 1795279280021 INFO  [E] Auditor - I'm starting as Auditor Bookie {bookieId=ar1:3181}\n"
        "0 1795279280022 INFO  [A] AuditorBookieCheckTask - Starting auditBookies {}\n"
        "0 1795279280023 INFO  [A] AuditorBookieCheckTask - Completed auditBookies {}\n"
        "0 1795279280024 INFO  [main] ComponentStarter - Started component {component=autorecovery-server}\n"
        "0 1795279280025 INFO  [R] ReplicationWorker - Ledger replicated successfully {ledgerId=7}\n"
        "0 1795279280026 INFO  [main] Auditor - Shutting down auditor {}\n"
    ),
}


@pytest.mark.parametrize(
    "line",
    [
        "21 1795279280021 INFO  [A] AuditorReplicasCheckTask - Completed ReplicasCheck in 5901 milliSeconds"
        " numLedgersFoundHavingNoReplicaOfAnEntry 3 numLedgersFoundHavingLessThanAQReplicasOfAnEntry 2"
        " numLedgersFoundHavingLessThanWQReplicasOfAnEntry 1. {}\n",
        "0 1795279280021 INFO  [A] AuditorReplicasCheckTask - Completed ReplicasCheck {durationMs=5846,"
        " numLedgersFoundHavingLessThanAQReplicasOfAnEntry=2,"
        " numLedgersFoundHavingLessThanWQReplicasOfAnEntry=1, numLedgersFoundHavingNoReplicaOfAnEntry=3}\n",
    ],
)
def test_a_check_of_replicas_tells_what_it_counted(line: str, tmp_path: Path) -> None:
    log = tmp_path / "boot-1.log"
    log.write_text(line)
    event, _ = log_events("ar1", 1, log)
    counts = {"no_copy": 3, "below_ack_quorum": 2, "below_write_quorum": 1}
    assert (event.event, dict(event.detail)) == ("replicas_check_ended", counts)


@pytest.mark.parametrize("release", LOGS)
def test_logs_of_autorecovery_tell_audits_and_repair(release: str, tmp_path: Path) -> None:
    log = tmp_path / "boot-1.log"
    log.write_text(LOGS[release])
    found = list(log_events("ar1", 1, log))
    assert [(one.event, dict(one.detail)) for one in found] == [
        ("auditor_started", {}),
        ("audit_started", {}),
        ("audit_ended", {}),
        ("component_started", {}),
        ("ledger_replicated", {"ledgerId": 7}),
        ("auditor_ended", {}),
        ("log_read", {"lines": 6, "undated": 0}),
    ]
    assert {one.event for one in log_events("b1", 1, log)} <= {"log_read"}, "a bookie does not say so"
    wall_ms = 1795294125021 if release == "4.14" else 1795279280021
    assert (found[0].at_ns, found[0].wall_ms) == (21 if release == "4.15" else 0, wall_ms)
