"""Where the writer of a ledger may have closed it itself, while another client was recovering it.

The client's close sets CLOSED whatever the state was, at the last entry acknowledged on the handle
(``LedgerHandle#doAsyncCloseInternal``). It happens at the application's close and, unasked, when
something goes wrong with an add: it fails, or a bookie answers EFENCED or not at all to an add that is
acknowledged already (all releases from 4.14.0 to 4.18.0). So a writer that was alive may have made any
close at that entry, unless it had not invoked a close, every add was ok, and every bookie of every
write set said so. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from checkers.contract import Batch, Rows, RunFacts
from checkers.facts.parts import flagged
from checkers.facts.wire import delivered_answers, requests
from checkers.found import Found, whole_rows
from checkers.sets.spans import Ints, ints
from evidence.codes import NEVER, Flag, Kind, Message, Outcome, Status

AT_ONCE_NS = 10**9
"""Below every time-out that a client has for an add."""
_HANDLE = {"writes": "max", "top": "max", "ending_ns": "min", "deferred": "max", "boot": "max"}
_ADDS = {"sent": "sum", "answered": "sum"}


@dataclass(frozen=True, slots=True)
class WriterHandle:
    """One handle that created or added: ``top`` is the highest id acknowledged on it (-1: none).

    ``ending_ns`` is when its first close was invoked, or the first add that was sent and is not ok;
    ``boot`` the life of its client (0: the first).
    """

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


def writer_rows(batch: Batch, ledgers: Ints) -> list[pa.Table]:
    """The handles and the adds of the writers of some ledgers, as rows for :class:`Writers`."""
    operations, frames = (
        rows.where(np.isin(rows["ledger"], ledgers)) for rows in (batch.operations, batch.frames)
    )
    adds, closes = operations.of(kind=Kind.ADD), operations.of(kind=Kind.CLOSE)
    parts = {
        Kind.CREATE: operations.of(kind=Kind.CREATE, outcome=Outcome.OK),
        Kind.ADD: adds.where(adds["outcome"] != Outcome.FAIL),
        Kind.CLOSE: closes.where(closes["outcome"] != Outcome.FAIL),
    }
    hands = [_hands(kind, part) for kind, part in parts.items()]
    sent = requests(frames, Message.ADD)
    good = [part.where(_good(part)) for part in delivered_answers(frames, Message.ADD)]
    answers = [_adds(sent, 1, 0), *(_adds(part, 0, 1) for part in good)]
    return [_rows("hand", hands, 3), _rows("adds", answers, 2)]


def _hands(kind: Kind, rows: Rows) -> list[Ints]:
    """Ledger, client, handle, and the columns of :class:`WriterHandle`, of operations of one kind."""
    ok = (rows["outcome"] == Outcome.OK) & (kind is Kind.ADD)
    ending_ns = np.where(ok | (kind is Kind.CREATE), NEVER, rows["invoked_ns"])
    deferred = flagged(rows, Flag.DEFERRED_SYNC) & (kind is Kind.ADD)
    writes, top = np.full(rows.number, kind is not Kind.CLOSE), np.where(ok, rows["entry"], -1)
    hand = (rows[name] for name in ("ledger", "client", "handle"))
    return [ints(column) for column in (*hand, writes, top, ending_ns, deferred, rows["seq"] >> 40)]


def _good(answers: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which answers to adds are normal: EOK, changed by no rule of the run, and within a second.

    A client closes a ledger on its own when an add fails at any bookie, even at the third one after two had
    acknowledged it: then no operation shows the failure.
    """
    eok = (answers["delivered"] == Status.EOK) & (answers["rule"] == 0) & (answers["asked_ns"] != NEVER)
    return np.asarray(eok & (answers["forwarded_ns"] - answers["asked_ns"] <= AT_ONCE_NS))


def _adds(rows: Rows, sent: int, answered: int) -> list[Ints]:
    return [
        ints(column)
        for column in (rows["ledger"], rows["source"], *np.full((2, rows.number), [[sent], [answered]]))
    ]


def _rows(kind: str, parts: list[list[Ints]], width: int) -> pa.Table:
    """Rows of columns, of which the first ``width`` are the key, each key once."""
    columns = _folded([np.concatenate(column) for column in zip(*parts, strict=True)], width)
    return whole_rows(kind, columns[0], columns)


def _folded(columns: list[Ints], width: int) -> list[Ints]:
    rules = [*(_HANDLE if width == 3 else _ADDS).values()]
    names = [str(number) for number in range(len(columns))]
    how = list(zip(names[width:], rules, strict=True))
    rows = pa.table(columns, names=names).group_by(names[:width], use_threads=False).aggregate(how)
    return [np.asarray(rows[name]) for name in (*names[:width], *(f"{name}_{rule}" for name, rule in how))]


class Writers:
    """The writers by ledger, and until when their processes lived."""

    def __init__(self, found: Found, run: RunFacts) -> None:
        numbers = run.clients
        self._ended = {
            (numbers[event.server], event.boot): event.latest_ns
            for event in run.events("exit")
            if event.server in numbers
        }
        self._hands: dict[int, list[tuple[int, WriterHandle]]] = {}
        for ledger, client, _, writes, top, ending_ns, deferred, boot in _of(found, "hand", 3):
            if writes:
                hand = WriterHandle(top, ending_ns, bool(deferred), boot)
                self._hands.setdefault(ledger, []).append((client, hand))
        self._adds = {(ledger, source): (sent, good) for ledger, source, sent, good in _of(found, "adds", 2)}

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
            for client, hand in self._hands.get(ledger, ())
        )

    def _troubled(self, ledger: int, client: int, hand: WriterHandle, write_quorum: int) -> bool:
        """Whether an answer to an add of its is missing, late, or not EOK."""
        return not self.answered(ledger, client, write_quorum * (hand.top + 1))

    def answered(self, ledger: int, source: int, due: int) -> bool:
        """Whether the source sent ``due`` adds or more, and each was answered as it should be."""
        sent, good = self._adds.get((ledger, source), (0, 0))
        return sent == good >= due

    def last_acknowledged(self, ledger: int) -> int:
        """The highest entry id acknowledged to a writer of the ledger, -1 for none."""
        return max((hand.top for _, hand in self._hands.get(ledger, ())), default=-1)

    def _lived(self, client: int, hand: WriterHandle, at_ns: int) -> bool:
        return self._ended.get((client, max(hand.boot, 1)), NEVER) >= at_ns


def _of(found: Found, kind: str, width: int) -> Iterator[tuple[int, ...]]:
    """The rows of one kind in all batches, each key once, ascending."""
    columns = found.columns(kind)
    if columns:
        yield from sorted(zip(*(column.tolist() for column in _folded([*columns], width)), strict=True))
