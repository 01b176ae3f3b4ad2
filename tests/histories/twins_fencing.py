"""Naive twins of ``fencing`` and ``availability``: the rules in obvious lines over rows.

They share no code with the checkers but the integer codes, and keep every row.
"""

from __future__ import annotations

import json
from collections import Counter

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Direction, Flag, FrameFlag, Holding, Kind, Message
from tests.histories.rows import Row, boots, chain, has, ledgers_of, ok, operations, proven, rows, write_set
from tests.histories.story import Fact
from tests.histories.twins import Things, TwinResult, has_no_metadata, was_put_back, was_released

# fencing


def seen_closed(history: list[Fact], ledger: int) -> list[tuple[int, int]]:
    """(by when, last entry) of everything that shows the ledger closed."""
    versions = [(v["latest_ns"], v["last_entry"]) for v in chain(history, ledger) if v["state"] == 3]
    results = [
        (row["completed_ns"], row["result"])
        for row in operations(history, Kind.OPEN)
        if row["ledger"] == ledger and ok(row) and has(row, Flag.RECOVERY)
    ]
    return [(at_ns, last) for at_ns, last in versions + results if at_ns != NEVER]


def fencing(history: list[Fact], run: RunFacts) -> TwinResult:
    things: Things = Counter()
    put_back = {ledger for ledger in ledgers_of(history) if was_put_back(history, ledger)}
    for add in operations(history, Kind.ADD):
        closes = seen_closed(history, add["ledger"])
        late = any(at_ns < add["invoked_ns"] and last < add["entry"] for at_ns, last in closes)
        if ok(add) and add["entry"] >= 0 and late:
            things["added_after_close", add["ledger"], add["entry"]] = 1
            things["added_after_close", add["ledger"]] += 1
    fences = [row for row in proven(history) if row["flags"] & FrameFlag.FENCING and row["status"] == 0]
    for add in proven(history):
        if add["kind"] == Message.ADD and add["status"] == 0:
            mine = [fence for fence in fences if same_boot(fence, add)]
            if any(fence["received_ns"] < add["asked_ns"] for fence in mine):
                things["accepted_when_fenced", add["ledger"], add["entry"]] = 1
                things["accepted_when_fenced", add["ledger"]] += 1
    things = Counter({thing: number for thing, number in things.items() if thing[1] not in put_back})
    if things:
        return things, "anomaly"
    enough = fences or any(seen_closed(history, ledger) for ledger in ledgers_of(history))
    return things, "valid" if enough and run.wire and not run.damage else "unknown"


def same_boot(one: Row, other: Row) -> bool:
    return all(one[name] == other[name] for name in ("ledger", "bookie", "boot"))


# the boots of bookies


def unclean(events: dict[str, Row], by_ns: int) -> bool:
    """Whether a boot was killed, and had begun to die by then."""
    exit_ = events.get("exit")
    killed = exit_ is not None and json.loads(exit_["detail"])["signal"] == 9
    return bool(killed and exit_ is not None and exit_["earliest_ns"] <= by_ns)


def wiped(run: RunFacts) -> set[int]:
    hit: set[int] = set()
    for fault in run.faults:
        if fault["kind"] == "wipe" and fault["injected_ns"] != NEVER:
            hit |= (
                {run.bookies[fault["target"]]}
                if fault["target"] in run.bookies
                else set(run.bookies.values())
            )
    return hit


def lived(run: RunFacts, bookie: int, began_ns: int, ended_ns: int) -> bool:
    """Whether one boot was there all the while."""
    return any(
        events["started"]["earliest_ns"] < began_ns
        and ("exit" not in events or events["exit"]["earliest_ns"] > ended_ns)
        for events in boots(run, bookie).values()
    )


# availability


