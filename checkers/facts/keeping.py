"""What later boots of a bookie must still have, and from when on the bookie may forget a ledger.

A clean shutdown flushes everything. What an unclean end takes depends on the bookie's settings and on the
faults that hit it. A fault proves nothing about answers that were given before it was planned. Knows boots,
faults and metadata; no frame, no census.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

from checkers.facts.alterations import alterations, injected
from checkers.facts.boots import Boot, boots_of, outlasted
from checkers.facts.ledgers import RELEASED, histories
from checkers.judging.contract import LedgerFacts, RunFacts
from evidence.codes import NEVER
from protocol.faults import MESSAGES_ONLY, Loses, effects_of


def flushed_since(run: RunFacts) -> Mapping[int, int]:
    """Boot -> the earliest boot of its bookie such that it and all before this one were shut down cleanly."""
    return _kept_since(run, lambda boot, _: not boot.unclean)


def durable_since(run: RunFacts) -> Mapping[int, int]:
    """The same of boots that ended cleanly, or in a way that cannot take what they had acknowledged."""
    return _kept_since(run, lambda boot, by_ns: not boot.unclean or outlasted(boot, run, by_ns))


def fenced_since(run: RunFacts) -> Mapping[int, int]:
    """The same of boots whose end cannot have taken a fence that they had confirmed.

    A bookie journals its fences also where it journals no adds (``logFenceEntryInJournal``).
    """
    return _kept_since(run, lambda boot, by_ns: not boot.unclean or outlasted(_journaling(boot), run, by_ns))


def _journaling(boot: Boot) -> Boot:
    """The same with at least what a journal keeps, if its settings are known."""
    return boot if boot.least_loss is None else replace(boot, least_loss=max(boot.least_loss, Loses.UNSYNCED))


def _kept_since(run: RunFacts, kept: Callable[[Boot, int], bool]) -> Mapping[int, int]:
    """Boot -> the earliest boot of its bookie such that it and all before this one kept what they had.

    ``kept`` gets a boot, and when the next one began (ns): a fault that began later ended that one, and took
    nothing of what it answered.
    """
    found: dict[int, int] = {}
    for boots in boots_of(run).values():
        for before, boot in pairwise(boots):
            if kept(before, boot.started_ns) and before.ended_ns != NEVER:
                found[boot.id] = found.get(before.id, before.id)
    return found


def flushed_until(run: RunFacts) -> Mapping[int, int]:
    """Bookie -> from when a fault may have hindered a flush, or something changed what its disk holds."""
    found = dict(run.memo(_unchanged_until))
    inside = (fault for fault in injected(run) if fault["kind"] not in MESSAGES_ONLY)
    for fault in inside:
        if not effects_of(fault["kind"]).ends:
            for bookie in {run.bookies.get(name, -1) for name in fault["target"].split(",")}:
                found[bookie] = min(found.get(bookie, NEVER), fault["planned_ns"])
    return found


def durable_until(run: RunFacts) -> Mapping[int, int]:
    """The same of what it acknowledged as durable: where each boot journals that, no flush matters."""
    return _until(run, lambda boot: boot.least_loss)


def fenced_until(run: RunFacts) -> Mapping[int, int]:
    """The same of the fences that it confirmed."""
    return _until(run, lambda boot: _journaling(boot).least_loss)


def _until(run: RunFacts, least_loss: Callable[[Boot], Loses | None]) -> Mapping[int, int]:
    found = dict(run.memo(flushed_until))
    for bookie, boots in boots_of(run).items():
        if all((least_loss(boot) or Loses.NOTHING) > Loses.MEMORY for boot in boots):
            found[bookie] = run.memo(_unchanged_until).get(bookie, NEVER)
    return found


def _unchanged_until(run: RunFacts) -> Mapping[int, int]:
    """Bookie -> from when something may have changed what its disk holds (ns).

    From the beginning where the plan starts it with other settings, such as other directories.
    """
    found = dict.fromkeys((run.bookies[name] for name in run.changed if name in run.bookies), 0)
    for change in alterations(run):
        for bookie in change.bookies:
            found[bookie] = min(found.get(bookie, NEVER), change.began_ns)
    return found


def forgotten_ns(ledger: int, bookie: int, facts: LedgerFacts, run: RunFacts) -> int:
    """When the bookie may have begun to forget the ledger: 0 if a version, or any, was not seen."""
    metadata, name = facts.memo(histories), run.bookie_name(bookie)
    if not metadata.seen_whole(ledger):
        return 0
    ends = [NEVER, *(at_ns for _, at_ns in facts.rows(RELEASED, ledger))]
    if ledger in metadata.deleted:
        ends.append(metadata.deleted[ledger].earliest_ns)
    for version in metadata.versions.get(ledger, ()):
        if version.closed and name not in version.bookies:
            ends.append(version.earliest_ns)
    return min(ends)
