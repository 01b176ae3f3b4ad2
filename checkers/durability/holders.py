"""Who had the entries of some blocks: by the wire, by the last census pass, and by disks copied at a death.

A bookie's answer counts as it was received, before any rule of the run changed it. An acknowledgement that
cannot be attributed to one life of a bookie (forged, ambiguous, boot not known) makes no life a holder; it
leaves room for holders that are not known. Copies that a bookie fetched from others for its own repair do not
cross the wire in a form that could be recognised here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from checkers.contract import Batch
from checkers.facts.parts import entries_of
from checkers.facts.wire import ADDS, answers, is_sure, lives
from checkers.rows import Rows
from checkers.sets.spans import Bools, Ints, Spans
from evidence.codes import Holding, Status

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


def on_disks(batch: Batch) -> Spans:
    """The entries that copied disks held."""
    rows = batch.holdings
    return Spans.of_ranges(rows["ledger"], rows["entry"], rows["last"])


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
    disks, whose = batch.holdings, lives(batch.holdings)
    on_disk = {
        life: entries & Spans.of_ranges(*(disks[name][whose == life] for name in ("ledger", "entry", "last")))
        for life in np.unique(whose).tolist()
    }
    return Holders(held, doubtful, on_disk, by(copies, copies["bookie"]))


def by(rows: Rows, who: Ints) -> dict[int, Spans]:
    """The entries that rows name, by life or bookie."""
    return {one: entries_of(rows.where(who == one)) for one in np.unique(who).tolist()}


def inside(rows: Rows, entries: Spans) -> Rows:
    """The rows about entries of a set."""
    return rows.where(entries.has(rows["ledger"], rows["entry"]))


def outside(rows: Rows, entries: Spans) -> Rows:
    """The rows about other entries."""
    return rows.where(~entries.has(rows["ledger"], rows["entry"]))
