"""Repair that never ends: a worker tried a ledger again and again, failed, and left it marked.

A worker holds a lock while it repairs a ledger, and removes the mark before the lock when it is through
(``ReplicationWorker``, ``ZkLedgerUnderreplicationManager``). A lock that goes while the mark stays is a try
that failed. How long a try takes is promised nowhere, so tries are counted, and only those in a row in which
nothing changed and all was there that repair needs: no fault but dead bookies, a copy of every entry, and a
bookie to replace each that is gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from checkers.contract import RunFacts
from checkers.facts.alterations import by_commands, injected
from checkers.facts.health import Health
from checkers.facts.histories import Histories
from checkers.facts.versions import Version
from checkers.replicas.repair import in_order
from protocol.addresses import name_of_id
from protocol.faults import effects_of

ENOUGH = 5
"""Failed tries in a row that are an anomaly: transient causes, such as a lost connection, end sooner."""
_CHANGES = ("started", "exit", "znode_created", "znode_gone", "repair_disabled", "repair_enabled")


@dataclass(frozen=True, slots=True)
class Tries:
    """Tries to repair one ledger that failed in a row: how many, between which times (ns).

    ``missing`` are the bookies that its mark named.
    """

    ledger: int
    number: int
    began_ns: int
    ended_ns: int
    missing: tuple[str, ...]


@dataclass
class _Story:
    """One ledger's mark and lock, transaction by transaction."""

    ledger: int
    changes: list[tuple[int, int]]
    missing: tuple[str, ...] | None = None
    locked_ns: int | None = None
    failed: list[tuple[int, int]] = field(default_factory=list)

    def take(self, row: Mapping[str, Any]) -> Iterator[Tries]:
        """Read the next transaction; gives the tries that ended a row of failures, or made it longer."""
        event = row["event"]
        if event in ("ledger_marked", "ledger_unmarked"):
            missing = tuple(json.loads(row["detail"]).get("missing", ()))
            self.missing = missing if event == "ledger_marked" else None
            self.failed = []
        elif event == "repair_locked":
            self.locked_ns = int(row["earliest_ns"])
        elif self.locked_ns is not None and self.missing is not None:
            yield self._failed(self.locked_ns, int(row["latest_ns"]), self.missing)
            self.locked_ns = None

    def _failed(self, began_ns: int, ended_ns: int, missing: tuple[str, ...]) -> Tries:
        since_ns = max((over for at, over in self.changes if at <= ended_ns), default=-1)
        self.failed = [one for one in (*self.failed, (began_ns, ended_ns)) if one[0] > since_ns]
        first_ns = self.failed[0][0] if self.failed else began_ns
        return Tries(self.ledger, len(self.failed), first_ns, ended_ns, missing)


def failed_tries(run: RunFacts, histories: Histories, by_ns: int) -> Mapping[int, Tries]:
    """Ledger -> the longest row of failed tries, of ledgers with :data:`ENOUGH` or more, before ``by_ns``."""
    changed, found = list(changes(run)), dict[int, Tries]()
    stories: dict[int, _Story] = {}
    told = (*("ledger_marked", "ledger_unmarked"), *("repair_locked", "repair_unlocked"))
    rows = (row for row in run.servers if row["event"] in told and row["latest_ns"] < by_ns)
    for row in in_order(rows):
        ledger = int(json.loads(row["detail"])["ledgerId"])
        if ledger not in stories:
            moves = [(version.earliest_ns, version.latest_ns) for version in histories.of.get(ledger, ())]
            stories[ledger] = _Story(ledger, changed + moves)
        for tries in stories[ledger].take(row):
            if tries.number >= max(ENOUGH, found[ledger].number if ledger in found else 0):
                found[ledger] = tries
    return found


def promised(tries: Tries, version: Version, lacking: frozenset[int], run: RunFacts) -> bool:
    """Whether repair had all that it needs, for the one version that was in force all the while.

    ``lacking`` are bookies that owed a copy afterwards and showed none. Where racks decide who may take
    whose place nothing is promised here.
    """
    if run.racks:
        return False
    health = Health(run, tries.began_ns, tries.ended_ns)
    gone = {run.bookies.get(name) for name in tries.missing} | lacking | health.lossy().keys()
    whole = {bookie for bookie in run.bookies.values() if health.boot(bookie) and bookie not in gone}
    if len(whole) < version.shape[0]:
        return False
    positions = version.metadata().quorums.write_sets()
    ensembles = ([run.bookies.get(name_of_id(one)) for one in names] for _, names in version.fragments)
    write_sets = chain.from_iterable(
        ([one[at] for at in places] for places in positions) for one in ensembles
    )
    return all(sum(bookie not in whole for bookie in duty) < version.shape[2] for duty in write_sets)


def changes(run: RunFacts) -> Iterator[tuple[int, int]]:
    """When something changed or was active that may make a try fail or succeed (ns, from and until)."""
    for row in run.servers:
        if row["event"] in _CHANGES:
            yield int(row["earliest_ns"]), int(row["latest_ns"])
    for fault in injected(run):
        over = "confirmed_ns" if effects_of(fault["kind"]).at_once else "healed_ns"
        yield int(fault["injected_ns"]), int(fault[over])
    for change in by_commands(run):
        yield change.began_ns, change.over_ns
