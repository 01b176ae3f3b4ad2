"""The naive twins of the kinds of ``lac`` that rest on the wire log."""

from __future__ import annotations

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Direction, Kind, Message, Outcome, Status
from tests.histories.rows import Row, complete_chain, proven, rows, write_set
from tests.histories.story import Fact
from tests.histories.twins import received_lac, reports_lac

Added = tuple[int, int, int]
"""(ledger, entry, client)."""
REFUSED = {
    Status.ENOLEDGER,
    Status.ENOENTRY,
    Status.EBADREQ,
    Status.EIO,
    Status.EUA,
    Status.EBADVERSION,
    Status.EFENCED,
    Status.EREADONLY,
    Status.ETOOMANYREQUESTS,
    Status.EUNKNOWNLEDGERSTATE,
}


TABLES = ("operations", "ledgers", "frames", "census", "holdings", "chains", "faults", "servers")


def is_whole(run: RunFacts, *tables: str) -> bool:
    """Whether the evidence was closed in order, and all its damage is to other tables."""
    others = tuple(name for name in TABLES if name not in tables)
    return run.complete and all(one.startswith(others) for one in run.damage)


def judges(run: RunFacts) -> bool:
    """Whether the log is there and whole, and what it is held against too."""
    return run.wire and is_whole(run, "operations", "ledgers", "frames")


def acked_at(history: list[Fact]) -> dict[Added, int]:
    """Every acknowledged add, and when it was (of two under one id the later)."""
    found: dict[Added, int] = {}
    for row in rows(history, "operations"):
        if row["kind"] == Kind.ADD and row["outcome"] == Outcome.OK and row["entry"] >= 0:
            key = row["ledger"], row["entry"], row["client"]
            found[key] = max(row["completed_ns"], found.get(key, 0))
    return found


def answered_by(history: list[Fact], add: Added, by_ns: int) -> set[int]:
    """The bookies whose acknowledgement can have reached the writer by then."""
    return {
        row["bookie"]
        for row in rows(history, "frames")
        if row["way"] == Direction.ANSWER
        and row["kind"] in (Message.ADD, Message.RECOVERY_ADD)
        and (row["ledger"], row["entry"], row["source"]) == add
        and row["delivered"] not in REFUSED
        and row["forwarded_ns"] != NEVER
        and row["forwarded_ns"] <= by_ns
    }


def ack_quorum(history: list[Fact], ledger: int) -> int | None:
    """None where it is unknown, or where the metadata was put back."""
    versions = [row for row in rows(history, "ledgers") if row["ledger"] == ledger]
    quorums = [row["ack_quorum"] for row in versions if row["state"] != 0]
    return None if not quorums or any(row["put_back"] for row in versions) else min(quorums)


def acked_too_soon(history: list[Fact], run: RunFacts) -> set[Added]:
    if not judges(run):
        return set()
    seen = {row["source"] for row in rows(history, "frames")} & set(run.clients.values())
    found = set()
    for add, at_ns in acked_at(history).items():
        quorum = ack_quorum(history, add[0])
        if quorum is not None and add[2] in seen and len(answered_by(history, add, at_ns)) < quorum:
            found.add(add)
    return found


def acked_by_former(history: list[Fact], run: RunFacts) -> set[Added]:
    """Those that were invoked more than ten seconds after each version that was perhaps in force."""
    found = set()
    for ledger, entry, client in acked_by_replaced(history, run):
        at_ns = acked_at(history)[ledger, entry, client]
        adds = [
            (row["seq"], row["invoked_ns"])
            for row in rows(history, "operations")
            if (row["kind"], row["outcome"], row["completed_ns"]) == (Kind.ADD, Outcome.OK, at_ns)
            and (row["ledger"], row["entry"], row["client"]) == (ledger, entry, client)
        ]
        versions = [row for row in rows(history, "ledgers") if row["ledger"] == ledger and row["state"] != 0]
        versions.sort(key=lambda row: row["version"])
        while any(row["latest_ns"] < at_ns for row in versions[1:]):
            versions = versions[1:]
        changes = [row["latest_ns"] for row in versions if row["earliest_ns"] <= at_ns]
        if max(adds)[1] - max(changes) > 10 * 10**9:
            found.add((ledger, entry, client))
    return found


def acked_by_replaced(history: list[Fact], run: RunFacts) -> set[Added]:
    """Adds that AQ bookies acknowledged, fewer of them in the write set of any version then in force."""
    if not judges(run):
        return set()
    found = set()
    for add, at_ns in acked_at(history).items():
        ledger, entry, _ = add
        versions = [row for row in rows(history, "ledgers") if row["ledger"] == ledger]
        versions.sort(key=lambda row: (row["zxid"], row["version"]))
        quorum = ack_quorum(history, ledger)
        recovered = any(row["state"] == 2 and row["earliest_ns"] <= at_ns for row in versions)
        result = answered_by(history, add, at_ns)
        moved = any(row["fragments"] != versions[0]["fragments"] for row in versions if row["state"] != 0)
        again = len({row["version"] for row in versions}) < len(versions)
        if quorum is None or recovered or len(result) < quorum or not moved or again or at_ns == NEVER:
            continue
        if not complete_chain(history, ledger):
            continue
        then = [
            row
            for at, row in enumerate(versions)
            if row["state"] != 0
            and row["earliest_ns"] <= at_ns
            and all(later["latest_ns"] >= at_ns for later in versions[at + 1 :] if later["state"] != 0)
        ]
        given = ({run.bookies.get(name) for name in write_set(row, entry)} for row in then)
        if then and all(
            len(result & bookies) < row["ack_quorum"] for row, bookies in zip(then, given, strict=True)
        ):
            found.add(add)
    return found


