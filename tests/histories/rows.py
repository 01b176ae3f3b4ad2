"""What is asked of a history's rows again and again by the naive twins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Direction, Flag, FrameFlag, Kind, Outcome, Proof, Status
from tests.histories.story import Fact

Row = dict[str, Any]
DENIALS = (Status.ENOENTRY, Status.ENOLEDGER)
UNPROVEN = FrameFlag.FORGED | FrameFlag.UNCORRELATED | FrameFlag.UNPARSED | FrameFlag.AMBIGUOUS


def rows(history: Iterable[Fact], table: str) -> list[Row]:
    return [row for name, row in history if name == table]


def operations(history: list[Fact], *kinds: Kind) -> list[Row]:
    return [row for row in rows(history, "operations") if row["kind"] in kinds]


def ok(row: Row) -> bool:
    return bool(row["outcome"] == Outcome.OK)


def has(row: Row, flag: Flag) -> bool:
    return row["flags"] & flag != 0


def ledgers_of(history: list[Fact]) -> list[int]:
    return sorted({row["ledger"] for _, row in history})


def chain(history: list[Fact], ledger: int) -> list[Row]:
    """The ledger's versions, ascending, less the row that says it was deleted."""
    found = [row for row in rows(history, "ledgers") if row["ledger"] == ledger and row["state"] != 0]
    return sorted(found, key=lambda row: row["version"])


def contents(history: list[Fact], ledger: int) -> list[Row]:
    """The ledger's versions, those of one content and number once."""
    different: list[Row] = []
    for row in chain(history, ledger):
        same = row.keys() - {"zxid", "earliest_ns", "latest_ns", "put_back"}
        if not any(all(row[name] == other[name] for name in same) for other in different):
            different.append(row)
    return different


def end_of(history: list[Fact], ledger: int) -> int | None:
    closed = [row for row in chain(history, ledger) if row["state"] == 3]
    return closed[-1]["last_entry"] if closed else None


def last_pass(history: list[Fact]) -> list[Row]:
    census = rows(history, "census")
    last = max((row["pass_number"] for row in census), default=0)
    return [row for row in census if row["pass_number"] == last]


def complete_chain(history: list[Fact], ledger: int) -> bool:
    """Whether every version was seen: the row of the (first) removal has the number after the last one."""
    numbers = [row["version"] for row in chain(history, ledger)]
    removals = [row for row in rows(history, "ledgers") if (row["ledger"], row["state"]) == (ledger, 0)]
    removal = min(removals, key=lambda row: (row["zxid"], row["version"]), default=None)
    last = removal["version"] if removal else 0
    return bool(numbers) and numbers == list(range(len(numbers))) and last <= len(numbers)


def write_set(version: Row, entry: int) -> set[str]:
    """The bookies that a version of the metadata gives the entry to."""
    names = [part["bookies"] for part in version["fragments"] if part["first_entry"] <= entry][-1]
    places = [(entry + copy) % version["ensemble"] for copy in range(version["write_quorum"])]
    return {names[place].split(":")[0] for place in places}


def sure(row: Row) -> bool:
    """Whether a known boot gave an answer to a known request."""
    return bool(
        row["way"] == Direction.ANSWER
        and row["boot"] > 0
        and row["asked_ns"] != NEVER
        and not row["flags"] & UNPROVEN
    )


def proven(history: list[Fact]) -> list[Row]:
    """Answers that a known boot gave to a known request."""
    return [row for row in rows(history, "frames") if sure(row)]


def boots(run: RunFacts, bookie: int) -> dict[int, dict[str, Row]]:
    """Boot -> its events by name; of boots whose start was recorded."""
    found: dict[int, dict[str, Row]] = {}
    for row in run.servers:
        if run.bookies.get(row["server"]) == bookie:
            found.setdefault(row["boot"], {})[row["event"]] = row
    return {number: events for number, events in found.items() if "started" in events}


def wrong_length(history: list[Fact], versions: list[Row]) -> str:
    """The kind for a ledger with these versions: of a writer's own close, if it can be of none else.

    A recovery may take over the length of entries that were tried, and no other.
    """
    numbers = {version["version"] for version in versions}
    own = numbers == set(range(len(numbers))) and not any(version["state"] == 2 for version in versions)
    if own:
        return "wrong_own_length"
    ledger = versions[-1]["ledger"]
    length = next((one["length_bytes"] for one in reversed(versions) if one["state"] == 3), 0)
    tried = [row["size_bytes"] for row in operations(history, Kind.ADD) if row["ledger"] == ledger]
    return "wrong_length" if 0 <= length <= sum(tried) else "impossible_length"


def has_wrong_length(history: list[Fact], versions: list[Row], ledger: int) -> bool:
    """Whether the last close has another length than its entries, each of which is known with one size."""
    rows = [row for table, row in history if table == "operations" and row["ledger"] == ledger]
    closes = [row for row in versions if row["state"] == 3]
    if not closes or any(row["flags"] & (Flag.DEFERRED_SYNC | Flag.ADV) for row in rows):
        return False
    sizes: dict[int, set[int]] = {entry: set() for entry in range(closes[-1]["last_entry"] + 1)}
    for row in rows:
        written = row["kind"] == Kind.ADD
        read = row["kind"] == Kind.ENTRY and row["proof"] == Proof.PROVES_ITSELF
        if row["outcome"] == Outcome.OK and (written or read) and row["entry"] in sizes:
            sizes[row["entry"]].add(row["size_bytes"])
    whole = all(len(known) == 1 for known in sizes.values())
    return whole and sum(size for known in sizes.values() for size in known) != closes[-1]["length_bytes"]


def was_released(history: list[Fact], ledger: int) -> bool:
    deletes = [row for row in operations(history, Kind.DELETE) if row["ledger"] == ledger]
    return any(row["outcome"] != Outcome.FAIL for row in deletes)


def was_created_again(history: list[Fact], ledger: int) -> bool:
    """Whether a create gave the id again, after a delete that may have been sent was first invoked.

    Or after a fault put the metadata back to a time when there was no such ledger.
    """
    versions = [row for row in rows(history, "ledgers") if row["ledger"] == ledger]
    for back in (row for row in versions if row["put_back"]):
        later = [row["zxid"] for row in versions if row["zxid"] > back["zxid"] and row["state"] != 0]
        backs = [row["zxid"] for row in versions if row["put_back"] and row["zxid"] > back["zxid"]]
        if back["state"] == 0 and later and min(later) < min(backs, default=NEVER):
            return True
    mine = [row for row in operations(history, Kind.CREATE, Kind.DELETE) if row["ledger"] == ledger]
    made = [row["invoked_ns"] for row in mine if row["kind"] == Kind.CREATE and row["outcome"] == Outcome.OK]
    gone = [
        row["invoked_ns"] for row in mine if row["kind"] == Kind.DELETE and row["outcome"] != Outcome.FAIL
    ]
    return bool(made and gone) and max(made) > min(gone)
