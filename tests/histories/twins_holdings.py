"""Naive twins of what disks prove: the classes of loss, and denials of what a disk held.

The rules again, one entry at a time over lists of rows. They share no code with the checkers but the
integer codes, and are right by being read.
"""

from __future__ import annotations

import json
from itertools import pairwise

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Direction, FrameFlag, Holding, Message, Status
from tests.histories.rows import DENIALS, Row, chain, complete_chain, last_pass, proven, rows, sure, write_set
from tests.histories.story import Fact
from tests.histories.twins_kept import synced

Boot = tuple[int, int]
CHANGES_DISKS = ("wipe", "corrupt")
ENDS = ("kill", "power_loss")
TAKES = {"kill": 1, "unplanned": 1, "power_loss": 2, "wipe": 3, "corrupt": 3}
"""What was in memory, what was not synced, anything."""


def loss_class(history: list[Fact], run: RunFacts, ledger: int, entry: int) -> str:
    """Of an entry that is lost."""
    if not run.wire or run.damage:
        return "undetermined"
    closed = [row for row in chain(history, ledger) if row["state"] == 3]
    if closed and closed[-1]["last_entry"] < entry:
        close = closed_there_first(closed)
        if was_forged(history, close) and not sufficed(history, run, close):
            return "forged"
    acks = [row for row in rows(history, "frames") if is_ack(row, ledger, entry)]
    boots = {(row["bookie"], row["boot"]) for row in acks if sure(row)}
    if any(boot[0] in bookies_with_copy(history, ledger, entry) for boot in boots):
        return "unexplained"
    if any(never_lost(history, run, boot, ledger, entry) for boot in boots):
        return "unexplained"
    if not boots or not all(sure(row) for row in acks) or not complete_chain(history, ledger):
        return "undetermined"
    if bookies_with_copy(history, ledger, entry):
        return "undetermined"
    boots |= on_disks(history, ledger, entry)
    first = min(death(run, boot)[0] for boot in boots)
    repairs = [row for row in run.servers if brings(history, run, row, ledger, entry)]
    boots |= {(run.bookies[row["server"]], row["boot"]) for row in repairs if row["latest_ns"] < first}
    losses = [loss_ns(history, run, boot, ledger, entry) for boot in boots]
    if NEVER in losses:
        return "undetermined"
    first = min(death(run, boot)[0] for boot in boots)
    last = max(losses)
    if still_had(history, run, boots, ledger, entry):
        return "undetermined"
    if any(row["latest_ns"] >= first and row["earliest_ns"] <= last for row in repairs):
        return "undetermined"
    if any(start <= last for start in unlogged(run)):
        return "undetermined"
    return "undetermined" if replicated(history, ledger, last) else "explained"


def closed_there_first(closed: list[Row]) -> Row:
    """The first CLOSED version with the end of the last one."""
    return next(row for row in closed if row["last_entry"] == closed[-1]["last_entry"])


def still_had(history: list[Fact], run: RunFacts, boots: set[Boot], ledger: int, entry: int) -> bool:
    """Whether an ack quorum had an entry when the ledger was closed below it."""
    closed = [row for row in chain(history, ledger) if row["state"] == 3]
    if not closed or closed[-1]["last_entry"] >= entry:
        return False
    at_ns = closed_there_first(closed)["latest_ns"]
    began = {boot: events(run, boot, "started")[0]["earliest_ns"] for boot in boots}
    up = [boot for boot in boots if began[boot] < at_ns < death(run, boot)[0]]
    return len(up) >= closed[-1]["ack_quorum"]


def was_forged(history: list[Fact], close: Row) -> bool:
    return any(
        row["way"] == Direction.ANSWER
        and row["flags"] & FrameFlag.FORGED
        and row["kind"] == Message.RECOVERY_READ
        and row["delivered"] in DENIALS
        and (row["ledger"], row["entry"]) == (close["ledger"], close["last_entry"] + 1)
        and row["forwarded_ns"] < close["latest_ns"]
        for row in rows(history, "frames")
    )


def sufficed(history: list[Fact], run: RunFacts, close: Row) -> bool:
    """Whether bookies themselves denied the entry after the end to one client, and enough of them."""
    entry = close["last_entry"] + 1
    denials = [
        row
        for row in proven(history)
        if row["kind"] == Message.RECOVERY_READ
        and {row["status"], row["delivered"]} <= {*DENIALS}
        and (row["ledger"], row["entry"]) == (close["ledger"], entry)
        and row["forwarded_ns"] < close["latest_ns"]
    ]
    return complete_chain(history, close["ledger"]) and any(
        closable(
            chain(history, close["ledger"]), [row for row in denials if row["source"] == source], close, run
        )
        for source in {row["source"] for row in denials}
    )