def availability(history: list[Fact], run: RunFacts) -> TwinResult:
    things: Things = Counter()
    stories: list[str] = []
    for ledger in ledgers_of(history):
        if was_released(history, ledger) or has_no_metadata(history, ledger):
            continue
        stories.append(recovery(history, run, ledger))
        if stories[-1] in ("stuck", "key_lost"):
            things[stories[-1], ledger, -1] += 1
        for entry in sorted({row["entry"] for row in operations(history, Kind.READ, Kind.ENTRY)}):
            story = reading(history, run, ledger, entry)
            stories.append(story)
            if story == "unreadable":
                things["unreadable", ledger, entry] += 1
    looked = any(has(row, Flag.FINAL) for row in operations(history, Kind.OPEN))
    if things:
        return things, "anomaly"
    return things, "valid" if looked and "open" not in stories else "unknown"


def recovery(history: list[Fact], run: RunFacts, ledger: int) -> str:
    opens = [r for r in operations(history, Kind.OPEN) if r["ledger"] == ledger and has(r, Flag.FINAL)]
    errors = {row["error"] for row in opens}
    versions = chain(history, ledger)
    if not opens or any(map(ok, opens)) or (-25 in errors and not versions):
        return "nothing"
    no_answers = errors <= {0, -8, -9, -15, -17, -18, -19, -23, -999}
    if not versions or versions[-1]["state"] == 3 or no_answers or -25 in errors:
        return "open"
    began_ns = min(row["invoked_ns"] for row in opens)
    ended_ns = max(row["completed_ns"] for row in opens)
    if ended_ns == NEVER or not healthy(run, began_ns, ended_ns):
        return "open"
    if may_have_timed_out(history, run, opens, ended_ns):
        return "open"
    for row in rows(history, "frames"):
        observed = (row["ledger"], row["source"]) == (ledger, run.clients["observer"])
        answer = row["way"] == Direction.ANSWER and NEVER not in (row["asked_ns"], row["received_ns"])
        late = row["received_ns"] > began_ns and row["received_ns"] - row["asked_ns"] > 5 * 10**9
        if observed and answer and late:
            return "open"
    last = versions[-1]
    bookies = [run.bookies[name.split(":")[0]] for name in last["fragments"][-1]["bookies"]]
    for begin in range(last["ensemble"]):
        duty = [bookies[(begin + step) % last["ensemble"]] for step in range(last["write_quorum"])]
        if sum(lost_state(run, bookie, ended_ns) for bookie in duty) >= last["ack_quorum"]:
            return "stalled"
    if any(fault["kind"] == "garble" and fault["injected_ns"] != NEVER for fault in run.faults):
        return "open"
    refused = [
        row
        for row in run.servers
        if row["event"] == "key_refused" and json.loads(row["detail"])["ledgerId"] == ledger
    ]
    latest = {
        name: max((row["boot"] for row in run.servers if row["server"] == name), default=0)
        for name in run.bookies
    }
    members = [name.split(":")[0] for name in last["fragments"][-1]["bookies"]]
    mine = any(row["server"] in members and row["boot"] == latest[row["server"]] for row in refused)
    return "key_lost" if mine else "stuck"


def may_have_timed_out(history: list[Fact], run: RunFacts, opens: list[Row], ended_ns: int) -> bool:
    """Whether a bookie left a request without an answer for 5 s; without a wire log, by the time it took."""
    if not run.wire:
        return any(row["completed_ns"] - row["invoked_ns"] > 5 * 10**9 for row in opens)
    began_ns, ledger = min(row["invoked_ns"] for row in opens), opens[0]["ledger"]
    frames = [row for row in rows(history, "frames") if row["source"] == run.clients["observer"]]
    for bookie in run.bookies.values():
        mine = [row for row in frames if (row["ledger"], row["bookie"]) == (ledger, bookie)]
        answers = [row for row in mine if row["way"] == Direction.ANSWER]
        asked = [row["received_ns"] for row in mine if row["way"] == Direction.REQUEST]
        answered = [row["received_ns" if row["asked_ns"] == NEVER else "asked_ns"] for row in answers]
        times = [[at for at in some if began_ns <= at < ended_ns - 5 * 10**9] for some in (asked, answered)]
        if len(times[0]) > len(times[1]):
            return True
    return False


