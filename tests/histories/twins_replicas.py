"""``replicas`` once more, in obvious lines over lists; shares nothing with the checker."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

from evidence.codes import Flag, Holding
from tests.histories.rows import has, rows, write_set
from tests.histories.twins import (
    TwinResult,
    has_no_metadata,
    received_lac,
    reports_lac,
    was_put_back,
    was_released,
)
from tests.histories.twins_fencing import lived, lost_state

AT_ONCE = ("kill", "wipe")
CHANGES = ("started", "exit", "znode_created", "znode_gone", "repair_disabled", "repair_enabled")
CHANGES += ("readonly_created", "readonly_gone")


def replicas(history: list[Any], run: Any) -> TwinResult:
    census = [row for table, row in history if table == "census"]
    numbers = sorted({row["pass_number"] for row in census})[-2:]
    refused = "unknown" if "replicas" in run.required else "not judged"
    if not numbers:
        return Counter(), refused
    mine = [row for row in census if row["pass_number"] == numbers[0]]
    began, ended = min(row["asked_ns"] for row in mine), max(row["answered_ns"] for row in mine)
    quiet = _quiet(run, began)
    if run.damage or not run.complete or len(numbers) < 2:
        return Counter(), "unknown" if quiet else refused
    things, unending, entries, doubts = set(), set(), 0, 0
    for ledger in sorted({row["ledger"] for table, row in history if table == "ledgers"}):
        chain = _chain(history, ledger)
        possible = _possible(chain, began, ended)
        if not possible or was_released(history, ledger) or has_no_metadata(history, ledger):
            continue
        last = min(
            version["last_entry"] if version["state"] == 3 else _lac(history, ledger) for version in possible
        )
        gap = _has_gap(chain)
        doubts += gap
        whole = not gap and not was_put_back(history, ledger)
        without: set[str] = set()
        for entry in range(last + 1):
            entries += 1
            owing = set.intersection(*(write_set(version, entry) for version in possible))
            answers = {bookie: _answers(mine, ledger, entry, run.bookies.get(bookie, -1)) for bookie in owing}
            having = {bookie for bookie, rows in answers.items() if _any_is(rows, Holding.PRESENT)}
            negative = {
                bookie
                for bookie, rows in answers.items()
                if _any_is(rows, Holding.ABSENT) or _any_is(rows, Holding.DAMAGED)
            }
            lacking, unsure = negative - having, owing - having - negative
            without |= lacking | unsure
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
        if whole and len(possible) == 1 and _never_repaired(chain, run, began, possible[0], without):
            unending.add(("never_repaired", ledger, -1))
        if not quiet and whole:
            unending |= {
                ("not_copied", *one) for one in _not_copied(chain, possible, run, mine, (began, ended))
            }
        if whole and _not_marked(history, chain, run, began):
            unending.add(("not_marked", ledger, -1))
        if whole and _unmarked_unrepaired(history, chain, run, began):
            unending.add(("unmarked_unrepaired", ledger, -1))
    if not quiet:
        return Counter(unending), "anomaly" if unending else refused
    things |= unending
    if things:
        return Counter(things), "anomaly"
    return Counter(), "valid" if entries and not doubts else "unknown"


def _chain(history: list[Any], ledger: int) -> list[Any]:
    found = {
        json.dumps(row, sort_keys=True): row
        for table, row in history
        if table == "ledgers" and row["ledger"] == ledger and row["state"]
    }
    return sorted(found.values(), key=lambda row: (row["zxid"], row["version"]))


def _has_gap(chain: list[Any]) -> bool:
    """Whether the number of a version is not the one after that before it, or, put back, any at all."""
    due = 0
    for row in chain:
        if row["version"] != due and not row["put_back"]:
            return True
        due = row["version"] + 1
    return False


def _possible(chain: list[Any], began: int, ended: int) -> list[Any]:
    while any(version["latest_ns"] < began for version in chain[1:]):
        chain = chain[1:]
    return [version for version in chain if version["earliest_ns"] <= ended]


def _lac(history: list[Any], ledger: int) -> int:
    results = [row for row in rows(history, "operations") if row["ledger"] == ledger and reports_lac(row)]
    return max((received_lac(row) for row in results if not has(row, Flag.FINAL)), default=-1)


def _answers(rows: list[Any], ledger: int, entry: int, bookie: int) -> list[Any]:
    return [row for row in rows if (row["ledger"], row["entry"], row["bookie"]) == (ledger, entry, bookie)]


def _any_is(rows: list[Any], holding: Holding) -> bool:
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
    return any(start > max(changes, default=-1) for start, _ in _audits(rows, began))


def _not_copied(
    chain: list[Any], possible: list[Any], run: Any, census: list[Any], during: tuple[int, int]
) -> set[tuple[int, int]]:
    """(ledger, entry) that a bookie put in another's place by a repair lacks."""
    found: set[tuple[int, int]] = set()
    if not any(row["event"] == "auditor_elected" and row["earliest_ns"] < during[0] for row in run.servers):
        return found
    last = possible[-1]["last_entry"] if possible[-1]["state"] == 3 else 9
    for entry in range(last + 1):
        owing = set.intersection(*(write_set(version, entry) for version in possible))
        answers = {name: _answers(census, chain[0]["ledger"], entry, run.bookies[name]) for name in owing}
        having = {name for name, rows in answers.items() if _any_is(rows, Holding.PRESENT)}
        for before, after in pairwise(chain):
            old, new = (_fragment(version, entry) for version in (before, after))
            is_last = old["first_entry"] == before["fragments"][-1]["first_entry"]
            if old["first_entry"] != new["first_entry"] or (is_last and before["state"] != 3):
                continue
            for bookie in {one.split(":")[0] for one in set(new["bookies"]) - set(old["bookies"])} & owing:
                no = _any_is(answers[bookie], Holding.ABSENT) and not _any_is(
                    answers[bookie], Holding.DAMAGED
                )
                lossy = lost_state(run, run.bookies[bookie], during[1])
                if no and having and bookie not in having and not lossy:
                    found.add((chain[0]["ledger"], entry))
    return found


