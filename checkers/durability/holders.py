"""Who had the entries of some blocks: by the wire, by the last census pass, and by disks copied at a death.

And what is known of the lives of bookies and of what became of what they had.

A bookie's answer counts as it was received, before any rule of the run changed it. An acknowledgement that
cannot be attributed to one life of a bookie (forged, ambiguous, boot not known) makes no life a holder; it
leaves room for holders that are not known. Copies that a bookie fetched from others for its own repair do not
cross the wire in a form that could be recognised here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from checkers.facts.alterations import disturbed, emptied
from checkers.facts.boots import bookie_of, boots_of, by_lives, outlasted
from checkers.facts.disks import altered, copied_disks, fallen, on_disks
from checkers.facts.ledgers import histories, passes
from checkers.facts.parts import entries_of
from checkers.facts.wire import ADDS, answers, is_sure, lives
from checkers.judging.contract import Batch, LedgerFacts, Rows, RunFacts
from checkers.sets.spans import Bools, Ints, Spans
from evidence.codes import NEVER, Holding, Status

_LOG_READ = "log_read"
_REPAIRED = ("full_check_complete", "ledger_check_and_copy_end")
By = Mapping[int, Spans]
"""A life or a bookie, by its number -> entries."""


@dataclass(frozen=True, slots=True)
class Holders:
    """Who had entries.

    ``held`` are the acknowledgements of lives, ``doubtful`` those of an unknown life, ``on_disk`` what
    copied disks of lives held, ``shown`` the copies of bookies in the last census pass, whatever their bytes.
    """

    held: By = field(default_factory=dict)
    doubtful: Spans = field(default_factory=Spans.empty)
    on_disk: By = field(default_factory=dict)
    shown: By = field(default_factory=dict)

    def shown_by(self, life: int) -> Spans:
        """What the last census showed on the bookie of a life."""
        return self.shown.get(bookie_of(life), Spans.empty())


def having(sets: By, ledger: int, entries: Ints) -> Iterator[tuple[int, Bools]]:
    """(who, mask of ``entries``) for everyone who has some of these entries of one ledger."""
    for who in sorted(sets):
        had = sets[who].holds(ledger, entries)
        if had.any():
            yield who, had


def acknowledged(batch: Batch) -> Iterator[Rows]:
    """The answers of bookies on the wire that an entry is stored, kind by kind."""
    for kind in ADDS:
        yield answers(batch.frames, kind).of(status=Status.EOK)


def holders_of(entries: Spans, batch: Batch, last: int) -> Holders:
    """Who had some entries; ``last`` is the number of the last census pass."""
    held: dict[int, Spans] = {}
    doubtful = Spans.empty()
    for rows in acknowledged(batch):
        mine = inside(rows, entries)
        sure = mine.where(is_sure(mine))
        for life, those in by(sure, lives(sure)).items():
            held[life] = held.get(life, Spans.empty()) | those
        doubtful |= entries_of(mine.where(~is_sure(mine)))
    copies = inside(batch.census.of(pass_number=last, holding=Holding.PRESENT), entries)
    on_disk = {life: entries & held for life, held in batch.once(on_disks).items()}
    return Holders(held, doubtful, on_disk, by_bookie(copies))


def by(rows: Rows, who: Ints) -> dict[int, Spans]:
    """The entries that rows name, by life or bookie."""
    return {one: entries_of(rows.where(who == one)) for one in np.unique(who).tolist()}


def by_bookie(rows: Rows) -> dict[int, Spans]:
    """The entries that rows name, by their bookie."""
    return by(rows, rows["bookie"])


def inside(rows: Rows, entries: Spans) -> Rows:
    """The rows about entries of a set."""
    return rows.where(entries.has(rows["ledger"], rows["entry"]))


def why_not(run: RunFacts) -> str | None:
    """Why it cannot be said who had an entry, or None."""
    if not run.wire:
        return "no wire log was kept"
    if run.damage_to(("frames",)):
        return "the wire log is damaged"
    if not run.complete or run.damage_to(("servers", "faults")):
        return "the boots of the bookies were not recorded whole"
    return None


class Lives:
    """What is known of the lives of bookies, by their numbers, and of what became of what they had.

    ``steady`` are lives that never lost what they had. ``copied`` are the disks copied at an
    unclean death; ``fallen`` the lives whose end by a recorded fault may have taken what they had,
    ``altered`` those whose disk a fault may have changed afterwards, ``emptied`` those of whose disk a fault
    has taken all since, and when (ns). ``repairs`` are the checks that lives completed, of one ledger or of
    all: from then on they have what they should. Those are all unless ``unlogged`` names lives of guarded
    bookies, which repair themselves, whose log was not read.
    """

    def __init__(self, facts: LedgerFacts, run: RunFacts) -> None:
        self.histories, self.bookies = facts.once(histories), run.bookies
        self.boots = {boot.life: boot for mine in boots_of(run).values() for boot in mine}
        times = facts.once(passes)
        until_ns = times[max(times)].ended_ns if times else NEVER  # who died later had lost nothing by then
        spoiled, wipes = disturbed(run), emptied(run)
        self.steady = {
            life
            for life, boot in self.boots.items()
            if boot.bookie not in spoiled
            and (not (boot.unclean and boot.dying_ns <= until_ns) or outlasted(boot, run))
        }
        self.copied = copied_disks(run)
        self.fallen, self.altered = fallen(run), altered(run)
        self.emptied = {
            life: wipes[boot.bookie].done_ns
            for life, boot in self.boots.items()
            if boot.bookie in wipes and boot.ended_ns <= wipes[boot.bookie].began_ns
        }
        self.repairs = [*by_lives(run, *_REPAIRED)]
        guarded = {life for life, boot in self.boots.items() if run.bookie_name(boot.bookie) in run.guarded}
        self.unlogged = guarded - {life for life, _ in by_lives(run, _LOG_READ)}


def knowledge(facts: LedgerFacts, run: RunFacts) -> Lives | None:
    """What a run's whole wire log and its bookies' boots tell; None without either."""
    return None if why_not(run) else Lives(facts, run)
