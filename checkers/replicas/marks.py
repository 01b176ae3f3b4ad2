"""Marks of under-replicated ledgers: those that repair never ends, that audits do not set, that go too early.

A worker holds a lock while it repairs a ledger, and removes the mark before the lock when it is through
(``ReplicationWorker``, ``ZkLedgerUnderreplicationManager``). A lock that goes while the mark stays is a try
that failed. How long a try takes is promised nowhere, so tries are counted, and only those in a row in which
nothing changed and all was there that repair needs: no fault but dead bookies, a copy of every entry, and a
bookie to replace each that is gone.

An audit marks every ledger that has a lost bookie in an ensemble (``AuditorBookieCheckTask``). One audit may
fail, so they are counted: only those in a row in which nothing changed, that began after the bookie's
registration had vanished and ended before the bookie came back.

A worker removes a mark when it finds nothing to repair (``ReplicationWorker#rereplicate``). A mark is removed
too early while a bookie that it names is gone, and the metadata still name that bookie.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

from checkers.contract import Event, RunFacts
from checkers.facts.alterations import by_commands, injected
from checkers.facts.boots import Health
from checkers.facts.histories import Histories
from checkers.facts.ledgers import Pass
from checkers.facts.versions import Version
from checkers.replicas.copies import in_force
from checkers.replicas.repair import Mark, Repair, in_order
from protocol.addresses import name_of_id
from protocol.faults import effects_of

NOT_MARKED, UNMARKED = "not_marked", "unmarked_unrepaired"
ENOUGH = 5
"""Failed tries in a row that are an anomaly: transient causes, such as a lost connection, end sooner."""
_LIVES, _NODES = ("started", "exit"), ("znode_created", "znode_gone")
_CHANGES = (*_LIVES, *_NODES, "repair_disabled", "repair_enabled")


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

    def take(self, event: Event) -> Iterator[Tries]:
        """Read the next transaction; gives the tries that ended a row of failures, or made it longer."""
        if event.name in ("ledger_marked", "ledger_unmarked"):
            missing = tuple(event.detail.get("missing", ()))
            self.missing = missing if event.name == "ledger_marked" else None
            self.failed = []
        elif event.name == "repair_locked":
            self.locked_ns = event.earliest_ns
        elif self.locked_ns is not None and self.missing is not None:
            yield self._failed(self.locked_ns, event.latest_ns, self.missing)
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
    for event in in_order(event for event in run.events(*told) if event.latest_ns < by_ns):
        ledger = event.ledger
        if ledger not in stories:
            moves = [(version.earliest_ns, version.latest_ns) for version in histories.of.get(ledger, ())]
            stories[ledger] = _Story(ledger, changed + moves)
        for tries in stories[ledger].take(event):
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
    for event in run.events(*_CHANGES):
        yield event.earliest_ns, event.latest_ns
    for fault in injected(run):
        over = "confirmed_ns" if effects_of(fault["kind"]).at_once else "healed_ns"
        yield int(fault["injected_ns"]), int(fault[over])
    for change in by_commands(run):
        yield change.began_ns, change.over_ns


class Absence(NamedTuple):
    """A bookie that was gone during ``audits`` audits in a row, from the first to the last of them (ns)."""

    bookie: str
    audits: int
    began_ns: int
    ended_ns: int


def absences(repair: Repair) -> Iterator[Absence]:
    """Bookies that were gone during at least :data:`ENOUGH` audits between which nothing changed."""
    audits = list(repair.audits())
    for since_ns, until_ns in _calm(repair.run, repair.by_ns):
        within = [(began, ended) for began, ended in audits if since_ns < began and ended < until_ns]
        if len(within) >= ENOUGH:
            times = min(began for began, _ in within), max(ended for _, ended in within)
            yield from (Absence(name, len(within), *times) for name in _gone(repair.run, since_ns))


def owed(absence: Absence, versions: tuple[Version, ...], due: int, marks: tuple[Mark, ...]) -> bool:
    """Whether a ledger should have been marked for it, and was not.

    ``versions`` may have been in force meanwhile, ``due`` is the last entry that needs its copies.
    """
    named = all(_names(version, absence.bookie, due) for version in versions)
    made_ns = versions[0].latest_ns if versions else absence.began_ns
    marked = any(mark.earliest_ns <= absence.ended_ns and mark.there for mark in marks)
    return named and made_ns < absence.began_ns and not marked


def removed_early(
    run: RunFacts, marks: tuple[Mark, ...], chain: tuple[Version, ...], due: int
) -> Iterator[tuple[str, Mark]]:
    """Each bookie that was gone and still named when a mark that wants its copies was first removed."""
    found: dict[str, Mark] = {}
    for mark, end in pairwise(marks):
        if not mark.there or end.there:
            continue
        versions = in_force(chain, Pass(end.earliest_ns, end.latest_ns))
        for name in mark.missing:
            away = name in _gone(run, mark.earliest_ns) and not _seen(
                run, name, mark.earliest_ns, end.latest_ns
            )
            if away and versions and all(_names(version, name, due) for version in versions):
                found.setdefault(name, end)
    yield from found.items()


def _names(version: Version, name: str, due: int) -> bool:
    """Whether a fragment with entries up to ``due`` names the bookie."""
    return any(first <= due and name in map(name_of_id, names) for first, names in version.fragments)


def _seen(run: RunFacts, name: str, since_ns: int, until_ns: int) -> bool:
    """Whether the bookie may have started or registered between two times."""
    return any(
        event.server == name and event.latest_ns >= since_ns and event.earliest_ns <= until_ns
        for event in run.events("started", "znode_created")
    )


def _calm(run: RunFacts, by_ns: int) -> Iterator[tuple[int, int]]:
    """The times between changes (ns, from and until)."""
    over_ns = -1
    for began_ns, ended_ns in sorted([*changes(run), (by_ns, by_ns)]):
        if over_ns < began_ns:
            yield over_ns, min(began_ns, by_ns)
        over_ns = max(over_ns, ended_ns)


def _gone(run: RunFacts, at_ns: int) -> Iterator[str]:
    """The bookies that had ended, and whose registration had vanished, when nothing was changing."""
    for name in run.bookies:
        last: dict[bool, str] = {}
        mine = (one for one in run.events(*_LIVES, *_NODES) if one.server == name and one.latest_ns <= at_ns)
        for event in sorted(mine, key=lambda event: (event.latest_ns, event.earliest_ns)):
            last[event.name in _LIVES] = event.name
        if last == {True: "exit", False: "znode_gone"}:
            yield name