def _not_marked(history: list[Any], chain: list[Any], run: Any, by: int) -> bool:
    """Whether five audits in a row passed over a ledger of a bookie that was gone, while nothing changed."""
    ledger = chain[0]["ledger"]
    rows = [row for row in run.servers if row["earliest_ns"] < by]
    changes = _changes(run)
    marks = _marks(rows, ledger)
    audits = _audits(rows, by)
    for name in run.bookies:
        results = [row for row in run.servers if row["server"] == name]
        for at, (start, _) in enumerate(audits):
            last = {
                row["event"]: row["latest_ns"]
                for row in sorted(results, key=_time)
                if row["latest_ns"] < start
            }
            if last.get("exit", -1) <= last.get("started", -1) or last.get("znode_gone", -1) <= last.get(
                "znode_created", -1
            ):
                continue
            if last.get("readonly_gone", -1) < last.get("readonly_created", -1):
                continue
            for end in (end for _, end in audits[at + 4 :]):
                calm = not any(one <= end and over >= start for one, over in changes)
                possible = _possible(chain, start, end)
                named = all(
                    any(
                        one["first_entry"] <= _last_due(history, possible, ledger)
                        and name in [bookie.split(":")[0] for bookie in one["bookies"]]
                        for one in version["fragments"]
                    )
                    for version in possible
                )
                known = possible and possible[0]["latest_ns"] < start
                marked = any(made <= end and gone >= start for made, gone in marks)
                if calm and known and named and not marked:
                    return True
    return False


def _marks(rows: list[Any], ledger: int) -> list[tuple[int, int]]:
    """From when to when the ledger may have been marked."""
    mine = [row for row in rows if row["event"] in ("ledger_marked", "ledger_unmarked")]
    mine = [row for row in mine if json.loads(row["detail"])["ledgerId"] == ledger]
    mine.sort(key=lambda row: int(json.loads(row["detail"])["zxid"], 16))
    found = []
    for at, row in enumerate(mine):
        if row["event"] == "ledger_marked":
            gone = [later["latest_ns"] for later in mine[at + 1 :] if later["event"] == "ledger_unmarked"]
            found.append((row["earliest_ns"], gone[0] if gone else 2**63))
    return found


