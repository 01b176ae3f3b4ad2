"""Naive twin of ``answers``: the rules again, in obvious lines over lists of rows.

It shares no code with the checkers but the integer codes, and keeps every time.
"""

from __future__ import annotations

import json
from collections import Counter

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Kind, Message, Outcome, Status
from tests.histories.rows import DENIALS, Row, boots, chain, complete_chain, operations, proven, rows
from tests.histories.story import Fact
from tests.histories.twins import Things
from tests.histories.twins_kept import harmed, only_stopped, synced, wiped_since
from tests.histories.twins_recovery import CLOSED, number


def entry_answers(history: list[Fact]) -> list[Row]:
    """Answers about entries that one known boot gave."""
    return [row for row in proven(history) if row["ledger"] >= 0 and row["entry"] >= 0]


def excused_ns(history: list[Fact], row: Row, run: RunFacts) -> int:
    """From when the bookie may have forgotten the ledger."""
    ledger = row["ledger"]
    if not complete_chain(history, ledger):
        return 0
    ends = [NEVER]
    for delete in operations(history, Kind.DELETE):
        if delete["ledger"] == ledger and delete["outcome"] != Outcome.FAIL:
            ends.append(delete["invoked_ns"])
    for version in rows(history, "ledgers"):
        if version["ledger"] == ledger:
            names = [number(run, name) for part in version["fragments"] for name in part["bookies"]]
            if version["state"] == 0 or (version["state"] == CLOSED and row["bookie"] not in names):
                ends.append(version["earliest_ns"])
    return min(ends)


def owed_limbo(history: list[Fact], row: Row, run: RunFacts) -> bool:
    known, guarded = boots(run, row["bookie"]), {run.bookies[name] for name in run.guarded}
    if row["bookie"] not in guarded or row["boot"] not in known:
        return False
    if not complete_chain(history, row["ledger"]):
        return False
    return any(
        marked(history, row, run, boot)
        for boot in known
        if boot == row["boot"] or (boot < row["boot"] and has_served(history, row["bookie"], boot, run))
    )


def has_served(history: list[Fact], bookie: int, boot: int, run: RunFacts) -> bool:
    mine = [r for r in entry_answers(history) if (r["bookie"], r["boot"]) == (bookie, boot)]
    return "answering" in boots(run, bookie)[boot] or any(denies(r) or took(r) for r in mine)


def marked(history: list[Fact], row: Row, run: RunFacts, boot: int) -> bool:
    """Whether a mark that this boot set, or had to set, still stood when the answer came."""
    known, versions = boots(run, row["bookie"]), chain(history, row["ledger"])
    started_ns = known[boot]["started"]["earliest_ns"]
    crashed = False
    for earlier in sorted((other for other in known if other < boot), reverse=True):
        detail = json.loads(known[earlier]["exit"]["detail"]) if "exit" in known[earlier] else {}
        if detail.get("signal") in (None, 15) and detail.get("code") in (None, 0, 143):
            break
        if has_served(history, row["bookie"], earlier, run):
            crashed = not wiped_since(known[earlier]["started"]["earliest_ns"], row, run)
            break
    if not crashed or versions[0]["latest_ns"] >= started_ns:
        return False
    for at, version in enumerate(versions):
        over = any(later["latest_ns"] < started_ns for later in versions[at + 1 :])
        last = [number(run, name) for name in version["fragments"][-1]["bookies"]]
        free = version["state"] == CLOSED or row["bookie"] not in last
        if not over and free and version["earliest_ns"] <= row["received_ns"]:
            return False
    return True


def denies(row: Row) -> bool:
    return row["kind"] in (Message.READ, Message.RECOVERY_READ) and row["status"] in DENIALS


def took(row: Row) -> bool:
    return row["kind"] in (Message.ADD, Message.RECOVERY_ADD) and row["status"] == Status.EOK


def returned(row: Row) -> bool:
    return row["kind"] in (Message.READ, Message.RECOVERY_READ) and row["status"] == Status.EOK


def answered(history: list[Fact], run: RunFacts, held: set[tuple[int, ...]]) -> Things:
    """The anomalies of ``answers`` except denials of what disks ``held``, once for each boot."""
    found = set()
    for row in filter(denies, entry_answers(history)):
        if row["received_ns"] >= excused_ns(history, row, run):
            continue
        where = (row["bookie"], row["boot"], row["ledger"], row["entry"])
        for ack in filter(took, entry_answers(history)):
            same = (ack["bookie"], ack["boot"], ack["ledger"], ack["entry"]) == where
            if same and ack["received_ns"] < row["asked_ns"]:
                found.add(("denied_own_ack", *where))
            mine = all(ack[name] == row[name] for name in ("bookie", "ledger", "entry"))
            since = range(ack["boot"], row["boot"]) if mine else range(0)
            if since and only_stopped(since, row, run):
                found.add(("denied_flushed", *where))
            elif since and synced(history, ack) and only_stopped(since, row, run, durable=True):
                found.add(("denied_durable", *where))
        if owed_limbo(history, row, run):
            found.add(("limbo_not_shown", *where))
        for earlier in filter(returned, entry_answers(history)):
            same = (earlier["bookie"], earlier["boot"], earlier["ledger"], earlier["entry"]) == where
            if same and earlier["received_ns"] < row["asked_ns"] and not harmed(row, run):
                found.add(("denied_own_show", *where))
    found -= {("denied_durable", *where) for kind, *where in found if kind == "denied_flushed"}
    found -= {("denied_durable", *where) for where in held}
    others = {tuple(where) for kind, *where in found if kind != "denied_own_show"} | held
    found -= {("denied_own_show", *where) for where in others}
    return Counter((kind, ledger, entry) for kind, _, _, ledger, entry in found)
