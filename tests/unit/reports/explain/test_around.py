"""The lines about reads, faults, boots, disks, metadata and the census around a ledger."""

from __future__ import annotations

import json
from typing import Any

from evidence.codes import NEVER, ErrorCode, Flag, Holding, Kind, Outcome, Place
from reports.explain.clients import ledger_moments, read_moments
from reports.explain.cluster import (
    census_moments,
    disk_moments,
    fault_moments,
    faults_during,
    metadata_moments,
    server_moments,
)
from reports.explain.moments import Event
from reports.explain.rows import Names
from tests.histories.story import closed, created, metadata, vanished

NAMES = Names.of(
    {"clients": {"writer": 101}, "bookies": {"b1": 1, "b2": 2}}, [{"server": "b1", "boot": 2}], []
)


def operation(seq: int, kind: Kind, **fields: Any) -> dict[str, Any]:
    asked = {"client": 101, "seq": seq, "handle": 1, "kind": kind, "flags": 0, "invoked_ns": 10 * seq}
    ended = {"outcome": Outcome.OK, "error": 0, "completed_ns": 10 * seq + 5}
    return asked | ended | dict.fromkeys(("entry", "last", "result", "lac"), -1) | fields


def read(seq: int, first: int, last: int, **fields: Any) -> dict[str, Any]:
    return operation(seq, Kind.READ, entry=first, last=last, **({"result": last - first + 1} | fields))


def event(server: str, boot: int, what: str, at_ns: int, **detail: Any) -> dict[str, Any]:
    row = {"server": server, "boot": boot, "event": what, "detail": json.dumps(detail)}
    return row | {"earliest_ns": at_ns, "latest_ns": at_ns}


def texts(moments: Any) -> list[str]:
    return [f"{moment.subject}: {moment.what}" for moment in moments]


def test_reads_that_continue_each_other_are_one_line() -> None:
    reads = [read(1, 0, 9), read(2, 10, 19), read(3, 10, 19)]
    reads.append(read(4, 20, 29, outcome=Outcome.UNKNOWN, error=-13))
    assert texts(read_moments(reads, NAMES)) == [
        "writer: 2 reads of entries 0..19: ok, 20 delivered",
        "writer: read of entries 10..19: ok, 10 delivered",
        "writer: read of entries 20..29: unknown (no such entry, error -13), 10 delivered",
    ]
    assert [moment.at_ns for moment in read_moments(reads, NAMES)] == [25, 35, 45]


def test_of_an_entry_only_reads_that_did_not_deliver_it_are_told() -> None:
    unended = read(2, 0, 9, outcome=Outcome.UNKNOWN, result=3, completed_ns=NEVER)
    short = read(4, 0, 9, result=4)  # entries 0 to 3
    reads = [read(1, 0, 9), unended, read(3, 10, 12), short, read(5, 0, 9, result=5)]
    assert texts(read_moments(reads, NAMES, 4)) == [
        "writer: read of entries 0..9: never ended",
        "writer: read of entries 0..9: ok, 4 delivered",
    ]


def test_an_operation_is_told_with_its_error_and_its_end() -> None:
    rows = [
        operation(1, Kind.CLOSE, outcome=Outcome.UNKNOWN, error=-101),
        operation(2, Kind.OPEN, flags=Flag.RECOVERY | Flag.FINAL, result=9),
        operation(3, Kind.DELETE, error=-77, outcome=Outcome.UNKNOWN, completed_ns=NEVER),
        operation(4, Kind.ADD),
        operation(5, Kind.OPEN, result=-1, lac=7),
        operation(6, Kind.OPEN, flags=Flag.RECOVERY, result=-1),
    ]
    assert texts(ledger_moments(rows, NAMES)) == [
        "writer: close: invoked",
        "writer: close: unknown (ledger fenced, error -101)",
        "writer: open with recovery, final: invoked",
        "writer: open with recovery, final: ok, last entry 9",
        "writer: delete: invoked",
        "writer: open: invoked",
        "writer: open: ok, found no end, LAC 7",
        "writer: open with recovery: invoked",
        "writer: open with recovery: ok, last entry -1",
    ]


def fault(number: int, injected_ns: int, **proof: Any) -> dict[str, Any]:
    times = {"injected_ns": injected_ns, "healed_ns": 90 if proof else NEVER}
    params = json.dumps({"ledger": "main"} if proof else {})
    named = {"fault": number, "kind": "drop", "target": "w-b1"}
    return {**named, **times, "params": params, "proof": json.dumps(proof)}


