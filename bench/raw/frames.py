"""The wire log of a made run: each add on every link, each read and census question, with its answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from bench.raw.shape import BOOKIES, OBSERVER, STEP_NS, WINDOW, WRITER, Shape
from bench.raw.slots import Ints, Rows, is_lost, observer_slots, writer_slots
from evidence.codes import Direction, Kind, Message, Status
from evidence.raw.wirelog import RECORD

LINKS: Mapping[int, str] = dict(
    enumerate((f"{source}-{bookie}" for source in (WRITER[0], OBSERVER[0]) for bookie in BOOKIES), start=1)
)
_ADD_BYTES, _READ_BYTES, _SHORT_BYTES = 1105, 19, 40
_V3 = 3


def frames(shape: Shape) -> Iterator[Rows]:
    """The frames of everything that the clients asked bookies for, operation after operation."""
    bookies = np.array([*BOOKIES.values()])
    for slots in writer_slots(shape):
        asked, completed = slots["invoked"], slots["completed"]
        add = np.repeat(np.flatnonzero(asked["kind"] == Kind.ADD), len(bookies))
        bookie = np.tile(bookies, len(add) // len(bookies))
        yield _exchanges(
            Message.ADD,
            link=bookie,
            ledger=asked["ledger"][add],
            entry=completed["expected"][add],
            at_ns=asked["ns"][add] + 10 * bookie,
            took_ns=WINDOW * shape.together * STEP_NS // 2,
            status=np.full(len(add), Status.EOK),
            lac=asked["lac_before"][add],
        )
    for slots in observer_slots(shape):
        asked, completed = slots["invoked"], slots["completed"]
        census = asked["kind"] == Kind.CENSUS
        rows = np.flatnonzero(census | _delivering(shape, slots))
        ledger, entry = asked["ledger"][rows], asked["entry"][rows]
        lost = is_lost(shape.wounds, ledger, entry)
        yield _exchanges(
            Message.READ,
            link=len(BOOKIES) + np.where(census[rows], asked["handle"][rows], bookies[entry % len(bookies)]),
            ledger=ledger,
            entry=entry,
            at_ns=asked["ns"][rows] + 10,
            took_ns=STEP_NS // 4,
            status=np.where(lost, Status.ENOENTRY, Status.EOK),
            lac=np.full(len(rows), -1),
        )


def _delivering(shape: Shape, slots: Rows) -> NDArray[np.bool_]:
    """Rows of final reads that stand for one entry: those delivered, and the single reads of those lost."""
    asked = slots["invoked"]
    single = (asked["kind"] == Kind.READ) & (asked["last"] == asked["entry"])
    alone = single & is_lost(shape.wounds, asked["ledger"], asked["entry"])
    return np.asarray((asked["kind"] == Kind.ENTRY) | alone)


def _exchanges(
    kind: Message,
    *,
    link: Ints,
    ledger: Ints,
    entry: Ints,
    at_ns: Ints,
    took_ns: int,
    status: Ints,
    lac: Ints,
) -> Rows:
    """A request, with the LAC that it carries, and its answer ``took_ns`` later, for each row."""
    rows = np.zeros(2 * len(link), dtype=RECORD)
    for way, half in ((Direction.REQUEST, rows[0::2]), (Direction.ANSWER, rows[1::2])):
        is_answer = way == Direction.ANSWER
        half["ledger"], half["entry"], half["lac"] = ledger, entry, -1 if is_answer else lac
        half["link"], half["connection"] = link, link
        half["txn"] = at_ns // 10
        half["way"], half["protocol"], half["kind"] = way, _V3, kind
        half["op"] = 2 if kind == Message.ADD else 1
        half["received_ns"] = at_ns + (took_ns if is_answer else 0)
        half["forwarded_ns"] = half["received_ns"]
        half["asked_ns"] = at_ns if is_answer else 0
        half["status"] = half["delivered"] = status if is_answer else Status.NONE
        long = is_answer == (kind == Message.READ)
        short = _READ_BYTES if kind == Message.READ else _SHORT_BYTES
        half["size_bytes"] = _ADD_BYTES if long else short
    return rows