def healthy(run: RunFacts, began_ns: int, ended_ns: int) -> bool:
    for fault in run.faults:
        if fault["kind"] == "unplanned":
            if fault["target"] in ("zk1", "proxy", "observer") and fault["confirmed_ns"] <= ended_ns:
                return False
        elif fault["injected_ns"] != NEVER and fault["healed_ns"] > began_ns:
            return False
    for row in run.servers:
        if row["event"] == "readonly_created" and row["earliest_ns"] <= ended_ns:
            gone = [
                one["latest_ns"]
                for one in run.servers
                if (one["server"], one["event"]) == (row["server"], "readonly_gone")
                and one["latest_ns"] >= row["latest_ns"]
            ]
            if min(gone, default=NEVER) >= began_ns:
                return False
    return all(lived(run, bookie, began_ns, ended_ns) for bookie in run.bookies.values())


def lost_state(run: RunFacts, bookie: int, by_ns: int) -> bool:
    return bookie in wiped(run) or any(unclean(events, by_ns) for events in boots(run, bookie).values())


def reading(history: list[Fact], run: RunFacts, ledger: int, entry: int) -> str:
    final = [
        row
        for row in operations(history, Kind.READ, Kind.ENTRY)
        if has(row, Flag.FINAL) and (row["ledger"], row["entry"]) == (ledger, entry)
    ]
    failed = [r for r in final if r["kind"] == Kind.READ and not ok(r) and r["last"] == entry]
    if any(row["kind"] == Kind.ENTRY and ok(row) for row in final) or not failed:
        return "nothing"
    other = any(row["error"] not in (-13, -7) or row["completed_ns"] == NEVER for row in failed)
    denied = [row for row in failed if row["error"] in (-13, -7) and row["completed_ns"] != NEVER]
    if not denied:
        return "open"
    story = denied_reading(history, run, ledger, entry)
    return "open" if other and story != "unreadable" else story


def denied_reading(history: list[Fact], run: RunFacts, ledger: int, entry: int) -> str:
    """The window covers all denied reads of the ledger."""
    reads = [
        row
        for row in operations(history, Kind.READ)
        if row["ledger"] == ledger
        and has(row, Flag.FINAL)
        and not ok(row)
        and row["last"] == row["entry"] >= 0
        and row["error"] in (-13, -7)
        and row["completed_ns"] != NEVER
    ]
    began_ns, ended_ns = min(r["invoked_ns"] for r in reads), max(r["completed_ns"] for r in reads)
    census = rows(history, "census")
    numbers = sorted({row["pass_number"] for row in census})
    earlier = [
        n for n in numbers if max(r["answered_ns"] for r in census if r["pass_number"] == n) < began_ns
    ]
    later = False
    for bookie in duty_since_close(history, run, ledger, entry):

        def shows(number: int, bookie: int = bookie) -> bool:
            where = (number, bookie, ledger, entry)
            answers = [r for r in census if (r["pass_number"], r["bookie"], r["ledger"], r["entry"]) == where]
            return any(row["holding"] == Holding.PRESENT for row in answers)

        if not numbers or not shows(numbers[-1]):
            continue
        later = True
        after = [row for row in census if row["pass_number"] == numbers[-1]]
        if not earlier or not shows(earlier[-1]) or min(row["asked_ns"] for row in after) <= ended_ns:
            continue
        since_ns = min(row["asked_ns"] for row in census if row["pass_number"] == earlier[-1])
        if lived(run, bookie, since_ns, max(row["answered_ns"] for row in after)):
            return "unreadable"
    return "open" if later else "nothing"


def duty_since_close(history: list[Fact], run: RunFacts, ledger: int, entry: int) -> set[int]:
    """Bookies whose duty the entry was in every version from the first CLOSED one on."""
    found: set[int] | None = None
    for version in chain(history, ledger):
        if found is None and version["state"] != 3:
            continue
        duty = {run.bookies[name] for name in write_set(version, entry)}
        found = duty if found is None else found & duty
    return found or set()
