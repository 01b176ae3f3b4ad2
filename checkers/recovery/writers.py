"""Where the writer of a ledger may have closed it itself, while another client was recovering it.

The client's close sets CLOSED whatever the state was, at the last entry acknowledged on the handle
(``LedgerHandle#doAsyncCloseInternal``). It happens at the application's close and, unasked, when
something goes wrong with an add: it fails, or a bookie answers EFENCED or not at all to an add that is
acknowledged already (all releases from 4.14.0 to 4.18.0). So a writer that was alive may have made any
close at that entry, unless it had not invoked a close, every add was ok, and every bookie of every
write set said so. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from checkers.facts.parts import flagged
from checkers.facts.versions import Version
from checkers.facts.wire import delivered_answers, requests
from checkers.judging.contract import Batch, Rows, RunFacts
from checkers.judging.found import Found, whole_rows
from checkers.sets.spans import Bools, Ints, ints
from evidence.codes import NEVER, Flag, Kind, Message, Outcome, Status

AT_ONCE_NS = 10**9
"""Below every time-out that a client has for an add."""
_HANDLE = ("max", "max", "min", "max", "max")
_ADDS = ("sum", "sum")


@dataclass(frozen=True, slots=True)
class WriterHandle:
    """One handle that created or added: ``top`` is the highest id acknowledged on it (-1: none).

    ``ending_ns`` is when its first close was invoked, or the first add that was sent and is not ok;
    ``boot`` the boot of its client (0: the first).
    """

    client: int
    top: int
    ending_ns: int
    deferred: bool
    boot: int


def writer_rows(batch: Batch, ledgers: Ints) -> list[pa.Table]:
    """The handles and the adds of the writers of some ledgers, as rows for :class:`Writers`."""
    operations, frames = (
        rows.filter(np.isin(rows["ledger"], ledgers)) for rows in (batch.operations, batch.frames)
    )
    adds, closes = operations.where(kind=Kind.ADD), operations.where(kind=Kind.CLOSE)
    parts = {
        Kind.CREATE: operations.where(kind=Kind.CREATE, outcome=Outcome.OK),
        Kind.ADD: adds.filter(adds["outcome"] != Outcome.FAIL),
        Kind.CLOSE: closes.filter(closes["outcome"] != Outcome.FAIL),
    }
    hands = [_hands(kind, part) for kind, part in parts.items()]
    sent = requests(frames, Message.ADD)
    good = [part.filter(_good(part)) for part in delivered_answers(frames, Message.ADD)]
    answers = [_adds(sent, 1, 0), *(_adds(part, 0, 1) for part in good)]
    return [_rows("hand", hands, _HANDLE), _rows("adds", answers, _ADDS)]


def _hands(kind: Kind, rows: Rows) -> list[Ints]:
    """Ledger, client, handle, and what makes a :class:`WriterHandle`, of operations of one kind."""
    ok = (rows["outcome"] == Outcome.OK) & (kind is Kind.ADD)
    ending_ns = np.where(ok | (kind is Kind.CREATE), NEVER, rows["invoked_ns"])
    deferred = flagged(rows, Flag.DEFERRED_SYNC) & (kind is Kind.ADD)
    writes, top = np.full(rows.num_rows, kind is not Kind.CLOSE), np.where(ok, rows["entry"], -1)
    hand = (rows[name] for name in ("ledger", "client", "handle"))
    return [ints(column) for column in (*hand, writes, top, ending_ns, deferred, rows["seq"] >> 40)]


def _good(answers: Rows) -> Bools:
    """Which answers to adds are normal: EOK, changed by no rule of the run, and within a second.

    A client closes a ledger on its own when an add fails at any bookie, even at the third one after two had
    acknowledged it: then no operation shows the failure.
    """
    eok = (answers["delivered"] == Status.EOK) & (answers["rule"] == 0) & (answers["asked_ns"] != NEVER)
    return np.asarray(eok & (answers["forwarded_ns"] - answers["asked_ns"] <= AT_ONCE_NS))


def _adds(rows: Rows, sent: int, answered: int) -> list[Ints]:
    numbers = (np.full(rows.num_rows, number) for number in (sent, answered))
    return [ints(column) for column in (rows["ledger"], rows["source"], *numbers)]


def _rows(kind: str, parts: list[list[Ints]], rules: Sequence[str]) -> pa.Table:
    """Rows of columns: some that are the key, each key once, then the columns that ``rules`` aggregate."""
    columns = _folded([np.concatenate(column) for column in zip(*parts, strict=True)], rules)
    return whole_rows(kind, columns[0], columns)


def _folded(columns: Sequence[Ints], rules: Sequence[str]) -> list[Ints]:
    names = [str(number) for number in range(len(columns))]
    keys, values = names[: -len(rules)], list(zip(names[-len(rules) :], rules, strict=True))
    rows = pa.table([*columns], names=names).group_by(keys, use_threads=False).aggregate(values)
    return [np.asarray(rows[name]) for name in (*keys, *(f"{name}_{rule}" for name, rule in values))]


class Writers:
    """The writers by ledger, and until when their processes lived."""

    def __init__(self, found: Found, run: RunFacts) -> None:
        self._ended = {
            (run.clients[event.server], event.boot): event.latest_ns
            for event in run.events("exit")
            if event.server in run.clients
        }
        self._handles: dict[int, list[WriterHandle]] = {}
        for ledger, client, _, writes, top, ending_ns, deferred, boot in _of(found, "hand", _HANDLE):
            if writes:
                handle = WriterHandle(client, top, ending_ns, bool(deferred), boot)
                self._handles.setdefault(ledger, []).append(handle)
        self._adds = {
            (ledger, source): (sent, good) for ledger, source, sent, good in _of(found, "adds", _ADDS)
        }

    def may_have_closed(self, version: Version, after_ns: int) -> bool:
        """Whether a writer may have written this CLOSED version.

        It must have lived at ``after_ns``, when the version that it replaced had been written. The LAC of a
        deferred handle lies anywhere below its acknowledgements.
        """
        ledger, last = version.ledger, version.last_entry
        return any(
            (last == one.top or (one.deferred and last < one.top))
            and (
                (one.ending_ns != NEVER and one.ending_ns <= version.latest_ns)
                or not self.answered(ledger, one.client, version.shape[1] * (one.top + 1))
            )
            and self._ended.get((one.client, max(one.boot, 1)), NEVER) >= after_ns
            for one in self._handles.get(ledger, ())
        )

    def answered(self, ledger: int, source: int, due: int) -> bool:
        """Whether the source sent ``due`` adds or more, and each was answered as it should be."""
        sent, good = self._adds.get((ledger, source), (0, 0))
        return sent == good >= due

    def last_acknowledged(self, ledger: int) -> int:
        """The highest entry id acknowledged to a writer of the ledger, -1 for none."""
        return max((one.top for one in self._handles.get(ledger, ())), default=-1)


def _of(found: Found, kind: str, rules: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """The rows of one kind in all batches, each key once, ascending."""
    columns = found.columns(kind)
    if columns:
        yield from sorted(zip(*(column.tolist() for column in _folded(columns, rules)), strict=True))
