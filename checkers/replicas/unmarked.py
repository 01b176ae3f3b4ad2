"""Ledgers that audit after audit left unmarked, although a bookie that they name was gone.

An audit marks every ledger that has a lost bookie in an ensemble (``AuditorBookieCheckTask``). One audit may
fail, so they are counted: only those in a row in which nothing changed, that began after the bookie's
registration had vanished and ended before the bookie came back.

A worker removes a mark when it finds nothing to repair (``ReplicationWorker#rereplicate``). A mark is removed
too early while a bookie that it names is gone, and the metadata still name that bookie.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from checkers.contract import RunFacts
from checkers.facts.ledgers import Pass
from checkers.facts.versions import Version
from checkers.replicas.copies import in_force
from checkers.replicas.repair import Mark, Repair
from checkers.replicas.unending import ENOUGH, changes
from protocol.addresses import name_of_id

NOT_MARKED, UNMARKED = "not_marked", "unmarked_unrepaired"


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
        row["server"] == name
        and row["event"] in ("started", "znode_created")
        and row["latest_ns"] >= since_ns
        and row["earliest_ns"] <= until_ns
        for row in run.servers
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
        rows = [row for row in run.servers if row["server"] == name and row["latest_ns"] <= at_ns]
        rows.sort(key=lambda row: (row["latest_ns"], row["earliest_ns"]))
        lives = [row["event"] for row in rows if row["event"] in ("started", "exit")]
        nodes = [row["event"] for row in rows if row["event"] in ("znode_created", "znode_gone")]
        if lives[-1:] == ["exit"] and nodes[-1:] == ["znode_gone"]:
            yield name
