"""Who had the entries of some blocks: by the wire, by the last census pass, and by disks copied at a death.

And what is known of the boots of bookies and of what became of what they had.

A bookie's answer counts as it was received, before any rule of the run changed it. An acknowledgement that
cannot be attributed to one boot of a bookie (forged, ambiguous, boot not known) makes no boot a holder; it
leaves room for holders that are not known. Copies that a bookie fetched from others for its own repair do not
cross the wire in a form that could be recognised here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from checkers.facts.alterations import disturbed, emptied
from checkers.facts.boots import bookie_of, boot_events, boots_of, outlasted
from checkers.facts.disks import altered, copied_disks, fallen, on_disks
from checkers.facts.ledgers import histories, passes
from checkers.facts.parts import entries_of
from checkers.facts.wire import ADDS, answers, boot_ids, is_sure, synced
from checkers.judging.contract import Batch, Event, LedgerFacts, Rows, RunFacts
from checkers.sets.spans import Bools, Ints, Spans
from evidence.codes import NEVER, Holding, Status
from protocol.faults import Loses

_LOG_READ = "log_read"
_REPAIRED = ("full_check_complete", "ledger_check_and_copy_end")
By = Mapping[int, Spans]
"""A boot or a bookie, by its number -> entries."""


@dataclass(frozen=True, slots=True)
class Holders:
    """Who had entries.

    ``held`` are the acknowledgements of boots, ``durable`` those of them that were no deferred adds, or
    forced afterwards, ``doubtful`` those of an unknown boot, ``on_disk`` what copied disks of boots held,
    ``shown`` the copies of bookies in the last census pass, whatever their bytes.
    """

    held: By = field(default_factory=dict)
    durable: By = field(default_factory=dict)
    doubtful: Spans = field(default_factory=Spans.empty)
    on_disk: By = field(default_factory=dict)
    shown: By = field(default_factory=dict)

    def shown_by(self, boot_id: int) -> Spans:
        """What the last census showed on the bookie of a boot."""
        return self.shown.get(bookie_of(boot_id), Spans.empty())


def having(sets: By, ledger: int, entries: Ints) -> Iterator[tuple[int, Bools]]:
    """(who, mask of ``entries``) for everyone who has some of these entries of one ledger."""
    for who in sorted(sets):
        had = sets[who].holds(ledger, entries)
        if had.any():
            yield who, had


def acknowledged(batch: Batch) -> Iterator[Rows]:
    """The answers of bookies on the wire that an entry is stored, kind by kind."""
    for kind in ADDS:
        yield answers(batch.frames, kind).where(status=Status.EOK)


def holders_of(entries: Spans, batch: Batch, last: int, facts: LedgerFacts) -> Holders:
    """Who had some entries; ``last`` is the number of the last census pass."""
    held: dict[int, Spans] = {}
    durable: dict[int, Spans] = {}
    doubtful = Spans.empty()
    for rows in acknowledged(batch):
        mine = inside(rows, entries)
        sure = mine.filter(is_sure(mine))
        kept = synced(sure["ledger"], sure["entry"], boot_ids(sure), sure["received_ns"], batch, facts)
        for had, part in ((held, sure), (durable, sure.filter(kept))):
            for boot_id, those in by(part, boot_ids(part)).items():
                had[boot_id] = had.get(boot_id, Spans.empty()) | those
        doubtful |= entries_of(mine.filter(~is_sure(mine)))
    copies = inside(batch.census.where(pass_number=last, holding=Holding.PRESENT), entries)
    on_disk = {boot_id: entries & held for boot_id, held in batch.memo(on_disks).items()}
    return Holders(held, durable, doubtful, on_disk, by_bookie(copies))


def by(rows: Rows, who: Ints) -> dict[int, Spans]:
    """The entries that rows name, by boot or bookie."""
    return {one: entries_of(rows.filter(who == one)) for one in np.unique(who).tolist()}


def by_bookie(rows: Rows) -> dict[int, Spans]:
    """The entries that rows name, by their bookie."""
    return by(rows, rows["bookie"])


def inside(rows: Rows, entries: Spans) -> Rows:
    """The rows about entries of a set."""
    return rows.filter(entries.has(rows["ledger"], rows["entry"]))


def why_not(run: RunFacts) -> str | None:
    """Why it cannot be said who had an entry, or None."""
    if not run.wire:
        return "no wire log was kept"
    if run.damage_to(("frames",)):
        return "the wire log is damaged"
    if not run.complete or run.damage_to(("servers", "faults")):
        return "the boots of the bookies were not recorded whole"
    return None


class KnownBoots:
    """What is known of the boots of bookies, by their numbers, and of what became of what they had.

    ``steady`` are boots that never lost what they had; ``unpowered`` ones may have lost what was not synced.
    ``copied`` are the disks copied at an unclean death; ``fallen`` the boots whose end by a recorded fault
    may have taken what they had, ``altered`` those whose disk a fault may have changed afterwards,
    ``emptied`` those of whose disk a fault has taken all since, and when (ns). ``repairs`` are the checks
    that boots completed, by ledger, -1 for those of all: from then on they have what they should. Those are
    all unless ``unlogged`` names boots of guarded bookies, which repair themselves, whose log was not read.
    """

    def __init__(self, facts: LedgerFacts, run: RunFacts) -> None:
        self.histories, self.bookies = facts.memo(histories), run.bookies
        self.boots = {boot.id: boot for mine in boots_of(run).values() for boot in mine}
        times = facts.memo(passes)
        until_ns = times[max(times)].ended_ns if times else NEVER  # who died later had lost nothing by then
        spoiled, wipes = disturbed(run), emptied(run)
        self.steady = {
            boot_id
            for boot_id, boot in self.boots.items()
            if boot.bookie not in spoiled
            and (not (boot.unclean and boot.dying_ns <= until_ns) or outlasted(boot, run))
        }
        self.unpowered = {
            life
            for life in self.steady
            for boot in [self.boots[life]]
            if boot.unclean and boot.dying_ns <= until_ns
            if not outlasted(replace(boot, least_loss=Loses.UNSYNCED), run)
        }
        self.copied = copied_disks(run)
        self.fallen, self.altered = fallen(run), altered(run)
        self.emptied = {
            boot_id: wipes[boot.bookie].done_ns
            for boot_id, boot in self.boots.items()
            if boot.bookie in wipes and boot.ended_ns <= wipes[boot.bookie].began_ns
        }
        self.repairs: dict[int, list[tuple[int, Event]]] = {}
        for boot_id, repair in boot_events(run, *_REPAIRED):
            self.repairs.setdefault(repair.ledger, []).append((boot_id, repair))
        guarded = {
            boot_id for boot_id, boot in self.boots.items() if run.bookie_name(boot.bookie) in run.guarded
        }
        self.unlogged = guarded - {boot_id for boot_id, _ in boot_events(run, _LOG_READ)}


def knowledge(facts: LedgerFacts, run: RunFacts) -> KnownBoots | None:
    """What a run's whole wire log and its bookies' boots tell; None without either. By ``facts.memo``."""
    return None if why_not(run) else KnownBoots(facts, run)
