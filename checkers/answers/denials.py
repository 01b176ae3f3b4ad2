"""What bookies acknowledged and what they denied, each in its own life: the summary of ``answers``.

The moment of an acknowledgement is when the proxy had it: it had been given by then. That of a denial
lasts from when its request was passed on at the earliest until the proxy had it. Answers that a rule
of ours made, that fit several requests or belong to no known life are left out: they prove nothing
against a bookie. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from checkers.facts.wire import codes, decoded, denies, said_of_entries
from checkers.rows import Rows, at_once
from checkers.sets.moments import Moments
from checkers.sets.spans import Ints
from evidence.codes import Message, Status


class Said(IntEnum):
    """What a bookie said of an entry: EOK to an add, or an explicit negative to a read."""

    ADDED = 1
    ADDED_BACK = 2
    NO_ENTRY = 3
    NO_LEDGER = 4
    NO_ENTRY_TO_RECOVERY = 5
    NO_LEDGER_TO_RECOVERY = 6


ACKS: Mapping[Said, Message] = {Said.ADDED: Message.ADD, Said.ADDED_BACK: Message.RECOVERY_ADD}
DENIALS: Mapping[Said, tuple[Message, Status]] = {
    Said.NO_ENTRY: (Message.READ, Status.ENOENTRY),
    Said.NO_LEDGER: (Message.READ, Status.ENOLEDGER),
    Said.NO_ENTRY_TO_RECOVERY: (Message.RECOVERY_READ, Status.ENOENTRY),
    Said.NO_LEDGER_TO_RECOVERY: (Message.RECOVERY_READ, Status.ENOLEDGER),
}
READS = (Message.READ, Message.RECOVERY_READ)
_SAID_BITS = 4


class Teller(NamedTuple):
    """Who said what to whom: a bookie's boot, to a source (0 for acknowledgements, to anybody)."""

    said: Said
    source: int
    bookie: int
    boot: int


def teller(who: int) -> Teller:
    """The teller of a moment."""
    kind, bookie, boot = decoded(who)
    return Teller(Said(kind & (2**_SAID_BITS - 1)), kind >> _SAID_BITS, bookie, boot)


@dataclass(frozen=True, slots=True)
class Sayings:
    """The moments by :class:`Teller`; ``acks``, ``denials`` and ``reads`` count answers.

    Denials are kept by source, so that the many that a census may get do not veil those of a recovery.
    """

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


@at_once
def scan_sayings(rows: Rows) -> Sayings:
    """The frames of one chunk, in any order."""
    acks = {what: said_of_entries(rows, kind).of(status=Status.EOK) for what, kind in ACKS.items()}
    reads = [said_of_entries(rows, kind) for kind in READS]
    denials = {
        what: said_of_entries(rows, kind).of(status=negative) for what, (kind, negative) in DENIALS.items()
    }
    columns = [_moments(what, part) for what, part in {**acks, **denials}.items()]
    return Sayings(
        moments=Moments.of(*(np.concatenate(column) for column in zip(*columns, strict=True))),
        acks=sum(part.number for part in acks.values()),
        denials=sum(int(denies(part["status"]).sum()) for part in reads),
        reads=sum(part.number for part in reads),
    )


def _moments(what: Said, rows: Rows) -> tuple[Ints, ...]:
    """(who, ledger, entry, early, late) of the rows."""
    to = rows["source"].astype(np.int64) if what in DENIALS else np.int64(0)
    who = codes(0, rows["bookie"], rows["boot"])
    who |= (to << np.int64(_SAID_BITS) | np.int64(what)) << np.int64(32)
    early = "asked_ns" if what in DENIALS else "received_ns"
    return who, *(rows[name] for name in ("ledger", "entry", early, "received_ns"))