def _unmarked_unrepaired(history: list[Any], chain: list[Any], run: Any, by: int) -> bool:
    """Whether a mark went while a bookie that it names was gone and still named by the metadata."""
    ledger = chain[0]["ledger"]
    rows = [row for row in run.servers if row["earliest_ns"] < by and row["event"].startswith("ledger_")]
    rows = [row for row in rows if json.loads(row["detail"])["ledgerId"] == ledger]
    rows.sort(key=lambda row: int(json.loads(row["detail"])["zxid"], 16))
    for made, gone in pairwise(rows):
        if (made["event"], gone["event"]) != ("ledger_marked", "ledger_unmarked"):
            continue
        for name in json.loads(made["detail"])["missing"]:
            results = sorted((row for row in run.servers if row["server"] == name), key=_time)
            last = {
                row["event"]: row["latest_ns"] for row in results if row["latest_ns"] <= made["earliest_ns"]
            }
            away = last.get("exit", -1) > last.get("started", -1)
            away &= last.get("znode_gone", -1) > last.get("znode_created", -1)
            away &= last.get("readonly_gone", -1) >= last.get("readonly_created", -1)
            back = any(
                row["event"] in ("started", "znode_created", "readonly_created")
                and row["latest_ns"] >= made["earliest_ns"]
                and row["earliest_ns"] <= gone["latest_ns"]
                for row in results
            )
            possible = _possible(chain, gone["earliest_ns"], gone["latest_ns"])
            due = _last_due(history, chain[-1:], ledger)
            named = all(
                any(
                    one["first_entry"] <= due and name in [bookie.split(":")[0] for bookie in one["bookies"]]
                    for one in version["fragments"]
                )
                for version in possible
            )
            if away and not back and possible and named:
                return True
    return False


def _read_only(run: Any, at: int) -> set[str]:
    """The bookies that were registered as read-only while nothing changed."""
    last = {}
    for row in sorted(run.servers, key=_time):
        if row["event"] in ("readonly_created", "readonly_gone") and row["latest_ns"] < at:
            last[row["server"]] = row["event"]
    return {name for name, event in last.items() if event == "readonly_created"}


def _time(row: Any) -> tuple[int, int]:
    return row["latest_ns"], row["earliest_ns"]


def _last_due(history: list[Any], possible: list[Any], ledger: int) -> int:
    lac = _lac(history, ledger)
    return min((one["last_entry"] if one["state"] == 3 else lac for one in possible), default=-1)


def _changes(run: Any) -> list[tuple[int, int]]:
    """When servers, repair or faults changed something."""
    changes = [(row["earliest_ns"], row["latest_ns"]) for row in run.servers if row["event"] in CHANGES]
    for fault in run.faults:
        over = "confirmed_ns" if fault["kind"] in AT_ONCE else "healed_ns"
        changes.append((fault["injected_ns"], fault[over]))
    return changes


def _audits(rows: list[Any], by: int) -> list[tuple[int, int]]:
    """Audits that surely ended before: those of one auditor do not overlap."""
    starts = sorted(row["earliest_ns"] for row in rows if row["event"] == "audit_started")
    ends = sorted(row["latest_ns"] for row in rows if row["event"] == "audit_ended")
    return [(start, end) for start, end in zip(starts, ends, strict=False) if end < by]


def _fragment(version: Any, entry: int) -> Any:
    return [one for one in version["fragments"] if one["first_entry"] <= entry][-1]


def _never_repaired(chain: list[Any], run: Any, began: int, version: Any, without: set[str]) -> bool:
    """Whether five tries in a row failed while nothing changed and repair had all that it needs."""
    changes = _changes(run) + [(one["earliest_ns"], one["latest_ns"]) for one in chain]
    rows: list[list[tuple[int, int]]] = []
    missing, locked, tries = None, None, []
    for row in sorted(run.servers, key=lambda row: int(json.loads(row["detail"]).get("zxid", "0"), 16)):
        detail = json.loads(row["detail"])
        if detail.get("ledgerId") != version["ledger"] or row["latest_ns"] >= began:
            continue
        if row["event"] in ("ledger_marked", "ledger_unmarked"):
            missing, tries = detail.get("missing") if row["event"] == "ledger_marked" else None, []
        elif row["event"] == "repair_locked":
            locked = row["earliest_ns"]
        elif row["event"] == "repair_unlocked" and locked is not None and missing is not None:
            tries = [*tries, (locked, row["latest_ns"])]
            rows += [tries[at:] for at in range(len(tries))]
            locked, gone = None, set(missing)
    calm = [
        row
        for row in rows
        if len(row) >= 5 and not any(at <= row[-1][1] and over >= row[0][0] for at, over in changes)
    ]
    if not calm or run.racks:
        return False
    longest = max(calm, key=len)
    began_ns, ended_ns = longest[0][0], longest[-1][1]
    whole = {
        name
        for name, number in run.bookies.items()
        if lived(run, number, began_ns, ended_ns)
        and not lost_state(run, number, ended_ns)
        and name not in gone | without
    }
    write_sets = [
        write_set(version, one["first_entry"] + at) for one in version["fragments"] for at in range(9)
    ]
    return (
        version["latest_ns"] < began_ns
        and len(whole - _read_only(run, began_ns)) >= version["ensemble"]
        and all(len(names - whole) < version["ack_quorum"] for names in write_sets)
    )
