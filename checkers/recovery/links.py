"""Requests and answers on the links of recoverers: tables for the check, moments for the conclusion.

Recoverers are sources of links: clients, the observer, bookies that recover by themselves. What a
recoverer received counts, forged or not. An answer of protocol V2 that may belong to another request
counts for both where it can only excuse; a violation is only proven by ``sure`` ones. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from checkers.contract import Rows
from checkers.facts.wire import UNSURE_KIND, delivered_answers, denies, requests
from checkers.found import Found, Row, whole_rows
from checkers.sets.spans import Bools, Ints, Spans, ints
from evidence.codes import EXPLICIT_NEGATIVES, FrameFlag, Message, Status

FENCING, READ = Message.FENCING_LAC_READ, Message.RECOVERY_READ
ENTRY = ["ledger", "source", "entry"]


def positive(status: Ints) -> Bools:
    """EOK."""
    return np.asarray(status == Status.EOK)


def unsure(status: Ints) -> Bools:
    """Neither EOK nor an explicit negative."""
    return ~positive(status) & ~denies(status)


def sent(frames: Rows, kind: Message) -> pa.Table:
    """Requests of one kind: ledger, source, entry, bookie, and when the proxy had them (``at_ns``)."""
    return _table([requests(frames, kind)], "received_ns")


def received(
    frames: Rows, kind: Message, which: Callable[[Ints], Bools] = positive, *, sure: bool = False
) -> pa.Table:
    """Answers to requests of one kind, or perhaps to such ones; ``at_ns``: they were not there before."""
    parts = (part.once(_of_ledgers) for part in delivered_answers(frames, kind))
    if sure:
        parts = (part.where((part["flags"] & int(UNSURE_KIND)) == 0) for part in parts)
    return _table([part.where(which(part["delivered"])) for part in parts], "forwarded_ns")


def _table(parts: Sequence[Rows], at_ns: str) -> pa.Table:
    names = {**{name: name for name in (*ENTRY, "bookie")}, "at_ns": at_ns}
    parts = [part.once(_of_ledgers) for part in parts]
    columns = {name: ints(np.concatenate([part[own] for part in parts])) for name, own in names.items()}
    return pa.table(columns)


def _of_ledgers(rows: Rows) -> Rows:
    return rows.where(rows["ledger"] >= 0)


def forged(frames: Rows) -> int:
    """Number of answers to recoverers that were forged by a rule of the run."""
    parts = (part for kind in (FENCING, READ) for part in delivered_answers(frames, kind))
    return sum(int(((part["flags"] & int(FrameFlag.FORGED)) != 0).sum()) for part in parts)


class Moment(NamedTuple):
    """A request (``status`` NONE) when the proxy had it, or an answer that was not there before ``at_ns``."""

    kind: int
    bookie: int
    entry: int
    at_ns: int
    status: int
    lac: int


def moment_rows(frames: Rows, beyond: Spans) -> Iterator[pa.Table]:
    """What decides closes: all about fencing and about the entries ``beyond`` them, and who asked at all."""
    for kind in (FENCING, READ):
        asked = requests(frames, kind)
        asked = asked.where(np.isin(asked["ledger"], beyond.ledger))
        who = pa.table({name: ints(asked[name]) for name in ("ledger", "source")})
        who = who.group_by(["ledger", "source"], use_threads=False).aggregate([])
        yield whole_rows("recoverer", who["ledger"], [np.asarray(who[name]) for name in who.column_names])
        yield _moments(kind, asked, beyond, "received_ns")
        for part in delivered_answers(frames, kind):
            yield _moments(kind, part, beyond, "forwarded_ns")


def _moments(kind: Message, rows: Rows, beyond: Spans, at_ns: str) -> pa.Table:
    """Ledger, source, and the columns of ``Moment``."""
    rows = rows.where(np.isin(rows["ledger"], beyond.ledger))
    rows = rows if kind is FENCING else rows.where(beyond.has(rows["ledger"], rows["entry"]))
    status = np.full(rows.number, Status.NONE) if at_ns == "received_ns" else rows["delivered"]
    names = ("bookie", "entry", at_ns)
    moment = [np.full(rows.number, kind), *(rows[name] for name in names), status, rows["lac"]]
    return whole_rows("moment", rows["ledger"], [rows["ledger"], rows["source"], *moment])


def tuples(found: Found, kind: str) -> Iterator[tuple[int, ...]]:
    """The rows of ``whole_rows``."""
    return zip(*(column.tolist() for column in found.columns(kind)), strict=True)


class Links:
    """What the conclusion knows of recoverers.

    ``unstored`` and ``given`` are the rows of :mod:`checkers.recovery.written`, by number of the close and
    source.
    """

    def __init__(self, found: Found) -> None:
        self._recoverers: dict[int, set[int]] = {}
        for ledger, source in tuples(found, "recoverer"):
            self._recoverers.setdefault(ledger, set()).add(source)
        self._moments: dict[tuple[int, int], list[Moment]] = {}
        for ledger, source, *moment in tuples(found, "moment"):
            self._moments.setdefault((ledger, source), []).append(Moment(*moment))
        self.unstored, self.given = (_by_close(found.firsts(kind, 2)) for kind in ("unstored", "given"))

    def recoverers(self, ledger: int) -> list[int]:
        """Who sent a request of recovery for the ledger, ascending."""
        return sorted(self._recoverers.get(ledger, ()))

    def until(self, ledger: int, source: int, by_ns: int) -> list[Moment]:
        """The moments of one recoverer of a ledger until a time."""
        return [one for one in self._moments.get((ledger, source), ()) if one.at_ns <= by_ns]


def _by_close(rows: Iterable[Row]) -> dict[tuple[int, int], list[Row]]:
    """Rows whose proofs begin with the number of a close and a source, by both."""
    found: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        found.setdefault((row.proof[0], row.proof[1]), []).append(row)
    return found


def bookies_that(moments: Iterable[Moment], *status: int) -> frozenset[int]:
    """The bookies that answered so; with no status, neither EOK nor an explicit negative."""
    if status:
        return frozenset(one.bookie for one in moments if one.status in status)
    known = (Status.NONE, Status.EOK, *EXPLICIT_NEGATIVES)
    return frozenset(one.bookie for one in moments if one.status not in known)
