"""Naive twin of ``recovery``: the rules again, in obvious lines over lists of rows.

It shares no code with the checkers but the integer codes, and keeps every time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Direction, Flag, FrameFlag, Kind, Message, Outcome, Status
from tests.histories.boots import UNPROVEN
from tests.histories.rows import DENIALS, Row, chain, complete_chain, operations, rows
from tests.histories.story import Fact
from tests.histories.twins import Things

OPEN, IN_RECOVERY, CLOSED = 1, 2, 3
PLAIN = {Message.RECOVERY_READ: Message.READ, Message.FENCING_LAC_READ: Message.LAC_READ}


def answers(history: list[Fact]) -> list[Row]:
    return [row for row in rows(history, "frames") if row["way"] == Direction.ANSWER]


def requests(history: list[Fact], ledger: int, kind: Message) -> list[Row]:
    asked = [row for row in rows(history, "frames") if row["way"] == Direction.REQUEST]
    return [row for row in asked if row["ledger"] == ledger and row["kind"] == kind]


def reached(history: list[Fact], ledger: int, source: int, kind: Message, entry: int) -> list[Row]:
    """Answers that a source got to such a request, or perhaps to such a request."""
    found = []
    for row in answers(history):
        same = (row["ledger"], row["source"], row["entry"]) == (ledger, source, entry)
        perhaps = row["flags"] & (FrameFlag.AMBIGUOUS | FrameFlag.UNCORRELATED) and row["kind"] == PLAIN.get(
            kind
        )
        passed = row["delivered"] != Status.NONE and row["forwarded_ns"] != NEVER
        if same and passed and (row["kind"] == kind or perhaps):
            found.append(row)
    return found


def number(run: RunFacts, name: str) -> int:
    return run.bookies.get(name.split(":")[0], -1)


def fragment(version: Row, entry: int) -> list[str]:
    return [part["bookies"] for part in version["fragments"] if part["first_entry"] <= entry][-1]


def recoverers(history: list[Fact], ledger: int) -> list[int]:
    kinds = (Message.FENCING_LAC_READ, Message.RECOVERY_READ)
    return sorted({row["source"] for kind in kinds for row in requests(history, ledger, kind)})


def has_ended(version: Row, denied: set[int], run: RunFacts) -> bool:
    entry = version["beyond"]
    bookies = fragment(version, entry)
    duty = [bookies[(entry + step) % version["ensemble"]] for step in range(version["write_quorum"])]
    enough = version["write_quorum"] - version["ack_quorum"] + 1
    return sum(number(run, name) in denied for name in duty) >= enough


def has_fenced(version: Row, known: set[int], run: RunFacts) -> bool:
    bookies = version["fragments"][-1]["bookies"]
    for begin in range(version["ensemble"]):
        duty = [bookies[(begin + step) % version["ensemble"]] for step in range(version["write_quorum"])]
        if sum(number(run, name) not in known for name in duty) >= version["ack_quorum"]:
            return False
    return True


def in_recovery(versions: list[Row]) -> list[Row] | None:
    """The last version and those IN_RECOVERY before it, or None when one may be missing."""
    found = [versions[-1]]
    for before, after in reversed(list(pairwise(versions))):
        if before["version"] != after["version"] - 1:
            return None
        if before["state"] != IN_RECOVERY:
            return found
        found.append(before)
    return None


def closes(history: list[Fact], ledger: int) -> Iterator[list[Row]]:
    """The versions up to each close that may have followed a recovery."""
    versions = chain(history, ledger)
    for at, version in enumerate(versions):
        if version["state"] != CLOSED or (at and versions[at - 1]["state"] == CLOSED):
            continue
        before = versions[at - 1] if at else None
        gap = version["version"] != (before["version"] + 1 if before else 0)
        if gap or (before and before["state"] == IN_RECOVERY):
            yield versions[: at + 1]


def unannounced(history: list[Fact], ledger: int) -> int:
    """How many versions closed an open ledger although no writer had a reason to."""
    mine = [row for row in operations(history, Kind.CREATE, Kind.ADD, Kind.CLOSE) if row["ledger"] == ledger]
    mine = [row for row in mine if row["kind"] == Kind.CREATE or row["outcome"] != Outcome.FAIL]
    made = [row for row in mine if row["kind"] == Kind.CREATE and row["outcome"] == Outcome.OK]
    adds = [row for row in mine if row["kind"] == Kind.ADD]
    ok = [row for row in adds if row["outcome"] == Outcome.OK]
    number_found = 0
    for before, after in pairwise(chain(history, ledger)):
        if (before["state"], after["state"]) != (OPEN, CLOSED) or after["version"] != before["version"] + 1:
            continue
        if before["put_back"] or after["put_back"]:
            continue
        reasons = [row for row in mine if row["kind"] != Kind.CREATE and row not in ok]
        quiet = all(row["invoked_ns"] > after["latest_ns"] for row in reasons)
        for client, handle in {(row["client"], row["handle"]) for row in made + adds}:
            own = [row for row in adds if (row["client"], row["handle"]) == (client, handle)]
            top = max((row["entry"] for row in own if row["outcome"] == Outcome.OK), default=-1)
            sent = [row for row in requests(history, ledger, Message.ADD) if row["source"] == client]
            good = answered_at_once(history, ledger, client)
            quiet = quiet and len(sent) == good >= after["write_quorum"] * (top + 1)
        number_found += quiet and bool(made or adds)
    return number_found


def by_writer(history: list[Fact], close: Row, began_ns: int, run: RunFacts) -> bool:
    ledger = close["ledger"]
    mine = [row for row in operations(history, Kind.CREATE, Kind.ADD, Kind.CLOSE) if row["ledger"] == ledger]
    for handle in {(row["client"], row["handle"]) for row in mine}:
        own = [row for row in mine if (row["client"], row["handle"]) == handle]
        sent = [row for row in own if row["kind"] != Kind.CREATE and row["outcome"] != Outcome.FAIL]
        made = [row for row in own if row["kind"] == Kind.CREATE and row["outcome"] == Outcome.OK]
        adds = [row for row in sent if row["kind"] == Kind.ADD]
        top = max((row["entry"] for row in adds if row["outcome"] == Outcome.OK), default=-1)
        late = any(row["flags"] & Flag.DEFERRED_SYNC for row in adds)
        fits = close["last_entry"] == top or (late and close["last_entry"] < top)
        ending = [row for row in sent if row["kind"] == Kind.CLOSE or row["outcome"] != Outcome.OK]
        active = any(row["invoked_ns"] <= close["latest_ns"] for row in ending)
        due = close["write_quorum"] * (top + 1)
        sent_to_bookies = [r for r in requests(history, ledger, Message.ADD) if r["source"] == handle[0]]
        good = answered_at_once(history, ledger, handle[0])
        active = active or good < due or good != len(sent_to_bookies)
        names = [name for name, client in run.clients.items() if client == handle[0]]
        ends = [row["latest_ns"] for row in run.servers if row["event"] == "exit" and row["server"] in names]
        if (made or adds) and fits and active and all(end >= began_ns for end in ends):
            return True
    return False


def answered_at_once(history: list[Fact], ledger: int, client: int) -> int:
    return sum(
        row["kind"] == Message.ADD
        and (row["ledger"], row["source"]) == (ledger, client)
        and row["way"] == Direction.ANSWER
        and row["delivered"] == Status.EOK
        and row["rule"] == 0
        and NEVER not in (row["forwarded_ns"], row["asked_ns"])
        and row["forwarded_ns"] - row["asked_ns"] <= 10**9
        for row in rows(history, "frames")
    )


def ruling(history: list[Fact], versions: list[Row], run: RunFacts) -> tuple[str, list[tuple[str, int]]]:
    """What the close is, and the entries that its first recoverer did not write back, or did not read."""
    close = versions[-1]
    ledger, entry, by_ns = close["ledger"], close["last_entry"] + 1, close["latest_ns"]
    named = in_recovery(versions)
    if named is None:
        return "unseen", []
    named = [{**version, "beyond": entry} for version in named]
    ended_at_all = False
    short: list[tuple[str, int]] = []
    for source in recoverers(history, ledger):
        own = {source} if source < 100 else set()
        read = reached(history, ledger, source, Message.RECOVERY_READ, entry)
        denied = {r["bookie"] for r in read if r["delivered"] in DENIALS and r["forwarded_ns"] <= by_ns}
        went_on_ns = fencing_over_ns(history, named, source)
        known = {
            row["bookie"]
            for row in reached(history, ledger, source, Message.FENCING_LAC_READ, -1)
            if row["delivered"] in (Status.EOK, *DENIALS) and row["forwarded_ns"] <= went_on_ns
        }
        ended = any(has_ended(version, denied | own, run) for version in named)
        ended_at_all |= ended
        if ended and any(has_fenced(version, known | own, run) for version in named):
            first = first_to_recover(history, close, named[1:], source)
            lacking = [
                ("not_written_back", entry) for entry in unstored(history, close, source) if entry >= first
            ]
            lacking += [("not_read", entry) for entry in skipped(history, close, source, first)]
            below = below_lac(history, named, source, went_on_ns, run)
            lacking += [("closed_below_lac", entry) for entry in below]
            if not lacking:
                return "legal", []
            short = short or lacking
    if by_writer(history, close, min(v["earliest_ns"] for v in named[1:]), run):
        return "by_writer", []
    clients = {run.bookies[name] for name in run.guarded}
    clients |= {row["source"] for row in rows(history, "frames") if 0 < row["source"] < 100}
    for bookie in clients:
        if any(has_ended(v, {bookie}, run) for v in named) and any(
            has_fenced(v, {bookie}, run) for v in named
        ):
            return "by_bookie", []
    if not recoverers(history, ledger):
        return "unseen", []
    if short:
        return "lacking", short
    return ("fenced_too_few" if ended_at_all else "ended_too_soon"), []


def fencing_over_ns(history: list[Fact], named: list[Row], source: int) -> int:
    """When the source read first, if it asked each bookie of one ensemble to fence at most once.

    Else when it last read the entry after the end.
    """
    ledger, by_ns = named[0]["ledger"], named[0]["latest_ns"]

    def asked(kind: Message) -> list[Row]:
        mine = [row for row in requests(history, ledger, kind) if row["source"] == source]
        return [row for row in mine if row["received_ns"] <= by_ns]

    fences = [row["bookie"] for row in asked(Message.FENCING_LAC_READ)]
    reads = asked(Message.RECOVERY_READ)
    for version in named:
        bookies = [f"b{bookie}:3181" for bookie in fences]
        if len(bookies) == len(set(bookies) & set(version["fragments"][-1]["bookies"])):
            return min((row["received_ns"] for row in reads), default=by_ns)
    again = [row["received_ns"] for row in reads if row["entry"] == named[0]["beyond"]]
    return max(again, default=by_ns)


def unstored(history: list[Fact], close: Row, source: int) -> Iterator[int]:
    """Entries surely given to the source, that too few bookies acknowledged back to it, by the close."""
    sure = ~(FrameFlag.AMBIGUOUS | FrameFlag.UNCORRELATED)
    for entry in range(close["last_entry"] + 1):
        given, stored = (
            {
                row["bookie"]
                for row in reached(history, close["ledger"], source, kind, entry)
                if row["delivered"] == Status.EOK and row["forwarded_ns"] <= close["latest_ns"]
                if kind != Message.RECOVERY_READ or row["flags"] & sure == row["flags"]
            }
            for kind in (Message.RECOVERY_READ, Message.RECOVERY_ADD)
        )
        if given and len(stored) + (source < 100) < close["ack_quorum"]:
            yield entry


def below_lac(
    history: list[Fact], named: list[Row], source: int, went_on_ns: int, run: RunFacts
) -> Iterator[int]:
    """Entries between the end and the LAC that the recoverer cannot have been without."""
    ledger, odd = named[0]["ledger"], sum((*UNPROVEN, FrameFlag.GARBLED))
    again = [row["received_ns"] for row in requests(history, ledger, Message.RECOVERY_ADD)]
    adds = [row for row in operations(history, Kind.ADD) if row["ledger"] == ledger]
    written = requests(history, ledger, Message.WRITE_LAC)
    if run.faults or written or any(row["flags"] & Flag.ADV for row in adds):
        return
    lacs = []
    for row in reached(history, ledger, source, Message.FENCING_LAC_READ, -1):
        if row["delivered"] in (Status.EOK, *DENIALS) and row["forwarded_ns"] <= went_on_ns:
            own = row["status"] == row["delivered"] == Status.EOK and not row["flags"] & odd
            early = all(row["forwarded_ns"] < at_ns for at_ns in again)
            lacs.append((row["bookie"], row["lac"] if own and early else -1))
    least = [
        lac
        for _, lac in lacs
        if not any(has_fenced(v, {source, *(bookie for bookie, at in lacs if at < lac)}, run) for v in named)
    ]
    yield from range(named[0]["beyond"], max(least, default=-1) + 1)


def highest_lac(history: list[Fact], close: Row, source: int) -> int:
    """The highest LAC that answers to fencing gave a source by the close."""
    lacs = [
        row["lac"]
        for row in reached(history, close["ledger"], source, Message.FENCING_LAC_READ, -1)
        if row["delivered"] == Status.EOK and row["forwarded_ns"] <= close["latest_ns"]
    ]
    return max(lacs, default=-1)


def first_to_recover(history: list[Fact], close: Row, before: list[Row], source: int) -> int:
    """The first entry that is confirmed neither by a LAC nor by a later fragment."""
    confirmed = [version["fragments"][-1]["first_entry"] - 1 for version in before]
    return max(highest_lac(history, close, source), *confirmed, -1) + 1


def skipped(history: list[Fact], close: Row, source: int, first: int) -> Iterator[int]:
    """Entries up to the end that a client with a LAC was not given by the close."""
    if highest_lac(history, close, source) < 0 or source < 100:
        return
    for entry in range(first, close["last_entry"] + 1):
        given = reached(history, close["ledger"], source, Message.RECOVERY_READ, entry)
        if not any(
            row["delivered"] == Status.EOK and row["forwarded_ns"] <= close["latest_ns"] for row in given
        ):
            yield entry


def unread(history: list[Fact], ledger: int, run: RunFacts) -> Iterator[int]:
    """Entries that a source wrote back and had not read, once for each source."""
    versions = chain(history, ledger)
    removals = [r for r in rows(history, "ledgers") if r["ledger"] == ledger and r["state"] == 0]
    whole = complete_chain(history, ledger) and all(r["version"] == len(versions) for r in removals)
    named = {number(run, name) for v in versions for part in v["fragments"] for name in part["bookies"]}
    writes = requests(history, ledger, Message.RECOVERY_ADD)
    for source, entry in {(row["source"], row["entry"]) for row in writes}:
        if source < 100 and (source in named or not whole):
            continue
        first = min(row["received_ns"] for row in writes if (row["source"], row["entry"]) == (source, entry))
        given = [
            row["forwarded_ns"]
            for kind in (Message.RECOVERY_READ, Message.READ)
            for row in reached(history, ledger, source, kind, entry)
            if row["delivered"] == Status.EOK
        ]
        if not any(at_ns <= first for at_ns in given):
            yield entry


def recovery(history: list[Fact], run: RunFacts) -> tuple[Things, Counter[str]]:
    """The anomalies, and how each close was ruled."""
    things: Things = Counter()
    rulings: Counter[str] = Counter()
    for ledger in sorted({row["ledger"] for _, row in history if row["ledger"] >= 0}):
        for versions in closes(history, ledger):
            what, short = ruling(history, versions, run)
            rulings[what] += 1
            if what == "ended_too_soon":
                things[what, ledger, versions[-1]["last_entry"] + 1] += 1
            if what == "fenced_too_few":
                things[what, ledger, -1] += 1
            for kind, entry in short:
                things[kind, ledger, entry] += 1
        if number := unannounced(history, ledger):
            things["not_in_recovery", ledger, -1] += number
        for entry in unread(history, ledger, run):
            things["wrote_back_unread", ledger, entry] += 1
    return things, rulings
