"""Requests, answers and recovery adds on the links of recoverers, as rows for check and conclusion.

Recoverers are sources of links: clients, the observer, bookies that recover by themselves. What a
recoverer received counts, forged or not; an answer of protocol V2 that may belong to another
request counts for both, since it can only excuse. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum

import numpy as np
import pyarrow as pa

from checkers.contract import Rows
from checkers.facts.wire import delivered_answers, denies, requests
from checkers.found import Found, whole_rows
from checkers.sets.spans import Bools, Spans, ints
from evidence.codes import FrameFlag, Message, Status


class LinkEvent(IntEnum):
    """What happened on a recoverer's links; the name's comment says when the moment was."""

    FENCING = 1  # it sent a fencing LAC read: at the proxy
    READING = 2  # it sent a recovery read: at the proxy
    WROTE = 3  # it sent a recovery add: at the proxy
    FENCED = 4  # EOK to a fencing LAC read reached it: not before
    FENCED_EMPTY = 5  # an explicit negative to one did
    FOUND = 6  # EOK to a recovery read
    DENIED = 7  # an explicit negative to one
    UNSURE = 8  # any other answer to one
    STORED = 9  # EOK to a recovery add


LAC = -1
"""The entry id of everything about the LAC."""
_REQUESTS = {
    Message.FENCING_LAC_READ: LinkEvent.FENCING,
    Message.RECOVERY_READ: LinkEvent.READING,
    Message.RECOVERY_ADD: LinkEvent.WROTE,
}
_ASKING: Mapping[Message, tuple[LinkEvent, LinkEvent, LinkEvent | None]] = {
    Message.FENCING_LAC_READ: (LinkEvent.FENCED, LinkEvent.FENCED_EMPTY, None),
    Message.RECOVERY_READ: (LinkEvent.FOUND, LinkEvent.DENIED, LinkEvent.UNSURE),
}
"""Requests of a recovery, and the kinds of their answers: EOK, an explicit negative, anything else."""
COLUMNS = ("event", "ledger", "source", "bookie", "entry", "at_ns")


def link_events(frames: Rows) -> pa.Table:
    """A row for each moment: what it was, ledger, source, bookie (0 for requests), entry, and when (ns)."""
    parts = [
        (np.full(part.number, what), *(part[name] for name in ("ledger", "source", who, "entry", at)))
        for what, part, who, at in (*_requests(frames), *_answers(frames))
    ]
    columns = [ints(np.concatenate(column)) for column in zip(*parts, strict=True)]
    table = pa.table(dict(zip(COLUMNS, columns, strict=True)))
    requests = np.isin(columns[0], [*_REQUESTS.values()])
    return table.set_column(3, "bookie", pa.array(np.where(requests, 0, columns[3])))


def copied(frames: Rows, sources: list[int]) -> pa.Table:
    """EOK answers to plain reads of some sources, the base of replication; columns as in ``link_events``."""
    names = ("ledger", "source", "entry", "forwarded_ns")
    parts = [_of_ledgers(part).of(delivered=Status.EOK) for part in delivered_answers(frames, Message.READ)]
    parts = [part.where(np.isin(part["source"], sources)) for part in parts]
    columns = (ints(np.concatenate([part[name] for part in parts])) for name in names)
    return pa.table(dict(zip(("ledger", "source", "entry", "at_ns"), columns, strict=True)))


def lac_rows(frames: Rows) -> pa.Table:
    """LACs that answers to fencing brought to a source: ledger, source, when (ns), and the LAC."""
    parts = [
        part.once(_of_ledgers).of(delivered=Status.EOK)
        for part in delivered_answers(frames, Message.FENCING_LAC_READ)
    ]
    parts = [part.where(part["lac"] >= 0) for part in parts]
    names = ("ledger", "source", "forwarded_ns", "lac")
    columns = [ints(np.concatenate([part[name] for part in parts])) for name in names]
    return whole_rows("lac", columns[0], columns)


def forged(frames: Rows) -> int:
    """Number of answers to recoverers that were forged by a rule of the run."""
    asking = (part for kind in _ASKING for part in delivered_answers(frames, kind))
    return sum(int(((part["flags"] & int(FrameFlag.FORGED)) != 0).sum()) for part in asking)


_Part = tuple[LinkEvent, Rows, str, str]
"""Kind, frames, and the names of the columns with the bookie and with the time."""


def _requests(rows: Rows) -> Iterator[_Part]:
    for kind, what in _REQUESTS.items():
        yield what, requests(rows, kind).once(_of_ledgers), "source", "received_ns"


def _answers(rows: Rows) -> Iterator[_Part]:
    for kind, (good, negative, other) in _ASKING.items():
        for part in (part.once(_of_ledgers) for part in delivered_answers(rows, kind)):
            no = denies(part["delivered"])
            yield good, part.of(delivered=Status.EOK), "bookie", "forwarded_ns"
            yield negative, part.where(no), "bookie", "forwarded_ns"
            if other is not None:
                unsure = part.where(~no & (part["delivered"] != Status.EOK))
                yield other, unsure, "bookie", "forwarded_ns"
    for part in delivered_answers(rows, Message.RECOVERY_ADD):
        yield LinkEvent.STORED, part.once(_of_ledgers).of(delivered=Status.EOK), "bookie", "forwarded_ns"


def _of_ledgers(rows: Rows) -> Rows:
    return rows.where(rows["ledger"] >= 0)


def only(rows: pa.Table, *what: LinkEvent) -> pa.Table:
    """The rows of some kinds."""
    return picked(rows, np.isin(rows["event"], what))


def picked(rows: pa.Table, mask: Bools) -> pa.Table:
    """The rows of a mask."""
    return rows.filter(pa.array(mask))


def deciding_rows(rows: pa.Table, beyond: Spans) -> pa.Table:
    """What decides closes: all about fencing and about the entries ``beyond`` them, and who read anything."""
    ledger, entry = (np.asarray(rows[name]) for name in ("ledger", "entry"))
    closing = np.isin(ledger, beyond.ledger)
    mask = closing & ((entry == LAC) | beyond.has(ledger, entry))
    decisive = picked(rows, mask)
    readers = (
        only(picked(rows, closing & ~mask), LinkEvent.READING).group_by(["ledger", "source"]).aggregate([])
    )
    none = pa.nulls(readers.num_rows, pa.int64()).fill_null(LAC)
    other = [pa.nulls(readers.num_rows, pa.int64()).fill_null(LinkEvent.READING.value)]
    reads = pa.table([*other, readers["ledger"], readers["source"], none, none, none], names=COLUMNS)
    both = pa.concat_tables([decisive, reads])
    return whole_rows("link_events", np.asarray(both["ledger"]), [np.asarray(both[name]) for name in COLUMNS])


class LinkEvents:
    """The rows of :func:`deciding_rows` by ledger, kind and source, and those of :func:`lac_rows`."""

    def __init__(self, found: Found) -> None:
        self._moments: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
        self._recoverers: dict[int, set[int]] = {}
        self._lacs: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for ledger, source, at_ns, lac in zip(*(one.tolist() for one in found.columns("lac")), strict=True):
            self._lacs.setdefault((ledger, source), []).append((at_ns, lac))
        columns = (column.tolist() for column in found.columns("link_events"))
        for what, ledger, source, *moment in zip(*columns, strict=True):
            self._moments.setdefault((ledger, what, source), []).append((moment[0], moment[1], moment[2]))
            if what in (LinkEvent.FENCING, LinkEvent.READING):
                self._recoverers.setdefault(ledger, set()).add(source)

    def recoverers(self, ledger: int) -> list[int]:
        """Who sent a request of recovery for the ledger, ascending."""
        return sorted(self._recoverers.get(ledger, ()))

    def from_bookies(
        self, ledger: int, what: LinkEvent, source: int, entry: int, by_ns: int
    ) -> frozenset[int]:
        """Bookies of which such an answer about the entry may have reached the source by that time."""
        moments = self._moments.get((ledger, what, source), ())
        return frozenset(bookie for bookie, of, at_ns in moments if of == entry and at_ns <= by_ns)

    def last_read_ns(self, ledger: int, source: int, entry: int, by_ns: int) -> int:
        """When the proxy had the source's last recovery read of the entry by then; ``by_ns`` without one."""
        moments = self._moments.get((ledger, LinkEvent.READING, source), ())
        return max((at_ns for _, of, at_ns in moments if of == entry and at_ns <= by_ns), default=by_ns)

    def highest_lac(self, ledger: int, source: int, by_ns: int) -> int:
        """The highest LAC that an answer to fencing may have brought the source by then, -1 for none."""
        lacs = self._lacs.get((ledger, source), ())
        return max((lac for at_ns, lac in lacs if at_ns <= by_ns), default=-1)
