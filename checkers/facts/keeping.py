"""What later boots of a bookie must still have, and from when on the bookie may forget a ledger.

A clean shutdown flushes everything. What an unclean end takes depends on the bookie's settings and on the
faults that hit it. Knows boots, faults and metadata; no frame, no census.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise

from checkers.facts.alterations import disturbed, injected
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

    Only of undisturbed bookies. ``kept`` gets a boot, and when the next one began (ns): a fault that began
    later ended that one, and took nothing of what it answered.
    """
    found: dict[int, int] = {}
    for boots in (boots for bookie, boots in boots_of(run).items() if bookie in run.memo(undisturbed)):
        for before, boot in pairwise(boots):
            if kept(before, boot.started_ns) and before.ended_ns != NEVER:
                found[boot.id] = found.get(before.id, before.id)
    return found


def undisturbed(run: RunFacts) -> frozenset[int]:
    """The bookies without a fault that may have hindered a flush, whose disks nothing may have changed.

    Left out are also bookies that the plan starts with other settings, such as other directories.
    """
    inside = (fault for fault in injected(run) if fault["kind"] not in MESSAGES_ONLY)
    lasting = (fault for fault in inside if not effects_of(fault["kind"]).ends)
    hit = run.changed.union(*(fault["target"].split(",") for fault in lasting))
    return frozenset({*run.bookies.values()} - disturbed(run) - {run.bookies.get(name) for name in hit})


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
