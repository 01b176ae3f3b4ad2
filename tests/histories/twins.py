"""Naive twins of the checkers: the rules again, in obvious lines over lists of rows.

They share no code with the real ones but the integer codes, loop over everything as often as they
like, and are right by being read. Each returns a :data:`TwinResult`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from evidence.codes import NEVER, Flag, Holding, Kind, Outcome, Proof
from tests.histories.rows import (
    Row,
    chain,
    complete_chain,
    end_of,
    has,
    last_pass,
    ledgers_of,
    ok,
    operations,
    rows,
    was_created_again,
    was_released,
    write_set,
)
from tests.histories.story import BOOKIES, Fact

Thing = tuple[Any, ...]
Things = Counter[Thing]
"""(kind, ledger, entry), entry -1 for none; (kind, ledger) with a number for ``agreement.BY_LEDGER``."""
TwinResult = tuple[Things, str | None]
"""The anomalies and the verdict; None where a twin gives no verdict."""
VALID, ANOMALY, UNKNOWN = "valid", "anomaly", "unknown"


def concluded(things: Mapping[Thing, int] | Iterable[Thing], enough: bool) -> TwinResult:
    found = Counter(things)
    return found, ANOMALY if found else VALID if enough else UNKNOWN


def acked_entries(history: list[Fact], ledger: int) -> set[int]:
    """Acknowledged, and not waiting for a force."""
    acked = set()
    for row in operations(history, Kind.ADD):
        if row["ledger"] == ledger and ok(row) and row["entry"] >= 0:
            if not has(row, Flag.DEFERRED_SYNC):
                acked.add(row["entry"])
            for force in operations(history, Kind.FORCE):
                if force["ledger"] == ledger and ok(force) and force["entry"] >= row["entry"]:
                    acked.add(row["entry"])
    return acked


def reports_lac(row: Row) -> bool:
    """Whether the caller got a LAC."""
    with_lac = (Kind.ADD, Kind.OPEN, Kind.READ, Kind.LAC, Kind.FORCE)
    return row["kind"] in with_lac and ok(row) and received_lac(row) >= 0


def received_lac(row: Row) -> int:
    """The LAC that the caller got: of a LAC read the higher of its answer and what its handle holds then."""
    return max(row["lac"], row["result"]) if row["kind"] == Kind.LAC else int(row["lac"])


def promised_before_close(history: list[Fact], ledger: int) -> set[int]:
    """The promised entries without what the close itself promises."""
    promised = acked_entries(history, ledger)
    for row in operations(history, *Kind):
        if row["ledger"] != ledger:
            continue
        if reports_lac(row):
            promised |= set(range(received_lac(row) + 1))
        if row["kind"] == Kind.ENTRY and ok(row) and row["entry"] >= 0 and not has(row, Flag.UNCONFIRMED):
            promised.add(row["entry"])
    return promised


def promised_entries(history: list[Fact], ledger: int) -> set[int]:
    end = end_of(history, ledger)
    return promised_before_close(history, ledger) | set(range((-1 if end is None else end) + 1))


def writings(history: list[Fact], ledger: int, entry: int) -> set[tuple[int, int]]:
    """(writer, size) of the acknowledged adds of an entry."""
    return {
        (row["client"], row["size_bytes"])
        for row in operations(history, Kind.ADD)
        if ok(row) and row["ledger"] == ledger and row["entry"] == entry
    }


def right(history: list[Fact], row: Row) -> bool:
    """Whether proven bytes are those acknowledged; where nothing was, any will do."""
    known = writings(history, row["ledger"], row["entry"])
    return not known or (row["origin"], row["size_bytes"]) in known


def is_kept(history: list[Fact], ledger: int, entry: int) -> bool:
    return any(
        ok(row)
        and has(row, Flag.FINAL)
        and row["proof"] == Proof.PROVES_ITSELF
        and (row["ledger"], row["entry"]) == (ledger, entry)
        and right(history, row)
        for row in operations(history, Kind.ENTRY)
    )


def duty(history: list[Fact], ledger: int, entry: int) -> set[int]:
    """Bookies whose duty the entry was in any version."""
    return {BOOKIES[name] for version in chain(history, ledger) for name in write_set(version, entry)}


def fate(history: list[Fact], ledger: int, entry: int) -> str:
    """Kept, lost, corrupt or unavailable."""
    kept = is_kept(history, ledger, entry)
    end = end_of(history, ledger)
    if end is not None and end < entry and not kept:
        return "lost"
    found = by_answers(history, ledger, entry)
    if not kept:
        return found
    gone = found != "unavailable" or out_of_reach(history, ledger, entry)
    if not gone or not asked_after_reads(history, ledger):
        return "kept"
    return "unavailable" if changed_meanwhile(history, ledger) else found


def asked_after_reads(history: list[Fact], ledger: int) -> bool:
    """Whether the last pass began after the last entry of the ledger had been delivered to anybody."""
    reads = [row for row in operations(history, Kind.ENTRY) if ok(row) and row["ledger"] == ledger]
    asked = [row["asked_ns"] for row in last_pass(history)]
    return bool(asked) and all(row["completed_ns"] < min(asked) for row in reads)


def out_of_reach(history: list[Fact], ledger: int, entry: int) -> bool:
    """Whether all bookies of the versions in force during the last pass denied it, or had it damaged."""
    began = min((row["asked_ns"] for row in last_pass(history)), default=0)
    versions = chain(history, ledger)
    while any(later["latest_ns"] < began for later in versions[1:]):
        versions = versions[1:]
    bad = {
        row["bookie"]
        for row in last_pass(history)
        if (row["ledger"], row["entry"]) == (ledger, entry)
        and row["holding"] in (Holding.ABSENT, Holding.DAMAGED)
    }
    named = {BOOKIES[name] for version in versions for name in write_set(version, entry)}
    return complete_chain(history, ledger) and named <= bad


def changed_meanwhile(history: list[Fact], ledger: int) -> bool:
    began = min(row["asked_ns"] for row in last_pass(history))
    ended = max(row["answered_ns"] for row in last_pass(history))
    later = chain(history, ledger)[1:]
    return any(row["latest_ns"] >= began and row["earliest_ns"] <= ended for row in later)


def by_answers(history: list[Fact], ledger: int, entry: int) -> str:
    """Lost, corrupt or unavailable, by the answers of the last pass alone."""
    answers = [row for row in last_pass(history) if (row["ledger"], row["entry"]) == (ledger, entry)]
    good = any(row["holding"] == Holding.PRESENT and right(history, row) for row in answers)
    bad = {
        row["bookie"]
        for row in answers
        if row["holding"] == Holding.DAMAGED
        or (row["holding"] == Holding.PRESENT and not right(history, row))
    }
    denied = {row["bookie"] for row in answers if row["holding"] == Holding.ABSENT}
    holders = duty(history, ledger, entry)
    if good or not holders or not complete_chain(history, ledger):
        return "unavailable"
    if holders <= denied and not bad:
        return "lost"
    return "corrupt" if bad and holders <= denied | bad else "unavailable"


def durability(history: list[Fact]) -> TwinResult:
    things: Things = Counter()
    judged = unavailable = 0
    for ledger in ledgers_of(history):
        unavailable += was_created_again(history, ledger)
        if was_released(history, ledger):
            continue
        gone = [r for r in rows(history, "ledgers") if r["ledger"] == ledger and r["state"] == 0]
        entries = promised_entries(history, ledger)
        judged += len(entries)
        if gone:
            missing = {entry for entry in entries if not is_kept(history, ledger, entry)}
            things["vanished", ledger] = len(missing)
            continue
        for entry in entries:
            kind = fate(history, ledger, entry)
            if kind == "unavailable":
                unavailable += 1
            elif kind != "kept":
                things[kind, ledger, entry] = 1
    return concluded(things, judged > 0 and not unavailable)


def closing(history: list[Fact]) -> TwinResult:
    things: set[Thing] = set()
    closed_at_all, never_closed = False, False
    for ledger in ledgers_of(history):
        closes = [row for row in chain(history, ledger) if row["state"] == 3]
        closed_at_all |= bool(closes)
        promised = promised_before_close(history, ledger)
        never_closed |= bool(promised) and not closes and not was_released(history, ledger)
        deletes = [
            row["invoked_ns"]
            for row in operations(history, Kind.DELETE)
            if row["ledger"] == ledger and row["outcome"] != Outcome.FAIL
        ]
        binding = [
            row
            for row in closes
            if all(row["latest_ns"] < at for at in deletes)
            or any(
                record["result"] == row["last_entry"] and all(record["completed_ns"] < at for at in deletes)
                for record in telling_ends(history, ledger)
            )
        ]
        if binding:
            lowest = min(row["last_entry"] for row in binding)
            things |= {("closed_below", ledger, entry) for entry in promised if entry > lowest}
        if len(reported_ends(history, ledger)) > 1:
            things.add(("two_ends", ledger))
        since = min((row["earliest_ns"] for row in closes), default=NEVER)
        reported_early = any(row["completed_ns"] < since for row in telling_ends(history, ledger))
        if reported_early and complete_chain(history, ledger):
            things.add(("closed_unwritten", ledger))
    return concluded(things, closed_at_all and not never_closed)


def reported_ends(history: list[Fact], ledger: int) -> set[int]:
    ends = {row["last_entry"] for row in chain(history, ledger) if row["state"] == 3}
    return ends | {row["result"] for row in telling_ends(history, ledger)}


def telling_ends(history: list[Fact], ledger: int) -> list[Row]:
    """The operations that returned where the ledger ends: their writers' closes, recoveries, and any
    open that found it closed, unless it returned -1, which an open ledger returns as well."""
    writers = {
        (row["client"], row["handle"])
        for row in operations(history, Kind.CREATE)
        if ok(row) and row["ledger"] == ledger
    }
    return [
        row
        for row in operations(history, Kind.CLOSE, Kind.OPEN)
        if row["ledger"] == ledger
        and ok(row)
        and (
            (row["kind"] == Kind.CLOSE and (row["client"], row["handle"]) in writers)
            or (row["kind"] == Kind.OPEN and (has(row, Flag.RECOVERY) or row["result"] >= 0))
        )
    ]


def order(history: list[Fact]) -> TwinResult:
    things: Things = Counter()
    times: dict[tuple[int, int], int] = {}
    seen = 0
    for row in operations(history, Kind.ADD, Kind.ENTRY):
        if not ok(row):
            continue
        seen += 1
        is_add = row["kind"] == Kind.ADD
        if is_add and row["entry"] >= 0:
            times[row["ledger"], row["entry"]] = times.get((row["ledger"], row["entry"]), 0) + 1
        kind = "added_out_of_order" if is_add else "read_out_of_order"
        got = row["result"] if is_add else row["entry"]
        if row["expected"] >= 0 and got != row["expected"]:
            things[kind, row["ledger"]] += 1
    times = {where: number for where, number in times.items() if not was_put_back(history, where[0])}
    things |= Counter(("acked_twice", *where) for where, number in times.items() if number > 1)
    for row in operations(history, Kind.READ):
        if not ok(row) or min(row["last"], row["result"]) < 0:
            continue
        asked = row["last"] - row["entry"] + 1
        if row["result"] > asked:
            things["read_out_of_order", row["ledger"]] += 1
        if not has(row, Flag.BATCH):
            missing = range(row["entry"] + row["result"], row["last"] + 1)
            things |= Counter(("ended_short", row["ledger"], entry) for entry in missing)
    return concluded(things, seen > 0)


def was_put_back(history: list[Fact], ledger: int) -> bool:
    """Then another ledger may have had the same id."""
    return any(row["put_back"] for row in rows(history, "ledgers") if row["ledger"] == ledger)


def has_no_metadata(history: list[Fact], ledger: int) -> bool:
    """Whether the last transaction of the ledger removed its metadata."""
    versions = [row for row in rows(history, "ledgers") if row["ledger"] == ledger]
    return bool(versions) and max(versions, key=lambda row: row["zxid"])["state"] == 0


def content(history: list[Fact]) -> TwinResult:
    names = {Proof.DAMAGED: "damaged", Proof.FOREIGN: "foreign", Proof.NONE: "not_a_payload"}
    things: set[Thing] = set()
    bytes_of: dict[tuple[int, int], set[tuple[int, int]]] = {}
    delivered = 0
    for row in operations(history, Kind.ENTRY, Kind.ADD):
        if not ok(row) or row["entry"] < 0:
            continue
        where = (row["ledger"], row["entry"])
        if row["kind"] == Kind.ADD:
            bytes_of.setdefault(where, set()).add((row["client"], row["size_bytes"]))
            continue
        delivered += 1
        if row["proof"] == Proof.PROVES_ITSELF:
            bytes_of.setdefault(where, set()).add((row["origin"], row["size_bytes"]))
        else:
            things.add((names[Proof(row["proof"])], *where))
    for row in last_pass(history):
        end = end_of(history, row["ledger"])
        if row["holding"] == Holding.PRESENT and end is not None and row["entry"] <= end:
            known = bytes_of.setdefault((row["ledger"], row["entry"]), set())
            known.add((row["origin"], row["size_bytes"]))
    bytes_of = {where: known for where, known in bytes_of.items() if not was_put_back(history, where[0])}
    things |= {("damaged_copy", *where) for where in damaged_copies(history)}
    things |= {("two_writings", *where) for where, known in bytes_of.items() if len(known) > 1}
    return concluded(things, delivered > 0)


def damaged_copies(history: list[Fact]) -> set[tuple[int, int]]:
    """(ledger, entry) up to an end of which one bookie shows other bytes and another does not; no faults."""
    shown = {(row["ledger"], row["entry"], row["holding"]) for row in last_pass(history)}
    both = {(ledger, entry) for ledger, entry, held in shown if held == Holding.DAMAGED}
    both = {where for where in both if (*where, Holding.PRESENT) in shown}
    ends = {ledger: end_of(history, ledger) for ledger, _ in both if not was_put_back(history, ledger)}
    return {where for where in both if (end := ends.get(where[0])) is not None and where[1] <= end}


def lac(history: list[Fact]) -> TwinResult:
    things: Things = Counter()
    reports = [row for row in operations(history, *Kind) if reports_lac(row)]
    for ledger in ledgers_of(history):
        mine = [row for row in reports if row["ledger"] == ledger]
        back = [row for row in operations(history, *Kind) if row["ledger"] == ledger and is_lower(row)]
        if back:
            things["went_back", ledger] = len(back)
        closes = [row for row in chain(history, ledger) if row["state"] == 3]
        first = min(closes, key=lambda row: (row["latest_ns"], row["version"]), default=None)
        if first and first["latest_ns"] != NEVER:
            later = [received_lac(row) for row in mine if row["invoked_ns"] > first["latest_ns"]]
            beyond = range(first["last_entry"] + 1, max(later, default=-1) + 1)
            things |= Counter(("beyond_close", ledger, entry) for entry in beyond)
        things |= Counter(("covers_unsent", ledger, entry) for entry in unsent(history, ledger, mine))
    return concluded(things, bool(reports))


def is_lower(row: Row) -> bool:
    """Whether the handle's LAC was lower than before; -1 is none at all of a read, which returns no LAC."""
    if row["kind"] == Kind.READ:
        return reports_lac(row) and row["lac"] < row["lac_before"]
    handles = row["kind"] in (Kind.ADD, Kind.OPEN, Kind.LAC, Kind.FORCE)
    return handles and ok(row) and row["lac"] < row["lac_before"]


def unsent(history: list[Fact], ledger: int, reports: list[Row]) -> set[int]:
    """Entries that no client sent, under a LAC received before any recovery (of adds: beyond the add)."""
    if not complete_chain(history, ledger) or was_put_back(history, ledger):
        return set()
    began = [row["earliest_ns"] for row in chain(history, ledger) if row["state"] == 2]
    if began:
        reports = [row for row in reports if row["kind"] != Kind.ADD or row["lac"] > row["entry"]]
        reports = [row for row in reports if row["completed_ns"] < min(began)]
    adds = [row for row in operations(history, Kind.ADD) if row["ledger"] == ledger]
    if not any(row["entry"] >= 0 for row in adds):
        return set()
    tried = {row["entry"] for row in adds if row["outcome"] != Outcome.FAIL}
    return set(range(max(map(received_lac, reports), default=-1) + 1)) - tried
