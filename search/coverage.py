"""What runs really exercised, counted from their evidence and never from their plans.

A fault counts when it was confirmed, a pair when both were in force at one time, a state when the
metadata had it, a recovery path when an answer on the wire or a bookie's log shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations

import pyarrow as pa
from rich.table import Table

from evidence.codes import NEVER, Direction, Message, Outcome, Status
from evidence.codes import Kind as Operation
from evidence.folder import RunFolder
from evidence.schemas import FaultRow, LedgerRow, ServerRow
from protocol.addresses import ZOOKEEPER, is_autorecovery, is_bookie
from protocol.metadata import LedgerState
from reports.explain.rows import Tables

_MOST_ROWS = 40
FAULTS, PAIRS, STATES, PATHS = "faults", "overlapping faults", "ledger states", "recovery paths"
_LOGGED: Mapping[str, str] = {
    "unclean_shutdown": "a bookie found that it had died",
    "mark_limbo": "a bookie put its ledgers into limbo",
    "recover_limbo_ledger": "a bookie repaired a ledger in limbo",
    "full_check_end": "a bookie completed its full check",
    "clear_integcheck_flag": "a bookie's check was done with",
}
_ANSWERED: Mapping[int, str] = {
    Status.EOK: "with the entry",
    Status.ENOENTRY: "no such entry",
    Status.ENOLEDGER: "no such ledger",
    Status.EUNKNOWNLEDGERSTATE: "unknown (limbo)",
    Status.EFENCED: "fenced",
}


@dataclass
class Coverage:
    """Category -> name -> (number of runs that used it, number of uses)."""

    runs: int = 0
    seen: dict[str, dict[str, tuple[int, int]]] = field(
        default_factory=lambda: {FAULTS: {}, PAIRS: {}, STATES: {}, PATHS: {}}
    )

    def add(self, found: Mapping[str, Mapping[str, int]]) -> None:
        """Count what one run used."""
        self.runs += 1
        for category, counts in found.items():
            into = self.seen[category]
            for name, times in counts.items():
                runs, before = into.get(name, (0, 0))
                into[name] = (runs + 1, before + times)


def exercised(folder: RunFolder) -> dict[str, Counter[str]]:
    """What one run exercised, by category; ``EvidenceError`` for a run without tables."""
    tables = Tables(folder)
    intervals = list(_intervals(tables.rows(FaultRow)))
    logged = Counter(_LOGGED[row["event"]] for row in tables.rows(ServerRow) if row["event"] in _LOGGED)
    return {
        FAULTS: Counter(name for name, _, _ in intervals),
        PAIRS: _pairs(intervals),
        STATES: _states(tables.rows(LedgerRow)),
        PATHS: logged + _answers(tables.table("frames")) + _opens(tables),
    }


def _intervals(faults: Iterable[FaultRow]) -> Iterator[tuple[str, int, int]]:
    """Each confirmed fault with the time when it was in force."""
    for fault in faults:
        if fault["confirmed_ns"] != NEVER and fault["fault"] > 0:
            yield f"{fault['kind']} {whom(fault['target'])}", fault["injected_ns"], fault["healed_ns"]


def whom(target: str) -> str:
    """A target's class: ``bookie``, ``client-bookie``, ``bookies`` for several."""
    if "," in target:
        return "bookies"
    return "-".join(_class(part) for part in target.split("-"))


def _class(name: str) -> str:
    if is_bookie(name):
        return "bookie"
    if is_autorecovery(name):
        return "autorecovery"
    return "zookeeper" if name == ZOOKEEPER else "client"


def _pairs(intervals: list[tuple[str, int, int]]) -> Counter[str]:
    pairs: Counter[str] = Counter()
    for (one, from_one, to_one), (other, from_other, to_other) in combinations(intervals, 2):
        if from_one < to_other and from_other < to_one:
            pairs[" + ".join(sorted((one, other)))] += 1
    return pairs


def _states(versions: Iterable[LedgerRow]) -> Counter[str]:
    ledgers: dict[int, list[LedgerRow]] = {}
    for version in versions:
        ledgers.setdefault(version["ledger"], []).append(version)
    counts: Counter[str] = Counter()
    for history in ledgers.values():
        history.sort(key=lambda version: version["version"])
        counts.update(set(_lived(history)))
    return counts


def _lived(history: list[LedgerRow]) -> Iterator[str]:
    """What one ledger went through."""
    states = [version["state"] for version in history]
    if LedgerState.OPEN in states:
        yield "open"
    if LedgerState.IN_RECOVERY in states:
        yield "in recovery"
    if 0 in states:
        yield "deleted"
    for version in history:
        if version["state"] == LedgerState.CLOSED:
            by = "recovery" if LedgerState.IN_RECOVERY in states else "its writer"
            yield f"closed by {by}"
            yield from ["closed as empty"] if version["last_entry"] < 0 else []
        if len(version["fragments"]) > 1:
            yield "with another ensemble from some entry on"


def _answers(frames: pa.Table) -> Counter[str]:
    """Answers to recovery's requests, by what they said."""
    counts: Counter[str] = Counter()
    for row in _grouped(frames, "kind", "way", "status"):
        name = _answer(row["kind"], row["status"]) if row["way"] == Direction.ANSWER else None
        if name is not None:
            counts[name] += row["count_all"]
    return counts


def _grouped(table: pa.Table, *keys: str) -> list[dict[str, int]]:
    """These columns of the rows, each combination once, with its number as ``count_all``."""
    rows: list[dict[str, int]] = table.select(keys).group_by(keys).aggregate([([], "count_all")]).to_pylist()
    return rows


def _answer(kind: int, status: int) -> str | None:
    if kind == Message.RECOVERY_ADD and status == Status.EOK:
        return "recovery wrote an entry back"
    if kind == Message.ADD and status == Status.EFENCED:
        return "a writer got the answer that its ledger is fenced"
    answer = _ANSWERED.get(status)
    if kind == Message.RECOVERY_READ and answer is not None:
        return f"recovery read answered {answer}"
    if kind == Message.FENCING_LAC_READ and answer is not None:
        return f"fence answered {'ok' if status == Status.EOK else answer}"
    return None


def _opens(tables: Tables) -> Counter[str]:
    """How opens with recovery and closes ended, by clients other than the observer too."""
    counts: Counter[str] = Counter()
    for row in _grouped(tables.table("operations"), "kind", "outcome", "flags"):
        if row["kind"] == Operation.OPEN and row["flags"] & 2:
            ended = "succeeded" if row["outcome"] == Outcome.OK else "did not succeed"
            counts[f"an open with recovery {ended}"] += row["count_all"]
    return counts


def coverage_tables(coverage: Coverage) -> Iterator[Table]:
    """A table for each category, the most exercised first."""
    for category, names in coverage.seen.items():
        table = Table(
            title=f"{category}: {len(names) or 'none'}",
            title_justify="left",
            box=None,
            show_header=bool(names),
        )
        table.add_column("exercised")
        table.add_column("runs", justify="right")
        table.add_column("times", justify="right")
        ordered = sorted(names.items(), key=lambda item: (-item[1][0], -item[1][1], item[0]))
        for name, (runs, times) in ordered[:_MOST_ROWS]:
            table.add_row(name, f"{runs} of {coverage.runs}", f"{times:,}")
        if len(ordered) > _MOST_ROWS:
            table.add_row(f"... and {len(ordered) - _MOST_ROWS} more (--json has all)", "", "")
        yield table