def test_a_fault_is_told_with_what_its_rule_did() -> None:
    faults = [fault(1, 5), fault(2, 6, healed={"acted": 1}), fault(3, 7, healed={"acted": 0}), fault(4, 99)]
    assert texts(fault_moments(faults_during(faults, "main", 0, 50))) == [
        "nemesis: fault 1 (drop w-b1)",
        "nemesis: fault 2 (drop w-b1)",
        "nemesis: fault 2 (drop w-b1) healed, its rule acted on 1 message",
        "nemesis: fault 3 (drop w-b1)",
        "nemesis: fault 3 (drop w-b1) healed, its rule never acted",
    ]
    assert texts(fault_moments(faults_during(faults, "other", 0, 50))) == ["nemesis: fault 1 (drop w-b1)"]


def test_a_fault_that_was_healed_before_the_ledger_or_begins_after_it_is_outside_its_life() -> None:
    before, across, open_end, after = fault(1, 5), fault(2, 6), fault(3, 7), fault(4, 60)
    before["healed_ns"], across["healed_ns"] = 19, 20
    faults = faults_during([before, across, open_end, after], "main", 20, 50)
    assert [one["fault"] for one in faults] == [2, 3]


def test_boots_and_the_ledgers_limbo_are_told() -> None:
    events = [
        event("b1", 1, "started", 1),
        event("b1", 1, "exit", 10, signal=9, code=None),
        event("b1", 2, "started", 11),
        event("b1", 2, "mark_limbo", 12, ledgerId=7),
        event("b1", 2, "mark_limbo", 12, ledgerId=8),
        event("b1", 2, "answering", 13),
        event("b1", 2, "exit", 14, signal=None, code=143),
        event("b1", 2, "exit", 99, signal=None, code=143),
        event("zk1", 2, "exit", 12),
    ]
    assert texts(server_moments(events, NAMES, 7, first_ns=0, until_ns=20)) == [
        "b1 boot 1: ends with signal 9",
        "b1 boot 2: begins",
        "b1 boot 2: puts the ledger in limbo",
        "b1 boot 2: ends with exit code 143",
    ]


def test_the_census_is_told_for_each_bookie() -> None:
    rows = [
        {"pass_number": 1, "bookie": bookie, "entry": entry, "holding": holding, "answered_ns": 5 + entry}
        for bookie, holding in ((1, Holding.PRESENT), (2, Holding.ABSENT))
        for entry in range(3)
    ]
    assert texts(census_moments(rows, NAMES, 1)) == ["b1: census 1: present", "b2: census 1: absent"]
    assert texts(census_moments(rows, NAMES, None)) == [
        "b1: census 1: 3 entries present",
        "b2: census 1: 3 entries absent",
    ]


def test_repair_and_admin_commands_are_told_with_their_ledger_and_target() -> None:
    run = {"clients": {}, "bookies": {"b1": 1}, "others": {"ar1": 221, "admin": 240}}
    rows = [
        event("zk1", 0, "ledger_marked", 10, ledgerId=7, missing=["b1", "b2"]),
        event("zk1", 0, "ledger_marked", 11, ledgerId=8, missing=["b1"]),
        event("zk1", 1, "exit", 12, code=0),
        event("ar1", 1, "ledger_replicated", 13, ledgerId=7),
        event("admin", 1, "command", 14, command="decommission", target="b1"),
        event("admin", 1, "exit", 15, code=255),
    ]
    assert texts(server_moments(rows, Names.of(run, rows, []), 7, 0, 99)) == [
        "zk1: has the ledger marked as lacking copies of b1, b2",
        "ar1: has made the copies that the ledger lacked",
        "admin: runs decommission b1",
        "admin: ends with exit code 255",
    ]


def span(bookie: int, boot: int, first: int, last: int, place: Place = Place.INDEX) -> dict[str, Any]:
    return {"bookie": bookie, "boot": boot, "entry": first, "last": last, "place": int(place)}


def of_disks(servers: Any, holdings: Any, entry: int | None, until_ns: int = 99) -> list[Any]:
    found = disk_moments(servers, holdings, NAMES, entry, until_ns)
    return [(one.at_ns, one.subject, one.what) for one in found]


READ = [event("b1", 1, "disk_read", 10), event("b1", 2, "disk_read", 20), event("b2", 1, "disk_read", 30)]
HELD = [span(1, 1, 0, 4), span(1, 2, 0, 9), span(1, 2, 4, 12, Place.JOURNAL)]


