"""How often a writer's adds were answered as they should be: EOK, by itself, and at once.

A client closes a ledger unasked when something goes wrong with an add, and that may be the third answer
to one which two others had acknowledged already: then no operation tells of it. But where every bookie of
every write set answered each acknowledged add in time, nothing went wrong. Judges nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from checkers.facts.wire import told
from checkers.rows import Rows, at_once
from evidence.codes import NEVER, Message, Status

AT_ONCE_NS = 10**9
"""Below every time-out that a client has for an add."""

Smooth = Mapping[tuple[int, int], int]
"""(ledger, source) -> answers."""


@at_once
def scan_smooth(rows: Rows) -> Counter[tuple[int, int]]:
    """The answers of one chunk; those that a rule of ours touched do not count."""
    found: Counter[tuple[int, int]] = Counter()
    for good in told(rows, Message.ADD):
        good = good.of(delivered=Status.EOK, rule=0)
        good = good.where(good["asked_ns"] != NEVER)
        at_once = good.where(good["forwarded_ns"] - good["asked_ns"] <= AT_ONCE_NS)
        for source in np.unique(at_once["source"]).tolist():  # few: the writers' links
            numbers, counts = np.unique(at_once.of(source=source)["ledger"], return_counts=True)
            pairs = zip(numbers.tolist(), counts.tolist(), strict=True)
            found.update({(number, source): count for number, count in pairs})
    return found


def merge_smooth(left: Smooth, right: Smooth) -> Counter[tuple[int, int]]:
    """The answers of both."""
    return Counter(left) + Counter(right)