def forced_too_soon(history: list[Fact], run: RunFacts) -> list[tuple[int, int]]:
    """(ledger, highest entry acknowledged before) of forces that too few bookies had confirmed.

    By each version they are fewer than AQ of some write set; where one was not seen, fewer than AQ at all.
    """
    if not judges(run):
        return []
    seen = {row["source"] for row in rows(history, "frames")} & set(run.clients.values())
    found = []
    for force in rows(history, "operations"):
        if force["kind"] != Kind.FORCE or force["outcome"] != Outcome.OK or force["entry"] < 0:
            continue
        results = {
            row["bookie"]
            for row in rows(history, "frames")
            if (row["way"], row["kind"]) == (Direction.ANSWER, Message.FORCE)
            and (row["ledger"], row["source"]) == (force["ledger"], force["client"])
            and row["delivered"] not in REFUSED
            and row["forwarded_ns"] != NEVER
            and force["invoked_ns"] <= row["forwarded_ns"] <= force["completed_ns"]
        }
        quorum = ack_quorum(history, force["ledger"])
        if quorum is None or force["client"] not in seen:
            continue
        versions = [row for row in rows(history, "ledgers") if row["ledger"] == force["ledger"]]
        numbers = {row["version"] for row in versions}
        enough = len(results) >= quorum
        if numbers == set(range(len(numbers))):
            enough = any(in_each_write_set(results, row, run) for row in versions if row["state"] != 0)
        if not enough:
            found.append((force["ledger"], force["entry"]))
    return found


def in_each_write_set(bookies: set[int], version: Row, run: RunFacts) -> bool:
    """Whether AQ of the bookies have each entry that can still be written by this version."""
    first = version["fragments"][-1]["first_entry"]
    given = [write_set(version, first + number) for number in range(version["ensemble"])]
    sets = [{run.bookies.get(name) for name in names} for names in given]
    return all(len(bookies & each) >= version["ack_quorum"] for each in sets)


def acknowledged_by(history: list[Fact], run: RunFacts, place: tuple[int, int], by_ns: int) -> int:
    """How many bookies' acknowledgements of an entry can have reached any client by then."""
    clients = run.clients.values()
    return len(set().union(*(answered_by(history, (*place, client), by_ns) for client in clients)))


def covers_unacked(history: list[Fact], run: RunFacts) -> set[tuple[int, int]]:
    """(ledger, entry) of adds that a LAC covers, received before AQ bookies had acknowledged them."""
    if not judges(run):
        return set()
    seen = {row["source"] for row in rows(history, "frames")} & set(run.clients.values())
    adds = [row for row in rows(history, "operations") if row["kind"] == Kind.ADD]
    adds = [row for row in adds if row["entry"] >= 0 and row["outcome"] != Outcome.FAIL]
    found = set()
    for record in filter(reports_lac, rows(history, "operations")):
        ledger, at_ns = record["ledger"], record["completed_ns"]
        versions = [row for row in rows(history, "ledgers") if row["ledger"] == ledger]
        recovered = any(row["state"] == 2 and row["earliest_ns"] <= at_ns for row in versions)
        logged = all(row["client"] in seen for row in adds if row["ledger"] == ledger)
        own = record["kind"] == Kind.ADD and record["lac"] <= record["entry"]
        quorum = ack_quorum(history, ledger)
        if (
            own
            or at_ns == NEVER
            or recovered
            or quorum is None
            or not logged
            or not complete_chain(history, ledger)
        ):
            continue
        tried = {
            row["entry"] for row in adds if row["ledger"] == ledger and row["entry"] <= received_lac(record)
        }
        late = {e for e in tried if acknowledged_by(history, run, (ledger, e), at_ns) < quorum}
        found |= {(ledger, entry) for entry in late}
    return found


def acked_outside(history: list[Fact], run: RunFacts) -> set[tuple[int, int, int]]:
    """(ledger, entry, bookie) of EOK to a client's add where no version gives the entry to the bookie."""
    if not judges(run):
        return set()
    found = set()
    for row in proven(history):
        ledger, entry = row["ledger"], row["entry"]
        took = (
            row["kind"] == Message.ADD
            and row["status"] == Status.EOK
            and row["source"] in run.clients.values()
            and min(ledger, entry) >= 0
        )
        versions = [version for version in rows(history, "ledgers") if version["ledger"] == ledger]
        removed = any(version["state"] == 0 or version["put_back"] for version in versions)
        if not took or removed or not complete_chain(history, ledger):
            continue
        given = {run.bookies.get(name) for version in versions for name in write_set(version, entry)}
        if row["bookie"] not in given:
            found.add((ledger, entry, row["bookie"]))
    return found
