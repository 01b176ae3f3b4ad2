"""Marks of under-replicated ledgers: repair never ends them, audits do not set them, or they go too early.

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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from checkers.facts.boots import READ_ONLY, Health
from checkers.facts.histories import Histories
from checkers.facts.versions import Version, in_force
from checkers.judging.contract import Event, RunFacts
from checkers.replicas.copies import due_entries
from checkers.replicas.repair import MARKED, UNMARKED, Repair, in_order, meddling, missing
from evidence.codes import NEVER
from evidence.findings import Finding
from protocol.addresses import name_of_id

ENOUGH = 5
"""Failed tries in a row that are an anomaly: transient causes, such as a lost connection, end sooner."""
_LIVES, _NODES = ("started", "exit"), ("znode_created", "znode_gone")
_STATES = (_LIVES, _NODES, READ_ONLY)
"""How a bookie's process and its registrations, as writable and as read-only, begin and end."""
_BACK = tuple(begins for begins, _ in _STATES)
_PRESENCE = (*_LIVES, *_NODES, *READ_ONLY)
_CHANGES = (*_PRESENCE, "repair_disabled", "repair_enabled")


class Tries(NamedTuple):
    """Tries to repair a ledger that failed in a row: how many, between which times (ns).

    ``missing`` are the bookies that its mark named.
    """

    number: int
    began_ns: int
    ended_ns: int
    missing: tuple[str, ...]


def failed_tries(run: RunFacts, histories: Histories, by_ns: int) -> Mapping[int, Tries]:
    """Ledger -> the longest row of failed tries, of ledgers with :data:`ENOUGH` or more, before ``by_ns``."""
    changed, found = list(changes(run)), dict[int, Tries]()
    by_ledger: dict[int, list[Event]] = {}
    for event in in_order(run.events(MARKED, UNMARKED, "repair_locked", "repair_unlocked")):
        if event.latest_ns < by_ns:
            by_ledger.setdefault(event.ledger, []).append(event)
    for ledger, events in by_ledger.items():
        moves = [(version.earliest_ns, version.latest_ns) for version in histories.versions.get(ledger, ())]
        for tries in _failures(events, changed + moves):
            if tries.number >= max(ENOUGH, found[ledger].number if ledger in found else 0):
                found[ledger] = tries
    return found


def _failures(events: Iterable[Event], changes: Sequence[tuple[int, int]]) -> Iterator[Tries]:
    """The row of failures that each failed try of one ledger ended; events of its mark and lock in order."""
    mark: Event | None = None
    locked_ns, failed = None, list[tuple[int, int]]()
    for event in events:
        if event.name in (MARKED, UNMARKED):
            mark, failed = event if event.name == MARKED else None, []
        elif event.name == "repair_locked":
            locked_ns = event.earliest_ns
        elif locked_ns is not None and mark is not None:
            since_ns = max((over for at, over in changes if at <= event.latest_ns), default=-1)
            failed = [one for one in (*failed, (locked_ns, event.latest_ns)) if one[0] > since_ns]
            began_ns = failed[0][0] if failed else locked_ns
            yield Tries(len(failed), began_ns, event.latest_ns, missing(mark))
            locked_ns = None


def promised(tries: Tries, version: Version, lacking: frozenset[int], run: RunFacts) -> bool:
    """Whether repair had all that it needs, for the one version that was in force all the while.

    ``lacking`` are bookies that owed a copy afterwards and showed none. A read-only bookie may have copies,
    and takes none. Where racks decide who may take whose place nothing is promised here.
    """
    if run.racks:
        return False
    health = Health(run, tries.began_ns, tries.ended_ns)
    gone = {run.bookies.get(name) for name in tries.missing} | lacking | health.lossy().keys()
    whole = {name for name, number in run.bookies.items() if health.boot(number) and number not in gone}
    ensemble, _, ack = version.shape
    if len(whole - {run.bookie_name(number) for number in health.read_only()}) < ensemble:
        return False
    write_sets = (
        {name_of_id(bookies[at]) for at in places}
        for places in version.metadata().quorums.write_sets()
        for _, bookies in version.fragments
    )
    return all(len(names - whole) < ack for names in write_sets)


def changes(run: RunFacts) -> Iterator[tuple[int, int]]:
    """When something changed or was active that may make a try fail or succeed (ns, from and until)."""
    for event in run.events(*_CHANGES):
        yield event.earliest_ns, event.latest_ns
    yield from ((began_ns, over_ns) for began_ns, over_ns, _ in meddling(run))


class Absence(NamedTuple):
    """A bookie that was gone during audits in a row.

    ``windows`` are the first and the last moment (ns) of each :data:`ENOUGH` of them in a row.
    """

    bookie: str
    windows: Sequence[tuple[int, int]]


def absences(repair: Repair) -> Iterator[Absence]:
    """Bookies that were gone during audits in a row between which nothing changed."""
    audits = sorted(repair.audits())
    for since_ns, until_ns in _calm(repair.run, repair.by_ns):
        within = [(began, ended) for began, ended in audits if since_ns < began and ended < until_ns]
        rows = (within[at : at + ENOUGH] for at in range(len(within) - ENOUGH + 1))
        windows = [(row[0][0], max(ended for _, ended in row)) for row in rows]
        gone = (name for name in repair.run.bookies if windows and _is_gone(name, since_ns, repair.run))
        yield from (Absence(name, windows) for name in gone)


