"""ZooKeeper's transactions about servers: bookies' registrations and cookies, and repair.

Repair has its znodes below ``/ledgers/underreplication`` (``ZkLedgerAuditorManager`` and
``ZkLedgerUnderreplicationManager``). ZooKeeper names no process that marks or repairs, so these rows have
ZooKeeper as their server; only votes and elections name the autorecovery process. Reads no logs.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping

from evidence.collect.logs import LogEvent
from evidence.shapes import Transaction
from protocol.addresses import ZOOKEEPER, is_bookie, name_of_id

_ROOT = "/ledgers/underreplication"
_OF_BOOKIE = re.compile(r"/ledgers/(available/readonly|available|cookies)/([^/]+)")
_VOTE = re.compile(rf"{_ROOT}/auditorelection/(V_\d+)")
_LEDGER = re.compile(rf"{_ROOT}/(ledgers|locks)/(?:.*/)?urL(\d+)")
_IN_DATA = re.compile(rb'\b(?:bookieId|replica): "([^"]+)"')
Events = Mapping[tuple[str, str], str]

BOOKIES: Events = {
    ("available", "create"): "znode_created",
    ("available", "delete"): "znode_gone",
    ("available/readonly", "create"): "readonly_created",
    ("available/readonly", "delete"): "readonly_gone",
    ("cookies", "create"): "cookie_created",
    ("cookies", "set"): "cookie_set",
    ("cookies", "delete"): "cookie_deleted",
}
LEDGERS: Events = {
    ("ledgers", "create"): "ledger_marked",
    ("ledgers", "set"): "ledger_marked",
    ("ledgers", "delete"): "ledger_unmarked",
    ("locks", "create"): "repair_locked",
    ("locks", "delete"): "repair_unlocked",
}
"""States of a ledger's znode: copies are missing (``missing``: of which bookies), none missing, locked."""
SWITCHES: Events = {
    ("disable", "create"): "repair_disabled",
    ("disable", "delete"): "repair_enabled",
    ("lostbookierecoverydelay", "create"): "recovery_delay_set",
    ("lostbookierecoverydelay", "set"): "recovery_delay_set",
    ("checkallledgersctime", "create"): "ledgers_check_dated",
    ("checkallledgersctime", "set"): "ledgers_check_dated",
    ("placementpolicycheckctime", "create"): "placement_check_dated",
    ("placementpolicycheckctime", "set"): "placement_check_dated",
    ("replicascheckctime", "create"): "replicas_check_dated",
    ("replicascheckctime", "set"): "replicas_check_dated",
}
"""Znodes of one kind each. Setting a delay, even to its present value, makes the auditor audit."""


Change = tuple[str, str, Mapping[str, object]]
"""The server of an event's row, the event, and its details."""


def changes(lines: Iterable[Transaction]) -> Iterator[LogEvent]:
    """What each transaction that is about a server changes, in no boot; ``lines`` in any order.

    A transaction about anything else, or that cannot be read, is left out.
    """
    votes: dict[str, str] = {}
    for line in sorted(lines, key=zxid_of):
        path, time_ms = line.get("path"), line.get("time_ms")
        change = _change(path, str(line.get("op")), line, votes) if isinstance(path, str) else None
        if change is not None and isinstance(time_ms, int):
            server, event, detail = change
            of_line = {"version": line.get("version"), "zxid": line.get("zxid")}
            yield LogEvent(server, 0, 0, time_ms, event, {**of_line, **detail})


def _change(path: str, op: str, line: Transaction, votes: dict[str, str]) -> Change | None:
    if found := _OF_BOOKIE.fullmatch(path):
        event, server = BOOKIES.get((found[1], op)), name_of_id(found[2])
        return (server, event, {}) if event and is_bookie(server) else None
    if found := _VOTE.fullmatch(path):
        return _voted(found[1], op, line, votes)
    if found := _LEDGER.fullmatch(path):
        event = LEDGERS.get((found[1], op))
        missing = {"missing": _names(line)} if event == "ledger_marked" else {}
        return (ZOOKEEPER, event, {"ledgerId": int(found[2]), **missing}) if event else None
    if path == f"{_ROOT}/auditorelection":
        names = _names(line)
        return (names[0], "auditor_elected", {}) if names else None
    event = SWITCHES.get((path.removeprefix(f"{_ROOT}/"), op))
    return (ZOOKEEPER, event, {}) if event else None


def _voted(vote: str, op: str, line: Transaction, votes: dict[str, str]) -> Change | None:
    """A vote's end shows only its path, so ``votes`` keeps whose each is."""
    if op == "create" and (names := _names(line)):
        votes[vote] = names[0]
        return names[0], "candidate", {"vote": vote}
    if op == "delete" and vote in votes:
        return votes[vote], "candidate_gone", {"vote": vote}
    return None


def _names(line: Transaction) -> list[str]:
    """The servers that a znode's data names (a message in protobuf's text form)."""
    try:
        data = base64.b64decode(line.get("data") or "", validate=True)
    except (TypeError, ValueError, binascii.Error):
        return []
    return [name_of_id(name.decode(errors="replace")) for name in _IN_DATA.findall(data)]


def zxid_of(line: Transaction) -> int:
    """The number of a transaction, -1 where it cannot be read."""
    try:
        return int(str(line.get("zxid")), 16)
    except ValueError:
        return -1
