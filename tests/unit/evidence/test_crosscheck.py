"""The record held against itself: faults against plan and ends of processes, histories against ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evidence.codes import NEVER
from evidence.collect.crosscheck import (
    boots_incomplete,
    copies_missing,
    ends_unexplained,
    faults_missing,
    histories_cut,
    histories_missing,
    steps_missing,
)
from evidence.collect.histories import SegmentFile
from evidence.raw.history import SLOT, Segment
from protocol.faults import AFTERMATH_S

Row = dict[str, Any]
KILLED: Row = {"code": None, "signal": 9}
IN_ORDER: Row = {"code": 0, "signal": None}


def fault(kind: str = "kill", target: str = "b1", **columns: Any) -> Row:
    times = {"planned_ns": 10, "injected_ns": 11, "healed_ns": NEVER}
    return {"kind": kind, "target": target, "proof": "{}"} | times | columns


def event(server: str = "b1", at_ns: int = 20, *, name: str = "exit", boot: int = 1, **detail: Any) -> Row:
    times = {"earliest_ns": at_ns, "latest_ns": at_ns}
    return {"server": server, "boot": boot, "event": name, "detail": json.dumps(detail)} | times


KILL, START = {"kill": {"target": "b1"}}, {"start": {"target": "b1"}}
ROLL, POWER = {"roll": {"targets": ["b1", "b2"], "how": "kill"}}, {"power_loss": {"targets": ["b1", "b2"]}}
CUT = {"cut": {"from": "writer", "to": "b2"}}


@pytest.mark.parametrize(
    ("plan", "faults", "messages"),
    [
        ({"steps": [KILL, START]}, [fault()], []),
        ({"steps": [START]}, [], []),
        ({"steps": [KILL]}, [], ["the plan injects `kill b1` 1 times, the fault log holds 0"]),
        ({"steps": [KILL]}, [fault(injected_ns=NEVER)], ["the plan injects `kill b1` 1 times"]),
        ({"steps": [KILL]}, [fault(target="b2")], ["`kill b1` 1 times, the fault log holds 0"]),
        ({"steps": [KILL], "rounds": 3}, [fault()] * 2, ["`kill b1` 3 times, the fault log holds 2"]),
        ({"steps": [{"together": [[KILL], [START, KILL]]}]}, [fault()], ["`kill b1` 2 times"]),
        ({"steps": [ROLL, KILL]}, [fault()] * 3, ["`kill b2` 1 times, the fault log holds 0"]),
        ({"steps": [ROLL, KILL]}, [fault(), fault(target="b2")], ["`kill b1` 2 times, the fault log holds"]),
        ({"steps": [CUT]}, [fault("cut", "writer-b2")], []),
        ({"steps": [CUT]}, [fault("cut", "b2-writer")], ["`cut writer-b2` 1 times"]),
        ({"steps": [POWER]}, [fault("power_loss", "b1,b2")], []),
        ({"steps": [POWER]}, [fault("power_loss", "b1")], ["`power_loss b1,b2` 1 times"]),
        ({"steps": [{"wipe_metadata": {}}]}, [fault("wipe_metadata", "zk1")], []),
        ({"steps": [{"wipe_metadata": {}}]}, [], ["`wipe_metadata` 1 times"]),
        ({"steps": [{"roll": {"targets": ["b1"]}}]}, [fault("stop")], []),
        ({}, [], []),
    ],
)
def test_every_fault_step_has_its_fault(plan: Row, faults: list[Row], messages: list[str]) -> None:
    found = list(faults_missing(plan, faults))
    assert len(found) == len(messages)
    assert all(text in one for one, text in zip(found, messages, strict=True))


def test_every_step_is_recorded() -> None:
    plan = {"steps": [KILL, {"together": [[KILL], [START, KILL]]}], "rounds": 2}
    lines = [{"step": "named", "ledger": 1}, *[{"step": "kill", "began_ns": 1}] * 7]
    assert list(steps_missing(plan, lines)) == ["record: the plan has 8 steps, 7 are recorded"]
    assert not [*steps_missing(plan, [*lines, lines[-1]]), *steps_missing({}, [])]


def test_every_boot_of_a_bookie_has_its_start() -> None:
    first, third = event(name="started"), event(name="answering", boot=3)
    assert list(boots_incomplete([first, event(), event("writer")], ["b1"], {("b1", 1)})) == []
    rows = [first, event(), third, event(boot=0)]
    assert list(boots_incomplete(rows, ["b1", "b2"], {("b1", 1)})) == [
        "servers: the start of b1 boot 2 is not recorded",
        "servers: the start of b1 boot 3 is not recorded",
        "servers: the start of b2 boot 1 is not recorded",
    ]


def test_every_process_that_was_started_has_its_end() -> None:
    rows = [event(name, name="started", boot=boot) for name in ("b1", "writer") for boot in (1, 2)]
    rows += [event(), event(boot=2), event("writer", boot=2)]
    assert list(boots_incomplete(rows, [], ())) == ["servers: the end of writer boot 1 is not recorded"]


def died(boot: int) -> Row:
    return fault("unplanned", planned_ns=NEVER, proof=json.dumps({"confirmed": {"boot": boot}}))


AFTERMATH = AFTERMATH_S * 10**9


def started(expect: str, began_ns: int = 15, ended_ns: int = 25, **params: Any) -> Row:
    times = {"began_ns": began_ns, "ended_ns": ended_ns}
    return {"step": "start", "params": {"target": "b1", "expect": expect, **params}} | times


AT_ONCE = {"wait": False, "timeout_s": 1}


@pytest.mark.parametrize(
    ("end", "faults", "steps", "explained"),
    [
        (event(**KILLED), [], [], False),
        (event(**KILLED), [fault()], [], True),
        (event(**KILLED), [fault(target="b2")], [], False),
        (event(**KILLED), [fault("power_loss", "b2,b1")], [], True),
        (event(**KILLED), [fault(planned_ns=21)], [], False),
        (event(**KILLED), [fault(healed_ns=20)], [], True),
        (event(**KILLED), [fault(healed_ns=19)], [], False),
        (event(**KILLED), [fault("power_loss", "b2,b1", healed_ns=19)], [], False),
        (event(**KILLED), [fault("kill", "zk1", healed_ns=19)], [], True),  # its session may expire later
        (event(**KILLED), [fault("fill", healed_ns=19)], [], True),  # what it met on the full disk may end it
        (event(**KILLED), [fault("fill", healed_ns=15)], [], False),  # before this boot
        (event(**KILLED, at_ns=19 + AFTERMATH), [fault("fill", healed_ns=19)], [], True),
        (event(**KILLED, at_ns=20 + AFTERMATH), [fault("fill", healed_ns=19)], [], False),
        (event(**KILLED, at_ns=20 + AFTERMATH), [fault("kill", "zk1", healed_ns=19)], [], False),
        (event(**KILLED, at_ns=20 + AFTERMATH), [fault("corrupt", healed_ns=19)], [], True),  # found late
        (event(**KILLED), [fault("kill", "zk1", healed_ns=15)], [], False),
        (event(**KILLED), [fault("wipe_metadata", "zk1")], [], True),
        (event(**KILLED), [died(1)], [], True),
        (event(**KILLED), [died(2)], [], False),
        (event(**KILLED, signalled=True), [fault()], [], True),
        (event(**KILLED, signalled=False), [fault(), fault("fill")], [started("refuses")], False),
        (event(**KILLED, signalled=False), [died(1)], [], True),
        (event(code=1, signal=None), [], [started("refuses")], True),
        (event(code=1, signal=None), [], [started("any")], True),
        (event(code=1, signal=None), [], [started("ready")], False),
        (event(code=1, signal=None), [], [started("any", **AT_ONCE)], True),
        (event(code=1, signal=None, at_ns=26 + 10**9), [], [started("any", **AT_ONCE)], False),
        (event(code=1, signal=None, at_ns=26 + 10**9), [], [started("any", wait=True, timeout_s=1)], True),
        (event(code=1, signal=None), [], [started("refuses", 21)], False),
        (event(code=1, signal=None), [], [started("refuses", 12, 15)], False),  # that was an earlier boot
        (event(code=143, signal=None), [], [], True),
        (event("writer", **IN_ORDER), [], [], True),
        (event("admin", code=1, signal=None), [], [], True),
        (event(at_ns=31, **KILLED), [], [], True),
    ],
)
def test_every_unclean_end_has_its_reason(
    end: Row, faults: list[Row], steps: list[Row], explained: bool
) -> None:
    begun = event(end["server"], 16, name="started")
    over_ns = 30 if end["latest_ns"] <= 31 else end["latest_ns"]
    damage = list(ends_unexplained([begun, event("observer", over_ns, **IN_ORDER), end], faults, steps))
    assert bool(damage) is not explained
    assert all(one.startswith("faults: b1 boot 1 ended with ") for one in damage)


@pytest.mark.parametrize(("ready_ns", "explained"), [(18, False), (21, True)])
def test_a_boot_that_may_refuse_may_not_end_once_it_is_ready(ready_ns: int, explained: bool) -> None:
    rows = [event(at_ns=16, name="started"), event(at_ns=ready_ns, name="answering")]
    rows.append(event(at_ns=20, code=1, signal=None))
    assert (not list(ends_unexplained(rows, [], [started("any")]))) is explained


def file(boot: int, segment: int = 1, client: str = "writer") -> SegmentFile:
    return SegmentFile(client, boot, segment, Path())


def slots(used: int, torn: int, ended: int) -> Segment:
    return Segment(101, 1, used, np.empty(0, dtype=SLOT), torn, ended)


def test_a_start_without_a_time_lets_nothing_refuse() -> None:
    step = {"step": "start", "params": {"target": "b1", "expect": "refuses"}}
    assert list(ends_unexplained([event(name="started"), event(code=1, signal=None)], [], [step]))


def test_a_client_that_ended_in_order_left_no_torn_half() -> None:
    found = {
        file(1): slots(5, 2, 3),
        file(2): slots(5, 1, 4),
        file(1, client="observer"): slots(5, 1, 4),
    }
    rows = [
        event("writer", boot=1, **KILLED),
        event("writer", boot=2, **IN_ORDER),
        event("observer", **IN_ORDER),
    ]
    assert list(histories_cut(found, rows)) == [
        "operations: writer boot 2 exited with 0, and 1 halves of its slots are torn",
        "histories: observer boot 1 exited with 0, and 1 halves of its slots are torn",
    ]


def test_each_boot_of_a_client_that_answered_has_a_history() -> None:
    """Without it the entries that a killed client had been promised would just not be there."""
    rows = [event(name, name="answering", boot=boot) for name in ("writer", "zk1") for boot in (1, 2)]
    damage = list(histories_missing([file(1)], rows, {"writer": 1, "observer": 9}))
    assert damage == ["operations: no history of writer, boot 2"]
    assert list(histories_missing([file(1), file(2)], rows, {"writer": 1})) == []


def test_a_client_reported_no_more_slots_than_its_files_hold() -> None:
    found = {file(1): slots(65_536, 0, 65_536), file(1, 2): slots(4, 0, 4), file(2): slots(7, 0, 7)}
    rows = [event("writer", name="recorded", boot=boot, slots=slots) for boot, slots in ((1, 65_540), (2, 9))]
    assert list(histories_cut(found, rows)) == [
        "operations: writer boot 2 reported 9 slots at its end, its files hold 7"
    ]
    assert list(histories_cut(found, [])) == []


def test_each_client_that_exited_with_0_has_its_report_where_one_has() -> None:
    found = {file(1): slots(7, 0, 7), file(2): slots(7, 0, 7), file(3): slots(7, 0, 7)}
    ends = [event("writer", boot=1, **IN_ORDER), event("writer", boot=2, **IN_ORDER)]
    rows = [*ends, event("writer", boot=3, **KILLED), event("idle", **IN_ORDER)]
    report = event("writer", name="recorded", boot=2, slots=7)
    assert list(histories_cut(found, [*rows, report])) == [
        "operations: writer boot 1 exited with 0, and what it reported at its end is not recorded"
    ]
    assert list(histories_cut(found, rows)) == []


def test_each_boot_of_a_bookie_has_its_settings_where_one_has() -> None:
    boots = [
        event(server, name=name, boot=boot)
        for server in ("b1", "zk1")
        for boot in (1, 2)
        for name in ("started", "exit")
    ]
    logs = {("b1", 1), ("b1", 2)}
    assert list(boots_incomplete([*boots, event(name="configured", boot=2)], ["b1"], logs)) == [
        "servers: the settings of b1 boot 1 are not recorded"
    ]
    assert list(boots_incomplete(boots, ["b1"], logs)) == []


def test_a_report_without_a_number_of_slots_is_damage() -> None:
    damage = histories_cut({file(1): slots(7, 0, 7)}, [event("writer", name="recorded", slot=7)])
    assert list(damage) == ["operations: writer boot 1 reported None slots at its end, its files hold 7"]


@pytest.mark.parametrize(("reported", "cut"), [({}, False), ({"ended": 11}, False), ({"ended": 12}, True)])
def test_a_client_stored_no_fewer_outcomes_than_it_reported(reported: Row, cut: bool) -> None:
    """A client may end with adds in flight; only its own number shows which outcomes there were."""
    found = {file(1): slots(8, 0, 6), file(1, 2): slots(5, 0, 5)}
    damage = list(histories_cut(found, [event("writer", name="recorded", slots=13, **reported)]))
    assert damage == ["operations: writer boot 1 reported 12 outcomes at its end, its files hold 11"] * cut


@pytest.mark.parametrize("repeated", [0, 2])
def test_what_a_client_was_told_after_an_end_is_missing(repeated: int) -> None:
    """A second callback of one add, for one: what it said is in no file."""
    row = event("writer", name="recorded", slots=8, ended=6, repeated=repeated)
    told = f"was told {repeated} more ends of operations that had ended, and they are not recorded"
    damage = [f"operations: writer boot 1 {told}"] * bool(repeated)
    assert list(histories_cut({file(1): slots(8, 0, 6)}, [row])) == damage


def test_each_boot_of_a_bookie_and_of_autorecovery_has_a_log() -> None:
    names = ("b1", "ar1", "zk1", "writer")
    rows = [
        event(server, name=name, boot=boot)
        for server in names
        for boot in (1, 2)
        for name in ("started", "exit")
    ]
    damage = boots_incomplete([*rows, event("b2")], ["b1", "b2"], {("b1", 2), ("ar1", 1)})
    assert list(damage) == [
        "servers: the start of b2 boot 1 is not recorded",
        "servers: the log of b1 boot 1 is missing",
        "servers: the log of ar1 boot 2 is missing",
    ]


AGAIN = event(name="started", boot=2, at_ns=30)


def spoils(kind: str, *, healed_ns: int = NEVER, target: str = "b1") -> Row:
    return fault(kind, target, planned_ns=5, injected_ns=6, healed_ns=healed_ns)


@pytest.mark.parametrize(
    ("rows", "faults", "copied", "missing"),
    [
        ([event(**KILLED), AGAIN], [], {}, True),
        ([event(**KILLED), AGAIN], [], {("b1", 2): []}, True),
        ([event(**KILLED), AGAIN], [], {("b1", 1): []}, False),
        ([event(code=1, signal=None), AGAIN], [], {}, True),
        ([event(**KILLED)], [], {}, False),
        ([event(**IN_ORDER), AGAIN], [], {}, False),
        ([event("ar1", **KILLED), event("ar1", name="started", boot=2)], [], {}, False),
        ([event(**KILLED), AGAIN], [spoils("read_only")], {}, False),
        ([event(**KILLED), AGAIN], [spoils("read_only", healed_ns=29)], {}, True),
        ([event(**KILLED), AGAIN], [spoils("read_only", target="b2")], {}, True),
        ([event(**KILLED), AGAIN], [spoils("power_loss")], {}, True),
    ],
)
def test_a_bookie_that_died_and_was_started_again_has_a_copy_of_its_disk(
    rows: list[Row], faults: list[Row], copied: dict[tuple[str, int], list[str]], missing: bool
) -> None:
    damage = list(copies_missing(rows, faults, {"b1": 1, "b2": 2}, copied))
    assert damage == ["holdings: the copy of the disk of b1 boot 1 is missing"] * missing


def test_a_copy_of_a_disk_has_the_files_that_it_lists() -> None:
    damage = copies_missing([], [], {"b1": 1}, {("b1", 1): ["ledgers/lastMark"], ("b1", 2): []})
    assert list(damage) == ["holdings: b1-1: ledgers/lastMark is missing"]
