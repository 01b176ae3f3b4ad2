"""Who ever had an entry: the lives of bookies that acknowledged it on the wire.

A bookie's answer counts as it was received, before anything of ours could change it. One that
cannot be laid at the door of one life (forged, ambiguous, boot not known) makes nobody a holder;
it leaves room for holders that nobody knows. Copies that a bookie fetched from others for its own
repair do not cross the wire in a form that could be seen here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.facts.boots import life_of
from checkers.facts.wire import answers, denies, is_sure, said
from checkers.rows import Rows, at_once
from checkers.sets.spans import Ints
from checkers.sets.stripes import Stripes
from evidence.codes import FrameFlag, Message, Status

ADDS = (Message.ADD, Message.RECOVERY_ADD)


def lives(rows: Rows) -> Ints:
    """The life of each frame's bookie; meaningless where the boot is not known."""
    return np.asarray(life_of(rows["bookie"].astype(np.int64), rows["boot"].astype(np.int64)))


class Forgery(NamedTuple):
    """An answer of a rule of ours that says a bookie has no such entry, as it was passed on."""

    delivered_ns: int
    seq: int
    source: int
    bookie: int
    rule: int
    status: int


Place = tuple[int, int]
"""(ledger, entry)."""


@dataclass(frozen=True, slots=True)
class Holders:
    """What the wire tells about who has what; ``forgeries`` are the denials of ours to recovery reads."""

    held: Stripes
    doubtful: Stripes
    forgeries: Mapping[Place, frozenset[Forgery]]


@at_once
def scan_holders(rows: Rows) -> Holders:
    """The holders in some rows of ``frames``, in any order."""
    held, doubtful = Stripes.empty(), Stripes.empty()
    for kind in ADDS:
        sure = said(rows, kind).of(status=Status.EOK)
        held |= Stripes.of_rows(sure["ledger"], lives(sure), sure["entry"])
        taken = answers(rows, kind).of(status=Status.EOK)
        unsure = taken.where(~is_sure(taken))
        doubtful |= Stripes.of_rows(unsure["ledger"], unsure["bookie"], unsure["entry"])
    return Holders(held, doubtful, _forgeries(answers(rows, Message.RECOVERY_READ)))


def merge_holders(left: Holders, right: Holders) -> Holders:
    """Both."""
    forgeries = dict(left.forgeries)
    for place, theirs in right.forgeries.items():
        forgeries[place] = forgeries.get(place, frozenset()) | theirs
    return Holders(left.held | right.held, left.doubtful | right.doubtful, forgeries)


def _forgeries(rows: Rows) -> dict[Place, frozenset[Forgery]]:
    """Denials of recovery reads that a rule of ours made; one that nobody got has no time."""
    rows = rows.where(((rows["flags"] & int(FrameFlag.FORGED)) != 0) & denies(rows["delivered"]))
    names = ("ledger", "entry", "forwarded_ns", "seq", "source", "bookie", "rule", "delivered")
    found: dict[Place, frozenset[Forgery]] = {}
    for ledger, entry, *forged in zip(*(rows[name].tolist() for name in names), strict=True):
        found[ledger, entry] = found.get((ledger, entry), frozenset()) | {Forgery(*forged)}
    return found
