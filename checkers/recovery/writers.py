"""Where the writer of a ledger may have closed it itself, while another client was recovering it.

The client's close sets CLOSED whatever the state was, at the last entry acknowledged on the handle
(``LedgerHandle#doAsyncCloseInternal``). It happens at the application's close and, unasked, when
something goes wrong with an add: it fails, or a bookie answers EFENCED or not at all to one that is
acknowledged already (all releases from 4.14.0 to 4.18.0). So a writer that was alive may have made any
close at that entry, unless it had not invoked a close, every add was ok, and every bookie of every
write set said so. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from checkers.contract import RunFacts
from checkers.facts.parts import flagged
from checkers.recovery.smoothness import Smooth
from checkers.rows import Rows, at_once
from checkers.sets.folded import LEAST, MOST, Folded
from evidence.codes import NEVER, Flag, Kind, Outcome


@dataclass(frozen=True, slots=True)
class Hand:
    """One handle: ``writes`` if it created or added, ``top`` the highest id acknowledged on it (-1: none).

    ``ending_ns`` is when its first close was invoked, or the first add that was sent and is not ok;
    ``boot`` the life of its client (0: the first).
    """

    writes: bool
    top: int
    ending_ns: int
    deferred: bool
    boot: int

    def may_have_ended(self, by_ns: int) -> bool:
        """Whether anything was invoked by that time for which the client may close the ledger."""
        return self.ending_ns != NEVER and self.ending_ns <= by_ns

    def may_end_at(self, last: int) -> bool:
        """Whether the handle's LAC can have been this id; a deferred one's lies anywhere below its acks."""
        return last == self.top or (self.deferred and last < self.top)


@at_once
def scan_hands(rows: Rows) -> Folded:
    """The handles that created, added to or closed a ledger, from the operations of one chunk.

    By ledger, client and handle; the other columns are those of :class:`Hand`.
    """
    adds, closes = rows.of(kind=Kind.ADD), rows.of(kind=Kind.CLOSE)
    parts = {
        Kind.CREATE: rows.of(kind=Kind.CREATE, outcome=Outcome.OK),
        Kind.ADD: adds.where(adds["outcome"] != Outcome.FAIL),
        Kind.CLOSE: closes.where(closes["outcome"] != Outcome.FAIL),
    }
    hands = (_hands(kind, part.where(part["ledger"] >= 0)) for kind, part in parts.items())
    return reduce(or_, hands)


def _hands(kind: Kind, rows: Rows) -> Folded:
    """What operations of one kind say of their handles."""
    ok = (rows["outcome"] == Outcome.OK) & (kind is Kind.ADD)
    ends_nothing = ok | (kind is Kind.CREATE)
    return Folded.of_rows(
        [rows[name] for name in ("ledger", "client", "handle")],
        (np.full(rows.number, kind is not Kind.CLOSE), MOST),
        (np.where(ok, rows["entry"], -1), MOST),
        (np.where(ends_nothing, NEVER, rows["invoked_ns"]), LEAST),
        (flagged(rows, Flag.DEFERRED_SYNC) & (kind is Kind.ADD), MOST),
        (rows["seq"] >> 40, MOST),
    )


class Writers:
    """The writers by ledger, and until when their processes lived."""

    def __init__(self, hands: Folded, smooth: Smooth, run: RunFacts) -> None:
        numbers = run.clients
        self._smooth = smooth
        self._ended = {
            (numbers[row["server"]], int(row["boot"])): int(row["latest_ns"])
            for row in run.servers
            if row["event"] == "exit" and row["server"] in numbers
        }
        self._hands = hands

    def may_have_closed(
        self, ledger: int, last: int, *, after_ns: int, by_ns: int, write_quorum: int
    ) -> bool:
        """Whether a writer may have written CLOSED at ``last``, in force by ``by_ns``.

        It must have lived at ``after_ns``, when the version that it replaced had been written.
        """
        return any(
            hand.may_end_at(last)
            and (hand.may_have_ended(by_ns) or self._troubled(ledger, client, hand, write_quorum))
            and self._lived(client, hand, after_ns)
            for client, hand in self._of(ledger)
        )

    def _of(self, ledger: int) -> Iterator[tuple[int, Hand]]:
        """The handles that wrote to a ledger, and whose they are."""
        for _, client, _, writes, top, ending_ns, deferred, boot in self._hands.of(ledger):
            if writes:
                yield client, Hand(bool(writes), top, ending_ns, bool(deferred), boot)

    def _troubled(self, ledger: int, client: int, hand: Hand, write_quorum: int) -> bool:
        """Whether an answer to an add of its is missing, late, or not EOK."""
        return not self._smooth.is_of(ledger, client, write_quorum * (hand.top + 1))

    def last_acknowledged(self, ledger: int) -> int:
        """The highest id that a writer of the ledger was told ok, -1 for none."""
        return max((hand.top for _, hand in self._of(ledger)), default=-1)

    def _lived(self, client: int, hand: Hand, at_ns: int) -> bool:
        return self._ended.get((client, max(hand.boot, 1)), NEVER) >= at_ns