def not_marked(
    ledger: int, chain: tuple[Version, ...], lac: int, away: Iterable[Absence], repair: Repair
) -> Iterator[Finding]:
    """A ledger that audits did not mark for a bookie that was gone; ``lac`` is the highest LAC received."""
    run, marks, found = repair.run, repair.marks.get(ledger, ()), set[str]()
    for absence in away:
        lost = absence.bookie
        passed_over = None if lost in found else _passed_over(absence, chain, lac, marks)
        if passed_over:
            found.add(lost)
            version, began_ns, ended_ns = passed_over
            yield run.finding(
                "replicas/not_marked",
                (ledger,),
                f"{ENOUGH} audits did not mark it, although {lost} was gone",
                f"metadata version {version.version} names {lost}",
                f"{lost} had ended, and its registration had vanished",
                f"{ENOUGH} audits began and ended between {run.time_text(began_ns)} and "
                f"{run.time_text(ended_ns)}; nothing else changed, and no fault was active",
                repair.summary_of(ledger, ended_ns),
            )


def _passed_over(
    absence: Absence, chain: tuple[Version, ...], lac: int, marks: Sequence[Event]
) -> tuple[Version, int, int] | None:
    """The last version in force during the first audits that had to mark a ledger and did not; and when."""
    lost, windows = absence
    # One mark may cover all of the audits.
    if _marked_during(marks, windows[-1][0], min(ended_ns for _, ended_ns in windows)):
        return None
    for began_ns, ended_ns in windows:
        versions = in_force(chain, began_ns, ended_ns)
        due = due_entries(versions, lac)
        named = bool(versions) and all(_names(version, lost, due) for version in versions)
        if named and versions[0].latest_ns < began_ns and not _marked_during(marks, began_ns, ended_ns):
            return versions[-1], began_ns, ended_ns
    return None


def _marked_during(marks: Sequence[Event], began_ns: int, ended_ns: int) -> bool:
    """Whether a mark may have been there at some time between; ``marks`` are a ledger's changes in order."""
    ends = (*(event.latest_ns for event in marks[1:]), NEVER)
    return any(
        mark.name == MARKED and mark.earliest_ns <= ended_ns and over_ns >= began_ns
        for mark, over_ns in zip(marks, ends, strict=False)
    )


def unmarked_early(ledger: int, chain: tuple[Version, ...], lac: int, repair: Repair) -> Iterator[Finding]:
    """A mark that was removed while a bookie whose copies it wants was gone and still named."""
    run, due, found = repair.run, due_entries(chain[-1:], lac), set[str]()
    for mark, end in pairwise(repair.marks.get(ledger, ())):
        versions = in_force(chain, end.earliest_ns, end.latest_ns)
        for lost in missing(mark) if end.name == UNMARKED and versions else ():
            back = (
                event.name in _BACK
                and event.latest_ns >= mark.earliest_ns
                and event.earliest_ns <= end.latest_ns
                for event in run.memo(_presence).get(lost, ())
            )
            named = all(_names(version, lost, due) for version in versions)
            if named and lost not in found and not any(back) and _is_gone(lost, mark.earliest_ns, run):
                found.add(lost)
                yield run.finding(
                    "replicas/unmarked_unrepaired",
                    (ledger,),
                    f"its mark was removed although {lost} was gone and not replaced",
                    f"the mark, lacking {lost}, was removed at {run.time_text(end.latest_ns)}",
                    f"{lost} had ended before the mark was made, and did not start until it was removed",
                    f"every version of the metadata in force then names {lost}",
                    repair.summary_of(ledger),
                )


def _names(version: Version, name: str, due: int) -> bool:
    """Whether a fragment with entries up to ``due`` names the bookie."""
    return any(first <= due and name in map(name_of_id, names) for first, names in version.fragments)


def _calm(run: RunFacts, by_ns: int) -> Iterator[tuple[int, int]]:
    """The times between changes (ns, from and until)."""
    over_ns = -1
    for began_ns, ended_ns in sorted([*changes(run), (by_ns, by_ns)]):
        if over_ns < began_ns:
            yield over_ns, began_ns
        over_ns = max(over_ns, ended_ns)


def _is_gone(name: str, at_ns: int, run: RunFacts) -> bool:
    """Whether a bookie had ended, and no registration of it was left, when nothing was changing."""
    before = [event.name for event in run.memo(_presence).get(name, ()) if event.latest_ns <= at_ns]
    last = {states: event for event in before for states in _STATES if event in states}
    return {READ_ONLY: READ_ONLY[1]} | last == {states: states[1] for states in _STATES}


def _presence(run: RunFacts) -> Mapping[str, list[Event]]:
    """Bookie -> its starts, ends and registrations, by time."""
    found: dict[str, list[Event]] = {name: [] for name in run.bookies}
    events = (event for event in run.events(*_PRESENCE) if event.server in found)
    for event in sorted(events, key=lambda event: (event.latest_ns, event.earliest_ns)):
        found[event.server].append(event)
    return found
