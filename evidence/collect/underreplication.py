"""ZooKeeper's transactions about repair: the auditor, under-replicated ledgers, switches.

Reads the znodes below ``/ledgers/underreplication`` (``ZkLedgerAuditorManager`` and
``ZkLedgerUnderreplicationManager``). ZooKeeper names no process that marks or repairs, so these rows have
ZooKeeper as their server; only votes and elections name the autorecovery process. Reads no logs.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from protocol.addresses import ZOOKEEPER, name_of_id

_ROOT = "/ledgers/underreplication"
_VOTE = re.compile(rf"{_ROOT}/auditorelection/(V_\d+)")
_LEDGER = re.compile(rf"{_ROOT}/(ledgers|locks)/(?:.*/)?urL(\d+)")
_IN_DATA = re.compile(rb'\b(?:bookieId|replica): "([^"]+)"')

LEDGERS: Mapping[tuple[str, str], str] = {
    ("ledgers", "create"): "ledger_marked",
    ("ledgers", "set"): "ledger_marked",
    ("ledgers", "delete"): "ledger_unmarked",
    ("locks", "create"): "repair_locked",
    ("locks", "delete"): "repair_unlocked",
}
"""States of a ledger's znode: copies are missing (``missing``: of which bookies), none missing, locked."""
SWITCHES: Mapping[tuple[str, str], str] = {
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


@dataclass(frozen=True, slots=True)
class Change:
    """One event: the server of its row, its name, and further details."""

    server: str
    event: str
    detail: Mapping[str, Any]


@dataclass
class RepairStory:
    """Reads transactions in ZooKeeper's order; a vote's end shows only its path, so votes are kept."""

    _votes: dict[str, str] = field(default_factory=dict)

    def change(self, line: Mapping[str, Any]) -> Change | None:
        """What one transaction changes; None when it is not about repair, or cannot be read."""
        path, op = line.get("path"), str(line.get("op"))
        if not isinstance(path, str) or not path.startswith(f"{_ROOT}/"):
            return None
        if path == f"{_ROOT}/auditorelection":
            return self._elected(line)
        if vote := _VOTE.fullmatch(path):
            return self._voted(vote[1], op, line)
        if ledger := _LEDGER.fullmatch(path):
            return _of_ledger(ledger[1], int(ledger[2]), op, line)
        event = SWITCHES.get((path.removeprefix(f"{_ROOT}/"), op))
        return Change(ZOOKEEPER, event, {}) if event else None

    def _elected(self, line: Mapping[str, Any]) -> Change | None:
        names = _names(line)
        return Change(names[0], "auditor_elected", {}) if names else None

    def _voted(self, vote: str, op: str, line: Mapping[str, Any]) -> Change | None:
        if op == "create" and (names := _names(line)):
            self._votes[vote] = names[0]
            return Change(names[0], "candidate", {"vote": vote})
        if op == "delete" and vote in self._votes:
            return Change(self._votes[vote], "candidate_gone", {"vote": vote})
        return None


def repair_changes(lines: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], Change]]:
    """Each transaction that is about repair with what it changes; ``lines`` in any order."""
    story = RepairStory()
    for line in sorted(lines, key=_zxid):
        change = story.change(line)
        if change is not None:
            yield line, change


def _of_ledger(kind: str, ledger: int, op: str, line: Mapping[str, Any]) -> Change | None:
    event = LEDGERS.get((kind, op))
    if event is None:
        return None
    missing = {"missing": _names(line)} if event == "ledger_marked" else {}
    return Change(ZOOKEEPER, event, {"ledgerId": ledger, **missing})


def _names(line: Mapping[str, Any]) -> list[str]:
    """The servers that a znode's data names (a message in protobuf's text form)."""
    try:
        data = base64.b64decode(line.get("data") or "", validate=True)
    except (TypeError, ValueError, binascii.Error):
        return []
    return [name_of_id(name.decode(errors="replace")) for name in _IN_DATA.findall(data)]


def _zxid(line: Mapping[str, Any]) -> int:
    try:
        return int(str(line.get("zxid")), 16)
    except ValueError:
        return -1
