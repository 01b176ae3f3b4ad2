"""Where the writer of a ledger may have closed it itself, while another client was recovering it.

The client's close sets CLOSED whatever the state was, at the last entry acknowledged on the handle
(``LedgerHandle#doAsyncCloseInternal``). It happens at the application's close and, unasked, when adds
fail, and those are told so before CLOSED is written (all releases from 4.14.0 to 4.18.0). So a writer
that was alive, and had invoked a close or has an add without success, may have made any close at that
entry. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from checkers.contract import RunFacts
from checkers.wire import Columns
from evidence.codes import NEVER, Flag, Kind, Outcome

Handle = tuple[int, int, int]
"""(ledger, client number, handle)."""


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

    def __or__(self, other: Hand) -> Hand:
        return Hand(
            self.writes or other.writes,
            max(self.top, other.top),
            min(self.ending_ns, other.ending_ns),
            self.deferred or other.deferred,
            max(self.boot, other.boot),
        )

    def may_have_ended(self, by_ns: int) -> bool:
        """Whether anything was invoked by that time for which the client may close the ledger."""
        return self.ending_ns != NEVER and self.ending_ns <= by_ns

    def may_end_at(self, last: int) -> bool:
        """Whether the handle's LAC can have been this id; a deferred one's lies anywhere below its acks."""
        return last == self.top or (self.deferred and last < self.top)


Hands = Mapping[Handle, Hand]


def scan_hands(rows: Columns) -> dict[Handle, Hand]:
    """The handles that created, added to or closed a ledger, from the operations of one chunk."""
    kind, outcome = rows["kind"], rows["outcome"]
    sent = np.isin(kind, (Kind.ADD, Kind.CLOSE)) & (outcome != Outcome.FAIL)
    made = (kind == Kind.CREATE) & (outcome == Outcome.OK)
    at = np.flatnonzero((sent | made) & (rows["ledger"] >= 0))
    if not len(at):
        return {}
    who = rows["client"][at].astype(np.int64) << np.int64(32) | rows["handle"][at].astype(np.int64)
    order = np.lexsort((who, rows["ledger"][at]))
    at, who = at[order], who[order]
    ledger, kind = rows["ledger"][at], kind[at]
    begin = np.flatnonzero(np.concatenate([[True], (ledger[1:] != ledger[:-1]) | (who[1:] != who[:-1])]))
    added = kind == Kind.ADD
    ok = added & (outcome[at] == Outcome.OK)
    columns = (
        ledger[begin],
        who[begin],
        np.logical_or.reduceat(kind != Kind.CLOSE, begin),
        np.maximum.reduceat(np.where(ok, rows["entry"][at], -1), begin),
        np.minimum.reduceat(np.where(ok | (kind == Kind.CREATE), NEVER, rows["invoked_ns"][at]), begin),
        np.logical_or.reduceat(added & ((rows["flags"][at] & Flag.DEFERRED_SYNC) != 0), begin),
        np.maximum.reduceat(rows["seq"][at] >> 40, begin),
    )
    hands = zip(*(column.tolist() for column in columns), strict=True)
    return {(one, code >> 32, code & 0xFFFFFFFF): Hand(*hand) for one, code, *hand in hands}


def merge_hands(left: Hands, right: Hands) -> dict[Handle, Hand]:
    """The handles of both."""
    merged = dict(left)
    for handle, hand in right.items():
        merged[handle] = merged[handle] | hand if handle in merged else hand
    return merged


class Writers:
    """The writers by ledger, and until when their processes lived."""

    def __init__(self, hands: Hands, run: RunFacts) -> None:
        numbers = run.clients
        self._ended = {
            (numbers[row["server"]], int(row["boot"])): int(row["latest_ns"])
            for row in run.servers
            if row["event"] == "exit" and row["server"] in numbers
        }
        self._of: dict[int, list[tuple[int, Hand]]] = {}
        for (ledger, client, _), hand in hands.items():
            if hand.writes:
                self._of.setdefault(ledger, []).append((client, hand))

    def may_have_closed(self, ledger: int, last: int, *, after_ns: int, by_ns: int) -> bool:
        """Whether a writer may have written CLOSED at ``last``, in force by ``by_ns``.

        It must have lived at ``after_ns``, when the version that it replaced had been written.
        """
        return any(
            hand.may_end_at(last) and hand.may_have_ended(by_ns) and self._lived(client, hand, after_ns)
            for client, hand in self._of.get(ledger, ())
        )

    def last_acknowledged(self, ledger: int) -> int:
        """The highest id that a writer of the ledger was told ok, -1 for none."""
        return max((hand.top for _, hand in self._of.get(ledger, ())), default=-1)

    def _lived(self, client: int, hand: Hand, at_ns: int) -> bool:
        return self._ended.get((client, max(hand.boot, 1)), NEVER) >= at_ns
