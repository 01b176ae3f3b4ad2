"""Whether every holder of an entry lost it, and all of them before anybody gave it back to one.

An entry is lost permanently when all its holders have lost it at one time: each died by a recorded fault that
may take what it had acknowledged, with a disk that lacked it, or a fault took all of its disk after its end,
and between the first of these ends and the last of these losses no repair was completed by a bookie that
should hold it. A repair before the first of them makes a holder as well, though nothing of it crossed the
wire, and so does a disk that held it. Copies that replication made are known by the metadata that names them.
What the last census shows was not lost. Source: the rules in ``docs/verdicts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from checkers.durability.holders import HolderFacts, Holders, Repair, having
from checkers.facts.boots import bookie_of
from checkers.facts.versions import Version, duties
from checkers.sets.spans import Bools, Ints, Spans
from evidence.codes import NEVER
from protocol.addresses import name_of_id


def explained(ledger: int, entries: Ints, holders: Holders, known: HolderFacts) -> Bools:
    """Mask of the entries of one ledger that are proven to have been lost so."""
    if not known.histories.seen_whole(ledger):
        return np.zeros(len(entries), dtype=np.bool_)
    overlap = _Overlap(ledger, entries, holders, known)
    for life, had in having(holders.held, ledger, entries):
        overlap.lost_with(life, had)
    for life, held in overlap.on_disk.items():
        overlap.lost_with(life, held)
    spared = (holders.doubtful, *holders.shown.values())
    overlap.spare(those.holds(ledger, entries) for those in spared)
    overlap.repaired()
    overlap.replicated()
    return overlap.proven & (overlap.first < NEVER)


def never_lost(ledger: int, entries: Ints, holders: Holders, known: HolderFacts) -> Bools:
    """Mask of the entries that a holder, responsible to the end, never lost, or that it shows still.

    Nothing that befell it may take what it had, or its disk held it at its death and nothing can have changed
    that since. A bookie that the metadata does not name any more collects its copies lawfully.
    """
    kept = np.zeros(len(entries), dtype=np.bool_)
    on_disk = dict(having(holders.on_disk, ledger, entries))
    due = _to_the_end(ledger, entries, known)
    for life, had in having(holders.held, ledger, entries):
        kept |= had & holders.shown.get(bookie_of(life), Spans.empty()).holds(ledger, entries)
        if bookie_of(life) in due:
            duty = had & due[bookie_of(life)]
            if life in known.steady:
                kept |= duty
            elif life in on_disk and life not in known.altered:
                kept |= duty & on_disk[life]
    return kept


def _to_the_end(ledger: int, entries: Ints, known: HolderFacts) -> dict[int, Bools]:
    """Bookie -> the entries that are its duty in the end, if no version ceased to name it before."""
    if not known.histories.seen_whole(ledger):
        return {}
    chain = known.histories.of[ledger]
    named = [{name_of_id(name) for _, bookies in one.fragments for name in bookies} for one in chain]
    ceased = {known.bookies.get(name) for old, new in pairwise(named) for name in old - new}
    due = duties(chain[-1:], entries, known.bookies)
    return {bookie: mask for bookie, mask in due.items() if bookie not in ceased}


class _Overlap:
    """The entries of one ledger: which are still proven, and from when to when their holders lost them.

    ``on_disk`` is what lives' disks held of them at their deaths.
    """

    def __init__(self, ledger: int, entries: Ints, holders: Holders, known: HolderFacts) -> None:
        self._ledger, self._entries, self._known = ledger, entries, known
        self._chain = known.histories.of[ledger]
        self.on_disk = dict(having(holders.on_disk, ledger, entries))
        self.proven = np.ones(len(entries), dtype=np.bool_)
        self.first = np.full(len(entries), NEVER, dtype=np.int64)
        self.last = np.full(len(entries), -1, dtype=np.int64)

    def lost_with(self, life: int, had: Bools) -> None:
        """A life had these; they were lost at its death, where its disk is known, or by a wipe after it."""
        boot = self._known.boots.get(life)
        if boot is None:
            self.proven &= ~had
            return
        died_ns = boot.ended_ns if life in self._known.fallen else NEVER
        lost_ns = np.where(self._lacking(life), died_ns, self._known.emptied.get(life, NEVER))
        gone = had & (lost_ns < NEVER)
        self.proven &= ~had | gone
        self.first[gone] = np.minimum(self.first[gone], boot.dying_ns)
        self.last[gone] = np.maximum(self.last[gone], lost_ns[gone])

    def _lacking(self, life: int) -> Bools:
        """What a disk provably lacked when its life had ended."""
        none = np.zeros(len(self._entries), dtype=np.bool_)
        copied = self._known.copied.get(life)
        if copied is None or copied.why_not:
            return none
        return ~self.on_disk.get(life, none)

    def spare(self, masks: Iterator[Bools]) -> None:
        """These are not proven to be lost."""
        for mask in masks:
            self.proven &= ~mask

    def repaired(self) -> None:
        """Take checks into account: those before the first death make holders, those in between undo it."""
        first = self.first.copy()
        concerning = [(repair, due) for repair, due in self._repairs() if due.any()]
        for repair, due in concerning:
            self.lost_with(repair.life, due & (repair.latest_ns < first))
        self.spare(
            due & (repair.latest_ns >= self.first) & (repair.earliest_ns <= self.last)
            for repair, due in concerning
        )
        self.spare(iter([self._began_by_then(life) for life in self._known.unlogged]))

    def replicated(self) -> None:
        """Copies that replication made before the last death may be on bookies that were not asked."""
        moves = [new.earliest_ns for old, new in pairwise(self._chain) if _moved(old, new)]
        self.spare(move <= self.last for move in moves)

    def _repairs(self) -> Iterator[tuple[Repair, Bools]]:
        """Each check of this ledger that can have found it, and the entries that it was due to bring."""
        due = duties(self._chain, self._entries, self._known.bookies)
        for repair in self._known.repairs:
            young = repair.latest_ns < self._chain[0].earliest_ns
            if repair.concerns(self._ledger) and not young and bookie_of(repair.life) in due:
                yield repair, due[bookie_of(repair.life)]

    def _began_by_then(self, life: int) -> Bools:
        return np.asarray(self._known.boots[life].started_ns <= self.last)


def _moved(old: Version, new: Version) -> bool:
    """Whether bookies were replaced that replication alone replaces: not of the last fragment while open."""
    before = old.fragments if old.closed else old.fragments[:-1]
    after = dict(new.fragments)
    return any(after.get(first) != bookies for first, bookies in before)
