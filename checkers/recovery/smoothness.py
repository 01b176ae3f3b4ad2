"""How often a writer's adds were answered as they should be: EOK, by itself, and at once.

A client closes a ledger unasked when something goes wrong with an add, and that may be the third answer
to one which two others had acknowledged already: then no operation tells of it. But where every bookie of
every write set answered each acknowledged add in time, nothing went wrong. Judges nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from checkers.facts.wire import asked, told
from checkers.rows import Rows, at_once
from evidence.codes import NEVER, Message, Status

AT_ONCE_NS = 10**9
"""Below every time-out that a client has for an add."""
Pairs = Counter[tuple[int, int]]
"""(ledger, source) -> rows."""


@dataclass(frozen=True, slots=True)
class Smooth:
    """Adds that were sent to a bookie, and answers to them that were as they should be."""

    sent: Pairs = field(default_factory=Counter)
    good: Pairs = field(default_factory=Counter)

    def __or__(self, other: Smooth) -> Smooth:
        return Smooth(self.sent + other.sent, self.good + other.good)

    def is_of(self, ledger: int, source: int, due: int) -> bool:
        """Whether the source sent ``due`` adds or more, and each was answered as it should be."""
        return self.sent[ledger, source] == self.good[ledger, source] >= due


@at_once
def scan_smooth(rows: Rows) -> Smooth:
    """The adds of one chunk and their answers; answers that a rule of ours touched are not good."""
    good: Pairs = Counter()
    for part in told(rows, Message.ADD):
        eok = part.of(delivered=Status.EOK, rule=0)
        eok = eok.where(eok["asked_ns"] != NEVER)
        good += _pairs(eok.where(eok["forwarded_ns"] - eok["asked_ns"] <= AT_ONCE_NS))
    return Smooth(_pairs(asked(rows, Message.ADD)), good)


def _pairs(rows: Rows) -> Pairs:
    found: Pairs = Counter()
    for source in np.unique(rows["source"]).tolist():  # few: the writers' links
        numbers, counts = np.unique(rows.of(source=source)["ledger"], return_counts=True)
        pairs = zip(numbers.tolist(), counts.tolist(), strict=True)
        found.update({(number, source): count for number, count in pairs})
    return found
