"""Tiny builders of ``frames``: who asked which bookie what, and what came back.

``asked("reader", "b1", read(10))`` is a recovery read at the proxy; ``answered("reader", "b1", read(10),
ENOENTRY)`` its answer, given by the bookie's first boot and passed on as it was. Times are ``at`` (5
when nothing is said): a frame is received and passed on at once, and its request was asked just before.
"""

from __future__ import annotations

from typing import Any

from evidence.codes import NEVER, Direction, FrameFlag, Message, Status
from tests.histories.exchanges import frame as of_kind
from tests.histories.story import BOOKIES, CLIENTS, Fact, acked, closed, created, recovering

EOK, ENOENTRY, ENOLEDGER = Status.EOK, Status.ENOENTRY, Status.ENOLEDGER
UNKNOWN_STATE, EIO, TOO_MANY = Status.EUNKNOWNLEDGERSTATE, Status.EIO, Status.ETOOMANYREQUESTS
CLOSED_BY = 100
What = tuple[Message, int]
SOURCES = {**CLIENTS, **BOOKIES}


def fencing() -> What:
    return Message.FENCING_LAC_READ, -1


def read(entry: int) -> What:
    return Message.RECOVERY_READ, entry


def plain_read(entry: int) -> What:
    return Message.READ, entry


def add(entry: int) -> What:
    return Message.ADD, entry


def write_back(entry: int) -> What:
    return Message.RECOVERY_ADD, entry


def force() -> What:
    return Message.FORCE, -1


def frame(source: str, bookie: str, what: What, **columns: Any) -> Fact:
    plain = {"flags": 0, "seq": 0, "txn": -1, "received_ns": 5, "forwarded_ns": 5, **columns}
    return of_kind(what[0], source=SOURCES[source], bookie=BOOKIES[bookie], **{"entry": what[1], **plain})


def asked(source: str, bookie: str, what: What, *, at: int = 5, **columns: Any) -> Fact:
    return frame(source, bookie, what, **{"received_ns": at, "forwarded_ns": at, "seq": at, **columns})


def answered(
    source: str, bookie: str, what: What, status: Status = EOK, *, at: int = 5, **columns: Any
) -> Fact:
    """The bookie's answer, passed on as it was."""
    given = {
        "way": Direction.ANSWER,
        "status": status,
        "delivered": status,
        "asked_ns": at - 1,
        "received_ns": at,
        "forwarded_ns": at,
        "seq": at,
    }
    return frame(source, bookie, what, **{**given, **columns})


def swallowed(source: str, bookie: str, what: What, status: Status = EOK, **columns: Any) -> Fact:
    """An answer that a fault rule kept from its client."""
    lost = {"delivered": Status.NONE, "forwarded_ns": NEVER, "flags": FrameFlag.DROPPED, "rule": 1}
    return answered(source, bookie, what, status, **{**lost, **columns})


def forged(source: str, bookie: str, what: What, status: Status = ENOENTRY, **columns: Any) -> Fact:
    """An answer that a fault rule made where the bookie said EOK."""
    made = {"delivered": status, "flags": FrameFlag.FORGED, "rule": 1}
    return answered(source, bookie, what, EOK, **{**made, **columns})


def exchange(source: str, bookie: str, what: What, status: Status = EOK, *, at: int = 5) -> list[Fact]:
    """A request and its answer, one nanosecond later."""
    return [asked(source, bookie, what, at=at), answered(source, bookie, what, status, at=at + 1)]


def recovery(
    end: int,
    *,
    source: str = "reader",
    fenced: tuple[str, ...] = ("b1", "b2"),
    found: tuple[int, ...] = (),
    denied: tuple[str, ...] = ("b1", "b2"),
    at: int = 10,
) -> list[Fact]:
    """A lawful recovery: fence, read and write back ``found``, be denied the entry after ``end``."""
    facts = [one for bookie in fenced for one in exchange(source, bookie, fencing(), at=at)]
    for entry in found:
        at += 10
        facts += exchange(source, "b1", read(entry), at=at)
        for bookie in ("b1", "b2", "b3"):
            facts += exchange(source, bookie, write_back(entry), at=at + 2)
    for bookie in denied:
        facts += exchange(source, bookie, read(end + 1), ENOENTRY, at=at + 10)
    return facts


def recovered(end: int = 4, **columns: Any) -> list[Any]:
    """A ledger of three bookies that was closed in recovery by 100 ns; entries 0..9 were acknowledged."""
    shape = {
        name: columns.pop(name) for name in ("ensemble", "write_quorum", "ack_quorum") if name in columns
    }
    versions = [
        created(**shape),
        recovering(1, earliest_ns=2, **shape, **columns),
        closed(end, 2, latest_ns=CLOSED_BY, **shape, **columns),
    ]
    return [*versions, [acked(entry) for entry in range(10)]]
