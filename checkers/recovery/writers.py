"""Where the writer of a ledger may have closed it itself, also while another client was recovering it.

The client's close sets CLOSED whatever the state was, at the last entry acknowledged on the handle
(``LedgerHandle#doAsyncCloseInternal``). It happens at the application's close and, unasked, when
something goes wrong with an add: it fails, or a bookie answers EFENCED or not at all to an add that is
acknowledged already (all releases from 4.14.0 to 4.18.0). So a writer that was alive may have made any
close at that entry, unless it had not invoked a close, every add was ok, and every bookie of every
write set said so. Judges nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from checkers.facts.parts import flagged
from checkers.facts.versions import Version
from checkers.facts.wire import delivered_answers, requests
from checkers.judging.contract import Batch, Columns, LedgerFact, LedgerFacts, Rows, RunFacts
from checkers.sets.spans import Bools
from evidence.codes import NEVER, Flag, Kind, Message, Outcome, Status

AT_ONCE_NS = 10**9
"""Below every time-out that a client has for an add."""


class WriterHandle(NamedTuple):
    """A row of ``HANDLES``: ``top`` is the highest id acknowledged on the handle (-1: none).

    ``writes`` is whether it created or added, ``ending_ns`` when its first close was invoked, or the first
    add that was sent and is not ok, ``boot`` the boot of its client (0: the first).
    """

    ledger: int
    client: int
    handle: int
    writes: int
    top: int
    ending_ns: int
    deferred: int
    boot: int


def _handles(batch: Batch) -> list[Columns]:
    operations = batch.operations
    adds, closes = operations.where(kind=Kind.ADD), operations.where(kind=Kind.CLOSE)
    return [
        _of_handles(Kind.CREATE, operations.where(kind=Kind.CREATE, outcome=Outcome.OK)),
        _of_handles(Kind.ADD, adds.filter(adds["outcome"] != Outcome.FAIL)),
        _of_handles(Kind.CLOSE, closes.filter(closes["outcome"] != Outcome.FAIL)),
    ]


def _of_handles(kind: Kind, rows: Rows) -> Columns:
    """What makes a :class:`WriterHandle`, of operations of one kind."""
    ok = (rows["outcome"] == Outcome.OK) & (kind is Kind.ADD)
    return {
        **{name: rows[name] for name in ("ledger", "client", "handle")},
        "writes": np.full(rows.num_rows, kind is not Kind.CLOSE),
        "top": np.where(ok, rows["entry"], -1),
        "ending_ns": np.where(ok | (kind is Kind.CREATE), NEVER, rows["invoked_ns"]),
        "deferred": flagged(rows, Flag.DEFERRED_SYNC) & (kind is Kind.ADD),
        "boot": rows["seq"] >> 40,
    }


HANDLES = LedgerFact(
    "handles",
    "operations",
    _handles,
    key=WriterHandle._fields[:3],
    values={"writes": "max", "top": "max", "ending_ns": "min", "deferred": "max", "boot": "max"},
)
"""Every handle that created, added or closed."""


def _adds(batch: Batch) -> list[Columns]:
    sent = requests(batch.frames, Message.ADD)
    good = [part.filter(_good(part)) for part in delivered_answers(batch.frames, Message.ADD)]
    return [_counted(sent, 1, 0), *(_counted(part, 0, 1) for part in good)]


def _counted(rows: Rows, sent: int, good: int) -> Columns:
    columns = {"ledger": rows["ledger"], "source": rows["source"]}
    return {**columns, "sent": np.full(rows.num_rows, sent), "good": np.full(rows.num_rows, good)}


def _good(answers: Rows) -> Bools:
    """Which answers to adds are normal: EOK, changed by no rule of the run, and within a second.

    A client closes a ledger on its own when an add fails at any bookie, even at the third one after two had
    acknowledged it: then no operation shows the failure.
    """
    eok = (answers["delivered"] == Status.EOK) & (answers["rule"] == 0) & (answers["asked_ns"] != NEVER)
    return np.asarray(eok & (answers["forwarded_ns"] - answers["asked_ns"] <= AT_ONCE_NS))


ADDS_SENT = LedgerFact(
    "adds_sent", "frames", _adds, key=("ledger", "source"), values={"sent": "sum", "good": "sum"}
)
"""How many adds each source sent, and how many of them were answered as they should be."""


class Writers:
    """The writers by ledger, and until when their processes lived."""

    def __init__(self, facts: LedgerFacts, run: RunFacts) -> None:
        self._facts = facts
        self._ended = {
            (run.clients[event.server], event.boot): event.latest_ns
            for event in run.events("exit")
            if event.server in run.clients
        }

    def _handles(self, ledger: int) -> list[WriterHandle]:
        handles = (WriterHandle(*row) for row in self._facts.rows(HANDLES, ledger))
        return [one for one in handles if one.writes]

    def may_have_closed(self, version: Version, after_ns: int) -> bool:
        """Whether a writer may have written this CLOSED version.

        It must have lived at ``after_ns``, when the version that it replaced had been written. The LAC of a
        deferred handle lies anywhere below its acknowledgements.
        """
        ledger, last = version.ledger, version.last_entry
        return any(
            (last == one.top or (one.deferred and last < one.top))
            and self._had_reason(one, version)
            and self._ended.get((one.client, max(one.boot, 1)), NEVER) >= after_ns
            for one in self._handles(ledger)
        )

    def cannot_have_closed(self, version: Version) -> bool:
        """Whether no writer had a reason to write this CLOSED version; no if its writers are not known."""
        handles = self._handles(version.ledger)
        return bool(handles) and not any(self._had_reason(one, version) for one in handles)

    def _had_reason(self, one: WriterHandle, version: Version) -> bool:
        """Whether a close was invoked or an add ended badly by then, or an add lacks a normal answer."""
        ended = one.ending_ns != NEVER and one.ending_ns <= version.latest_ns
        return ended or not self.answered(one.ledger, one.client, version.shape[1] * (one.top + 1))

    def answered(self, ledger: int, source: int, due: int) -> bool:
        """Whether the source sent ``due`` adds or more, and each was answered as it should be."""
        [(*_, sent, good)] = self._facts.rows(ADDS_SENT, ledger, source) or [(0, 0)]
        return sent == good >= due

    def last_acknowledged(self, ledger: int) -> int:
        """The highest entry id acknowledged to a writer of the ledger, -1 for none."""
        return max((one.top for one in self._handles(ledger)), default=-1)