def closable(versions: list[Row], denials: list[Row], close: Row, run: RunFacts) -> bool:
    """Whether the denials suffice by each version that may have been in force from the first of them on."""
    since = min(row["forwarded_ns"] for row in denials)
    denied = {row["bookie"] for row in denials}
    for at, one in enumerate(versions):
        replaced = any(later["latest_ns"] < since for later in versions[at + 1 :])
        if not replaced and one["earliest_ns"] <= close["latest_ns"]:
            asked = {run.bookies[name] for name in write_set(one, close["last_entry"] + 1)}
            if len(denied & asked) < one["write_quorum"] - one["ack_quorum"] + 1:
                return False
    return True


def is_ack(row: Row, ledger: int, entry: int) -> bool:
    adds = (Message.ADD, Message.RECOVERY_ADD)
    acked = row["way"] == Direction.ANSWER and row["kind"] in adds and row["status"] == Status.EOK
    return bool(acked and (row["ledger"], row["entry"]) == (ledger, entry))


def events(run: RunFacts, boot: Boot, event: str) -> list[Row]:
    return [
        row
        for row in run.servers
        if (run.bookies.get(row["server"]), row["boot"], row["event"]) == (*boot, event)
    ]


def death(run: RunFacts, boot: Boot) -> tuple[int, int]:
    """(earliest, latest) of its end, never for a boot that lived on."""
    ends = events(run, boot, "exit")
    return (ends[0]["earliest_ns"], ends[0]["latest_ns"]) if ends else (NEVER, NEVER)


def unclean(run: RunFacts, boot: Boot) -> bool:
    ends = [json.loads(row["detail"]) for row in events(run, boot, "exit")]
    return any(end["signal"] not in (None, 15) or end["code"] not in (None, 0, 143) for end in ends)


def fell(run: RunFacts, boot: Boot) -> bool:
    """Whether a fault that ends processes, and may take what it had, was in course as it died."""
    early, late = death(run, boot)
    return unclean(run, boot) and any(
        fault["kind"] in ENDS
        and takes(fault) >= (least(run, boot) or NEVER)
        and fault["injected_ns"] != NEVER
        and boot[0] in [run.bookies.get(name) for name in fault["target"].split(",")]
        and fault["planned_ns"] <= late
        and early <= max(fault["injected_ns"], fault["confirmed_ns"])
        for fault in run.faults
    )


def least(run: RunFacts, boot: Boot) -> int:
    """The least that takes what a boot acknowledged: by its own settings, or else the run's; 0 if unknown."""
    for row in events(run, boot, "configured"):
        conf = json.loads(row["detail"])["conf"]
        if conf.get("journalWriteData") == "false":
            return 1
        return 2 if conf.get("journalSyncData") == "false" else 3
    return max((loss for name, loss in run.least_loss.items() if run.bookies.get(name) == boot[0]), default=0)


def loss_ns(history: list[Fact], run: RunFacts, boot: Boot, ledger: int, entry: int) -> int:
    """When a boot's copy was gone at the latest: with its end, or by a wipe after it; else never."""
    if was_read(run, boot) and boot not in on_disks(history, ledger, entry):
        return death(run, boot)[1] if fell(run, boot) else NEVER
    wipes = [fault for fault in run.faults if boot[0] in hit(run, fault) and takes_all(fault)]
    last = max(wipes, key=lambda fault: fault["fault"], default=None)
    if last is None or last["injected_ns"] < death(run, boot)[1]:
        return NEVER
    others = [fault for fault in run.faults if boot[0] in hit(run, fault) and fault["kind"] in CHANGES_DISKS]
    given_back = any(not takes_all(fault) and fault["healed_ns"] >= last["injected_ns"] for fault in others)
    return NEVER if given_back else last["injected_ns"]


def takes(fault: Row) -> int:
    """The most that a fault may take; a loss of power of the process alone is a kill."""
    spares = json.loads(fault["params"]).get("level") == "process"
    return 1 if fault["kind"] == "power_loss" and spares else TAKES.get(fault["kind"], 0)


def takes_all(fault: Row) -> bool:
    return fault["kind"] == "wipe" and json.loads(fault["params"]).get("what") == "all"


def hit(run: RunFacts, fault: Row) -> list[int]:
    names = fault["target"].split(",")
    if fault["injected_ns"] == NEVER:
        return []
    return [run.bookies[name] for name in (names if {*names} <= run.bookies.keys() else run.bookies)]


def was_read(run: RunFacts, boot: Boot) -> bool:
    return bool(events(run, boot, "disk_read"))


def on_disks(history: list[Fact], ledger: int, entry: int) -> set[Boot]:
    held = [row for row in rows(history, "holdings") if row["ledger"] == ledger]
    return {(row["bookie"], row["boot"]) for row in held if row["entry"] <= entry <= row["last"]}


