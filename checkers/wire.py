"""Rows of ``frames`` as checkers pick them: what a bookie said, and what a client was told.

A bookie is accused or credited by ``status``, what it gave itself; a client decides by ``delivered``,
what reached it. Made answers, answers to nobody and headers that nobody could read prove nothing. An
answer of protocol V2 that fits more than one request is a bound: it may speak for its look-alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.contract import RunFacts
from checkers.spans import Bools, Ints
from checkers.wording import bookie_name, client_name
from evidence.codes import EXPLICIT_NEGATIVES, NEVER, Direction, FrameFlag, Message, Status
from protocol.addresses import MAX_BOOKIES

Columns = Mapping[str, NDArray[Any]]
UNPROVEN = FrameFlag.FORGED | FrameFlag.UNCORRELATED | FrameFlag.UNPARSED | FrameFlag.AMBIGUOUS
UNSURE_KIND = FrameFlag.UNCORRELATED | FrameFlag.AMBIGUOUS
LOOK_ALIKE: Mapping[Message, Message] = {
    Message.RECOVERY_READ: Message.READ,
    Message.FENCING_LAC_READ: Message.LAC_READ,
}
"""Requests whose answers cannot be told apart where two of one key are in flight (protocol V2)."""


def said(rows: Columns) -> Bools:
    """Answers that a known boot of a bookie gave, to a request that is known."""
    sure = ((rows["flags"] & int(UNPROVEN)) == 0) & (rows["boot"] > 0) & (rows["asked_ns"] != NEVER)
    return np.asarray((rows["way"] == Direction.ANSWER) & sure)


def asked(rows: Columns, kind: Message) -> Bools:
    """Requests of one kind, whether they were passed on or not."""
    return np.asarray((rows["way"] == Direction.REQUEST) & (rows["kind"] == kind))


def told(rows: Columns, kind: Message) -> Bools:
    """Answers that reached their client and are, or may be, answers to requests of this kind."""
    mine = rows["kind"] == kind
    if kind in LOOK_ALIKE:
        mine = mine | ((rows["kind"] == LOOK_ALIKE[kind]) & ((rows["flags"] & int(UNSURE_KIND)) != 0))
    reached = (rows["delivered"] != Status.NONE) & (rows["forwarded_ns"] != NEVER)
    return np.asarray((rows["way"] == Direction.ANSWER) & reached & mine)


def denies(status: NDArray[Any]) -> Bools:
    """Explicit negatives (BP-46, "Response Codes")."""
    return np.isin(status, EXPLICIT_NEGATIVES)


def codes(kind: int, one: NDArray[Any] | int, other: NDArray[Any] | int = 0) -> Ints:
    """A kind of moment with two small numbers a row (source and bookie, bookie and boot), as one number."""
    high, low = np.asarray(one, dtype=np.int64), np.asarray(other, dtype=np.int64)
    return np.atleast_1d(np.int64(kind << 32) | (high << np.int64(16)) | low)


def decoded(who: int) -> tuple[int, int, int]:
    """(kind, one, other) of a code."""
    return who >> 32, (who >> 16) & 0xFFFF, who & 0xFFFF


def picked(rows: Columns, pick: Bools, name: str) -> Ints:
    """One column of the rows picked, as 64 bits."""
    return rows[name][pick].astype(np.int64)


def source_name(run: RunFacts, number: int) -> str:
    """The name of a link's source: a bookie that asks other bookies, or a client."""
    return bookie_name(run, number) if number <= MAX_BOOKIES else client_name(run, number)
