"""``evidence`` once more, in obvious lines over lists; shares nothing with the checker but the facts."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from evidence.codes import NEVER, Flag, Holding, Kind, Outcome
from tests.histories.twins import TwinResult

OF_THE_WIRE_OR_DISKS = ("frames", "holdings")


def evidence(history: list[Any], run: Any) -> TwinResult:
    """No anomaly, ever; the verdict."""
    done = [row for table, row in history if table == "operations" and row["outcome"] == Outcome.OK]
    asked = [row for table, row in history if table == "census"]
    opens = [row["invoked_ns"] for row in done if row["kind"] == Kind.OPEN and row["flags"] & Flag.FINAL]
    answers = [row["answered_ns"] for row in asked if row["holding"] != Holding.UNKNOWN]
    enough = any(row["kind"] == Kind.ADD for row in done) and opens and answers and max(answers) >= min(opens)
    enough = enough and not _without_census(history, done)
    spoiled = [what for what in run.damage if what.split(":")[0].split("/")[0] not in OF_THE_WIRE_OR_DISKS]
    whole = run.complete and not spoiled and not any(_doubtful(fault) for fault in run.faults)
    injected = [one for one in run.faults if one["kind"] != "unplanned" and one["injected_ns"] != NEVER]
    whole = whole and (not injected or not all(_met_nothing(fault) for fault in injected))
    return Counter(), "valid" if enough and whole else "unknown"


def _without_census(history: list[Any], done: list[Any]) -> bool:
    """Whether a ledger that was read at the end, and was kept, had no answer after its first final open."""
    gone = set()
    for table, row in history:
        if table == "operations" and row["kind"] == Kind.DELETE and row["outcome"] != Outcome.FAIL:
            gone.add(row["ledger"])
        own = [other for name, other in history if (name, other["ledger"]) == ("ledgers", row["ledger"])]
        if table == "ledgers" and row["state"] == 0 and row["zxid"] == max(one["zxid"] for one in own):
            gone.add(row["ledger"])
    finals = [row for row in done if row["flags"] & Flag.FINAL and row["ledger"] not in gone]
    for ledger in {row["ledger"] for row in finals if row["kind"] == Kind.ENTRY and row["entry"] >= 0}:
        opens = [r["invoked_ns"] for r in finals if (r["kind"], r["ledger"]) == (Kind.OPEN, ledger)]
        answers = [
            row["answered_ns"]
            for table, row in history
            if table == "census" and row["ledger"] == ledger and row["holding"] != Holding.UNKNOWN
        ]
        if max(answers, default=-1) < min(opens, default=0):
            return True
    return False


def _doubtful(fault: Any) -> bool:
    """A blind recorder, or a fault of which it is unknown whether it took effect, or whether it ended."""
    if fault["kind"] == "unplanned":
        return fault["target"] in ("proxy", "observer")
    if fault["injected_ns"] == NEVER:
        return False
    may_idle = json.loads(fault["params"] or "{}").get("may_idle")
    return (fault["confirmed_ns"] == NEVER and not may_idle) or (
        fault["confirmed_ns"] != NEVER and fault["healed_ns"] == NEVER
    )


def _met_nothing(fault: Any) -> bool:
    """Whether the proof of its healing counts something, and nothing was met."""
    healed = json.loads(fault["proof"] or "{}").get("healed") or {}
    counts = ("passed_bytes", "noticed", *(("acted",) if "links" in healed else ()))
    return any(healed.get(name) == 0 for name in counts) and not healed.get("killed")
