"""What a bookie must still have in a later boot, over lists of rows: a part of the twin of ``answers``."""

from __future__ import annotations

import json

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Flag, Kind, Message, Status
from tests.histories.rows import Row, boots, operations, proven
from tests.histories.story import Fact


def only_stopped(numbers: range, row: Row, run: RunFacts, *, durable: bool = False) -> bool:
    """Whether these boots of a bookie were shut down cleanly, and nothing else ever happened to it.

    With ``durable`` they may have crashed, if what the bookie acknowledges is not lost by that.
    """
    [name] = [name for name, bookie in run.bookies.items() if bookie == row["bookie"]]
    known = boots(run, row["bookie"])
    if row["boot"] not in known or not all(number in known and "exit" in known[number] for number in numbers):
        return False
    ends = {number: json.loads(known[number]["exit"]["detail"]) for number in numbers}
    clean = all(
        (ends[number].get("signal") in (None, 15) and ends[number].get("code") in (None, 0, 143))
        or (durable and run.least_loss.get(name, 0) > taken_by(known[number + 1], name, run))
        for number in numbers
    )
    journals = durable and run.least_loss.get(name, 0) > 1
    return clean and not harmed(row, run, spared=("pause", "slow_disk", "fill", "file_limit") * journals)


def taken_by(boot: Row, name: str, run: RunFacts) -> int:
    """What a boot's bookie may have lost when it began: 2 what was not synced, 1 its memory."""
    unpowered = any(
        fault["kind"] == "power_loss"
        and json.loads(fault["params"]).get("level") != "process"
        and fault["planned_ns"] <= boot["started"]["earliest_ns"]
        for fault in run.faults
        if name in fault["target"].split(",")
    )
    return 2 if unpowered else 1


def harmed(row: Row, run: RunFacts, spared: tuple[str, ...] = ()) -> bool:
    """Whether a fault met the bookie, before its answer was received, that may have changed what it has.

    Or the plan started it with other settings. ``spared`` are kinds of faults that do not matter.
    """
    name = run.bookie_name(row["bookie"])
    return name in run.changed or any(
        fault["injected_ns"] != NEVER
        and fault["planned_ns"] <= row["received_ns"]
        and fault["kind"] not in spared
        and fault["kind"]
        not in ("kill", "stop", "power_loss", "isolate", "expire", "disconnect", "blackhole")
        and name in fault["target"].split(",")
        for fault in run.faults
    )


def synced(history: list[Fact], ack: Row) -> bool:
    """Whether what a bookie acknowledged so was synced then, or by a force that it confirmed."""
    adds = (one for one in operations(history, Kind.ADD) if one["flags"] & Flag.DEFERRED_SYNC)
    deferred = (ack["ledger"], ack["entry"]) in {(one["ledger"], one["entry"]) for one in adds}
    return not deferred or any(
        row["kind"] == Message.FORCE
        and row["status"] == Status.EOK
        and all(row[name] == ack[name] for name in ("ledger", "bookie", "boot"))
        and ack["received_ns"] < row["asked_ns"]
        for row in proven(history)
    )


def wiped_since(since_ns: int, row: Row, run: RunFacts) -> bool:
    exit_ns = boots(run, row["bookie"])[row["boot"]].get("exit", {}).get("latest_ns", NEVER)
    return any(
        fault["kind"] in ("wipe", "corrupt")
        and run.bookies[fault["target"]] == row["bookie"]
        and fault["injected_ns"] <= exit_ns
        and fault["healed_ns"] >= since_ns
        for fault in run.faults
    )