def bookies_with_copy(history: list[Fact], ledger: int, entry: int) -> set[int]:
    """Bookies whose answer in the last pass was a copy."""
    present = [row for row in last_pass(history) if row["holding"] == Holding.PRESENT]
    return {row["bookie"] for row in present if (row["ledger"], row["entry"]) == (ledger, entry)}


def never_lost(history: list[Fact], run: RunFacts, boot: Boot, ledger: int, entry: int) -> bool:
    until = max((row["answered_ns"] for row in last_pass(history)), default=NEVER)
    mine = [fault for fault in run.faults if boot[0] in hit(run, fault)]
    alive = bool(events(run, boot, "started")) and not (unclean(run, boot) and death(run, boot)[0] <= until)
    acks = [row for row in proven(history) if is_ack(row, ledger, entry)]
    forced = any(synced(history, row) for row in acks if (row["bookie"], row["boot"]) == boot)
    taken = max((1, *map(takes, mine)))
    outlasted = min(least(run, boot), 3 if forced else 2) > taken
    untouched = not any(fault["kind"] in CHANGES_DISKS for fault in mine)
    kept = boot in on_disks(history, ledger, entry) and not changed_since(run, boot)
    return to_the_end(history, run, boot, ledger, entry) and (kept or (untouched and (alive or outlasted)))


def to_the_end(history: list[Fact], run: RunFacts, boot: Boot, ledger: int, entry: int) -> bool:
    """Whether the last version wants the entry on the bookie, and none ceased to name it before."""
    if not complete_chain(history, ledger):
        return False
    versions = chain(history, ledger)
    named = [
        boot[0] in [run.bookies[name.split(":")[0]] for part in one["fragments"] for name in part["bookies"]]
        for one in versions
    ]
    ceased = any(before and not after for before, after in pairwise(named))
    return not ceased and boot[0] in {run.bookies[name] for name in write_set(versions[-1], entry)}


def changed_since(run: RunFacts, boot: Boot) -> bool:
    """Whether a fault may have changed a disk after it was read."""
    read_ns = min((row["earliest_ns"] for row in events(run, boot, "disk_read")), default=NEVER)
    changes = [fault for fault in run.faults if fault["kind"] in CHANGES_DISKS and boot[0] in hit(run, fault)]
    return any(fault["healed_ns"] >= read_ns for fault in changes)


def brings(history: list[Fact], run: RunFacts, row: Row, ledger: int, entry: int) -> bool:
    """Whether an event of a server is a completed check that may have brought this entry."""
    if row["event"] != "full_check_complete":
        return False
    versions = chain(history, ledger)
    due = any(row["server"] in write_set(version, entry) for version in versions)
    return due and row["latest_ns"] >= versions[0]["earliest_ns"]


def unlogged(run: RunFacts) -> list[int]:
    """Starts of guarded boots of which no log was read."""
    return [
        row["earliest_ns"]
        for row in run.servers
        if row["event"] == "started"
        and row["server"] in run.guarded
        and not events(run, (run.bookies[row["server"]], row["boot"]), "log_read")
    ]


def replicated(history: list[Fact], ledger: int, last: int) -> bool:
    versions = chain(history, ledger)
    for old, new in pairwise(versions):
        settled = old["fragments"] if old["state"] == 3 else old["fragments"][:-1]
        after = {part["first_entry"]: part["bookies"] for part in new["fragments"]}
        changed = any(after.get(part["first_entry"]) != part["bookies"] for part in settled)
        if changed and new["earliest_ns"] <= last:
            return True
    return False


def denied_though_held(
    history: list[Fact], run: RunFacts, released_ns: dict[int, int]
) -> set[tuple[int, ...]]:
    """(bookie, boot, ledger, entry) of denials of what a disk held; ``released_ns`` by ledger, of deletes."""
    found = set()
    for row in proven(history):
        reads = row["kind"] in (Message.READ, Message.RECOVERY_READ) and row["entry"] >= 0
        if row["status"] not in DENIALS or not reads:
            continue
        held = on_disks(history, row["ledger"], row["entry"])
        earlier = any(bookie == row["bookie"] and boot < row["boot"] for bookie, boot in held)
        if earlier and row["received_ns"] < may_forget_ns(history, run, row, released_ns):
            found.add((row["bookie"], row["boot"], row["ledger"], row["entry"]))
    return found


def may_forget_ns(history: list[Fact], run: RunFacts, row: Row, released_ns: dict[int, int]) -> int:
    if not complete_chain(history, row["ledger"]):
        return 0
    ends = [released_ns.get(row["ledger"], NEVER)]
    for version in [one for one in rows(history, "ledgers") if one["ledger"] == row["ledger"]]:
        named = {name.split(":")[0] for part in version["fragments"] for name in part["bookies"]}
        numbers = {run.bookies[name] for name in named}
        if version["state"] == 0 or (version["state"] == 3 and row["bookie"] not in numbers):
            ends.append(version["earliest_ns"])
    return min(ends)
