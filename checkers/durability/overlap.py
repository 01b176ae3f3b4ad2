"""Whether every holder of an entry lost it, and all of them before anybody gave it back to one.

An entry is lost permanently when all its holders have lost it at one time: each died by a recorded fault that
may take what it had acknowledged, with a disk that lacked it, or a fault took all of its disk after its end,
and between the first of these ends and the last of these losses no repair was completed by a bookie that
should hold it. A repair before the first of them makes a holder as well, though nothing of it crossed the
wire, and so does a disk that held it. Copies that replication made are known by the metadata that names them.
What the last census shows was not lost. Source: the rules in ``docs/verdicts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from checkers.durability.holders import Holders, Lives, Repair, having
from checkers.facts.boots import bookie_of
from checkers.facts.versions import Version, duties
from checkers.sets.spans import Bools, Ints
from evidence.codes import NEVER


def explained(ledger: int, entries: Ints, holders: Holders, known: Lives) -> Bools:
    """Mask of the entries of one ledger that are proven to have been lost so."""
    if not known.histories.seen_whole(ledger):
        return np.zeros(len(entries), dtype=np.bool_)
    chain = known.histories.of[ledger]
    due = duties(chain, entries, known.bookies)
    overlap = _Overlap(entries, dict(having(holders.on_disk, ledger, entries)), known)
    for life, had in (*having(holders.held, ledger, entries), *overlap.on_disk.items()):
        overlap.lost_with(life, had)
    for spared in (holders.doubtful, *holders.shown.values()):
        overlap.proven &= ~spared.holds(ledger, entries)
    repairs, died_ns = list(_repairs(ledger, chain[0].earliest_ns, due, known)), overlap.first_ns.copy()
    for repair, duty in repairs:  # before the first death it makes a holder, in between it undoes the loss
        overlap.lost_with(repair.life, duty & (repair.latest_ns < died_ns))
    for repair, duty in repairs:
        between = (repair.latest_ns >= overlap.first_ns) & (repair.earliest_ns <= overlap.last_ns)
        overlap.proven &= ~(duty & between)
    # Who repaired without a log, or replicated, may have made copies on bookies that were not asked.
    unseen = [known.boots[life].started_ns for life in known.unlogged]
    moves = [new.earliest_ns for old, new in pairwise(chain) if _moved(old, new)]
    overlap.proven &= overlap.last_ns < min([*unseen, *moves], default=NEVER)
    return overlap.proven & (overlap.first_ns < NEVER)


def _repairs(
    ledger: int, since_ns: int, due: Mapping[int, Bools], known: Lives
) -> Iterator[tuple[Repair, Bools]]:
    """Each check of this ledger that can have found it, and the entries that it was due to bring."""
    for repair in known.repairs:
        duty = due.get(bookie_of(repair.life))
        if repair.ledger in (-1, ledger) and repair.latest_ns >= since_ns and duty is not None:
            yield repair, duty


def never_lost(ledger: int, entries: Ints, holders: Holders, known: Lives) -> Bools:
    """Mask of the entries that a holder, responsible to the end, never lost, or that it shows still.

    Nothing that befell it may take what it had, or its disk held it at its death and nothing can have changed
    that since. A bookie that the metadata does not name any more collects its copies lawfully.
    """
    kept = np.zeros(len(entries), dtype=np.bool_)
    on_disk = dict(having(holders.on_disk, ledger, entries))
    due = _to_the_end(ledger, entries, known)
    for life, had in having(holders.held, ledger, entries):
        kept |= had & holders.shown_by(life).holds(ledger, entries)
        if bookie_of(life) in due:
            duty = had & due[bookie_of(life)]
            if life in known.steady:
                kept |= duty
            elif life in on_disk and life not in known.altered:
                kept |= duty & on_disk[life]
    return kept


def _to_the_end(ledger: int, entries: Ints, known: Lives) -> dict[int, Bools]:
    """Bookie -> the entries that are its duty in the end, if no version ceased to name it before."""
    if not known.histories.seen_whole(ledger):
        return {}
    chain = known.histories.of[ledger]
    ceased = {known.bookies.get(name) for old, new in pairwise(chain) for name in old.bookies - new.bookies}
    due = duties(chain[-1:], entries, known.bookies)
    return {bookie: mask for bookie, mask in due.items() if bookie not in ceased}


class _Overlap:
    """Some entries of one ledger: which are still proven, and from when to when their holders lost them.

    ``on_disk`` is what lives' disks held of them at their deaths.
    """

    def __init__(self, entries: Ints, on_disk: Mapping[int, Bools], known: Lives) -> None:
        self.on_disk, self._known = on_disk, known
        self._none = np.zeros(len(entries), dtype=np.bool_)
        self.proven = ~self._none
        self.first_ns = np.full(len(entries), NEVER, dtype=np.int64)
        self.last_ns = np.full(len(entries), -1, dtype=np.int64)

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
        self.first_ns[gone] = np.minimum(self.first_ns[gone], boot.dying_ns)
        self.last_ns[gone] = np.maximum(self.last_ns[gone], lost_ns[gone])

    def _lacking(self, life: int) -> Bools:
        """What a disk provably lacked when its life had ended."""
        copied = self._known.copied.get(life)
        if copied is None or copied.why_not:
            return self._none
        return ~self.on_disk.get(life, self._none)


def _moved(old: Version, new: Version) -> bool:
    """Whether bookies were replaced that replication alone replaces: not of the last fragment while open."""
    before = old.fragments if old.closed else old.fragments[:-1]
    after = dict(new.fragments)
    return any(after.get(first) != bookies for first, bookies in before)
