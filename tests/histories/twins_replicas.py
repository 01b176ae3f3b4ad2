"""``replicas`` once more, in obvious lines over lists; shares nothing with the checker but the facts."""

from __future__ import annotations

import json
from typing import Any

from evidence.codes import Flag, Holding, Kind, Outcome

AT_ONCE = ("kill", "wipe")
TELLING = (Kind.ADD, Kind.OPEN, Kind.READ, Kind.LAC, Kind.FORCE)
Things = frozenset[tuple[str, int, int]]


def replicas(history: list[Any], run: Any) -> tuple[Things, str]:
    """(kind, ledger, entry) of all that convicts, and the verdict."""
    census = [row for table, row in history if table == "census"]
    numbers = sorted({row["pass_number"] for row in census})[-2:]
    refused = "unknown" if "replicas" in run.required else "not judged"
    if run.damage or not run.complete or len(numbers) < 2:
        return frozenset(), refused
    mine = [row for row in census if row["pass_number"] == numbers[0]]
    began, ended = min(row["asked_ns"] for row in mine), max(row["answered_ns"] for row in mine)
    if not _quiet(run, began):
        return frozenset(), refused
    things, entries, doubts = set(), 0, 0
    for ledger in sorted({row["ledger"] for table, row in history if table == "ledgers"}):
        chain = _chain(history, ledger)
        possible = _possible(chain, began, ended)
        if not possible or _deleted(history, ledger):
            continue
        last = min(
            version["last_entry"] if version["state"] == 3 else _lac(history, ledger) for version in possible
        )
        gap = [version["version"] for version in chain] != list(range(len(chain)))
        doubts += gap
        for entry in range(last + 1):
            entries += 1
            owing = set.intersection(*(_write_set(version, entry) for version in possible))
            answers = {bookie: _answers(mine, ledger, entry, run.bookies.get(bookie, -1)) for bookie in owing}
            having = {bookie for bookie, rows in answers.items() if _says(rows, Holding.PRESENT)}
            negative = {
                bookie
                for bookie, rows in answers.items()
                if _says(rows, Holding.ABSENT) or _says(rows, Holding.DAMAGED)
            }
            lacking, unsure = negative - having, owing - having - negative
            if gap:
                continue
            doubts += len(unsure)
            if lacking:
                somewhere = any(
                    (row["ledger"], row["entry"], row["holding"]) == (ledger, entry, Holding.PRESENT)
                    for row in mine
                )
                things.add(("under_replicated" if somewhere or unsure else "hole", ledger, entry))
            kinds = {
                (row["origin"], row["size_bytes"])
                for bookie in having
                for row in answers[bookie]
                if row["holding"] == Holding.PRESENT
            }
            if len(kinds) > 1:
                things.add(("differing", ledger, entry))
    if things:
        return frozenset(things), "anomaly"
    return frozenset(), "valid" if entries and not doubts else "unknown"


def _chain(history: list[Any], ledger: int) -> list[Any]:
    found = {
        json.dumps(row, sort_keys=True): row
        for table, row in history
        if table == "ledgers" and row["ledger"] == ledger and row["state"]
    }
    return sorted(found.values(), key=lambda row: row["version"])


def _possible(chain: list[Any], began: int, ended: int) -> list[Any]:
    while any(version["latest_ns"] < began for version in chain[1:]):
        chain = chain[1:]
    return [version for version in chain if version["earliest_ns"] <= ended]


def _deleted(history: list[Any], ledger: int) -> bool:
    return any(
        (table == "ledgers" and not row["state"])
        or (table == "operations" and row["kind"] == Kind.DELETE and row["outcome"] != Outcome.FAIL)
        for table, row in history
        if row["ledger"] == ledger
    )


def _lac(history: list[Any], ledger: int) -> int:
    told = [
        row["lac"]
        for table, row in history
        if table == "operations"
        and row["ledger"] == ledger
        and row["kind"] in TELLING
        and row["outcome"] == Outcome.OK
        and not row["flags"] & Flag.FINAL
    ]
    return max(told, default=-1)


def _write_set(version: Any, entry: int) -> set[str]:
    fragment = [one for one in version["fragments"] if one["first_entry"] <= entry][-1]
    names = [name.split(":")[0] for name in fragment["bookies"]]
    return {names[(entry + at) % version["ensemble"]] for at in range(version["write_quorum"])}


def _answers(rows: list[Any], ledger: int, entry: int, bookie: int) -> list[Any]:
    return [row for row in rows if (row["ledger"], row["entry"], row["bookie"]) == (ledger, entry, bookie)]


def _says(rows: list[Any], holding: Holding) -> bool:
    return any(row["holding"] == holding for row in rows)


def _quiet(run: Any, began: int) -> bool:
    rows = [row for row in run.servers if row["earliest_ns"] < began]
    if not any(row["event"] == "auditor_elected" for row in rows):
        return False
    order = sorted(rows, key=lambda row: int(json.loads(row["detail"]).get("zxid", "0"), 16))
    switches = [row["event"] for row in order if row["event"] in ("repair_disabled", "repair_enabled")]
    if switches and switches[-1] == "repair_disabled":
        return False
    last = {}
    for row in order:
        if row["event"] in ("ledger_marked", "ledger_unmarked"):
            last[json.loads(row["detail"])["ledgerId"]] = row
    if any(row["event"] == "ledger_marked" or row["latest_ns"] >= began for row in last.values()):
        return False
    changes = [row["latest_ns"] for row in rows if row["event"] == "exit"]
    for fault in run.faults:
        if fault["injected_ns"] < began:
            changes.append(fault["confirmed_ns"] if fault["kind"] in AT_ONCE else fault["healed_ns"])
    starts = sorted(row["earliest_ns"] for row in rows if row["event"] == "audit_started")
    ends = sorted(row["latest_ns"] for row in rows if row["event"] == "audit_ended")
    # Audits of one auditor do not overlap: the n-th end is that of the n-th beginning.
    return any(
        start > max(changes, default=-1) and end < began for start, end in zip(starts, ends, strict=False)
    )