def test_an_unclean_death_has_a_line_that_says_whether_the_disk_held_an_entry() -> None:
    assert of_disks(READ, HELD, 4) == [
        (10, "b1 boot 1", "its disk held it (index)"),
        (20, "b1 boot 2", "its disk held it (index and journal)"),
        (30, "b2", "its disk did not hold it"),
    ]
    assert of_disks(READ, HELD, 12)[:2] == [
        (10, "b1 boot 1", "its disk did not hold it"),
        (20, "b1 boot 2", "its disk held it (journal)"),
    ]


def test_an_unclean_death_has_a_line_that_says_what_the_disk_held_of_a_ledger() -> None:
    assert [what for _, _, what in of_disks(READ, HELD, None)] == [
        "its disk held 5 entries in the index",
        "its disk held 10 entries in the index and 9 entries in the journal",
        "its disk held nothing of it",
    ]


def test_a_disk_that_could_not_be_read_says_why_at_its_death() -> None:
    servers = [event("b2", 1, "exit", 44, signal=9), event("b2", 1, "disk_unreadable", 0, why="no index")]
    assert of_disks(servers, [], 4) == [(44, "b2", "what its disk held is not known: no index")]


def test_disks_that_were_copied_before_or_after_the_story_are_left_out() -> None:
    assert [at for at, _, _ in of_disks(READ, HELD, 4, until_ns=20)] == [10, 20]
    later = disk_moments(READ, HELD, NAMES, 4, 99, first_ns=11)
    assert [one.at_ns for one in later] == [20, 30]


def of_metadata(*parts: tuple[str, dict[str, object]], entry: int | None = None) -> list[str]:
    return [moment.what for moment in metadata_moments([row for _, row in parts], entry)]


def test_each_version_is_told_and_one_that_a_fault_put_back_as_such() -> None:
    assert of_metadata(created(), closed(3), vanished(2), entry=5) == [
        "version 0: OPEN (from 0: b1:3181 b2:3181 b3:3181)",
        "version 1: CLOSED at 3, below this entry (from 0: b1:3181 b2:3181 b3:3181)",
        "version 2: deleted (from 0: b1:3181 b2:3181 b3:3181)",
    ]
    assert of_metadata(created(put_back=True), metadata(1, 0, put_back=True, fragments={})) == [
        "put back by a fault to version 0: OPEN (from 0: b1:3181 b2:3181 b3:3181)",
        "put back by a fault: there is none",
    ]


def test_moments_carry_what_a_drawing_shows_of_them() -> None:
    def shown(moments: Any) -> list[tuple[str, Event | None]]:
        return [(one.tone, one.event) for one in moments]

    rows = [row for _, row in (created(), closed(3), closed(3), vanished(2))]
    assert shown(metadata_moments(rows[:2], 3)) == [("plain", None), ("good", Event.CLOSED)]
    assert shown(metadata_moments(rows[2:], 5)) == [("bad", Event.CLOSED), ("bad", None)]
    assert shown(fault_moments([fault(1, 5, healed={})])) == [("fault", None), ("plain", Event.HEALED)]
    assert [one.targets for one in fault_moments([fault(1, 5)])] == [("w", "b1")]
    boots = [
        event("b1", 1, "exit", 10, signal=9),
        event("b1", 2, "started", 11),
        event("b1", 2, "unclean_shutdown", 12),
        event("b1", 2, "mark_limbo", 13, ledgerId=7),
        event("b1", 2, "exit", 14, code=0),
    ]
    assert shown(server_moments(boots, NAMES, 7, 0, 99)) == [
        ("bad", Event.KILLED),
        ("plain", Event.BEGAN),
        ("plain", Event.BOOTING),
        ("doubt", None),
        ("plain", Event.ENDED),
    ]
    lost = operation(1, Kind.OPEN, outcome=Outcome.UNKNOWN, error=ErrorCode.NO_SUCH_LEDGER)
    fenced = operation(2, Kind.OPEN, outcome=Outcome.UNKNOWN, error=ErrorCode.LEDGER_FENCED)
    late = operation(3, Kind.OPEN, outcome=Outcome.FAIL, error=ErrorCode.LEDGER_CLOSED)
    ends = list(ledger_moments([lost, fenced, late, operation(4, Kind.OPEN)], NAMES))[1::2]
    assert [one.tone for one in ends] == ["bad", "doubt", "plain", "good"]
