"""What bookies acknowledged and what they denied, each in its own life: the summary of ``answers``.

The moment of an acknowledgement is when the proxy had it: it had been given by then. That of a denial
lasts from when its request was passed on at the earliest until the proxy had it. Answers that a rule
of ours made, that fit several requests or belong to no known life are left out: they prove nothing
against a bookie. Judges nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from checkers.moments import Moments
from checkers.wire import Columns, codes, denies, picked, said
from evidence.codes import Message, Status


class Said(IntEnum):
    """What a bookie said of an entry."""

    ADDED = 1  # EOK to an add
    ADDED_BACK = 2  # EOK to a recovery add
    NO_ENTRY = 3  # no such entry, to a read or recovery read
    NO_LEDGER = 4  # no such ledger


ACKS = (Said.ADDED, Said.ADDED_BACK)
DENIALS = (Said.NO_ENTRY, Said.NO_LEDGER)
READS = (Message.READ, Message.RECOVERY_READ)


@dataclass(frozen=True, slots=True)
class Sayings:
    """The moments by :class:`Said`, bookie and boot; ``acks``, ``denials`` and ``reads`` count answers."""

    moments: Moments
    acks: int
    denials: int
    reads: int

    def __or__(self, other: Sayings) -> Sayings:
        return Sayings(
            self.moments | other.moments,
            self.acks + other.acks,
            self.denials + other.denials,
            self.reads + other.reads,
        )


def scan_sayings(rows: Columns) -> Sayings:
    """The frames of one chunk, in any order."""
    about = said(rows) & (rows["ledger"] >= 0) & (rows["entry"] >= 0)
    status, reads = rows["status"], about & np.isin(rows["kind"], READS)
    good = about & (status == Status.EOK)
    picks = {
        Said.ADDED: good & (rows["kind"] == Message.ADD),
        Said.ADDED_BACK: good & (rows["kind"] == Message.RECOVERY_ADD),
        Said.NO_ENTRY: reads & (status == Status.ENOENTRY),
        Said.NO_LEDGER: reads & (status == Status.ENOLEDGER),
    }
    columns = []
    for what, pick in picks.items():
        who = codes(what, picked(rows, pick, "bookie"), picked(rows, pick, "boot"))
        early = "asked_ns" if what in DENIALS else "received_ns"
        names = ("ledger", "entry", early, "received_ns")
        columns.append((who, *(picked(rows, pick, name) for name in names)))
    return Sayings(
        moments=Moments.of(*(np.concatenate(column) for column in zip(*columns, strict=True))),
        acks=sum(int(picks[what].sum()) for what in ACKS),
        denials=int((reads & denies(status)).sum()),
        reads=int(reads.sum()),
    )
