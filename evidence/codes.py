"""Integer codes of the evidence tables, shared by the recorders and the checkers.

The Java client writes the same numbers (``client/``, ``HistoryFormat``); a test compares them.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

NEVER = 2**63 - 1
"""Stands for "no such time" in every ``_ns`` column; compares later than any time."""


class Kind(IntEnum):
    """What a client operation was."""

    CREATE = 1
    ADD = 2
    CLOSE = 3
    OPEN = 4
    READ = 5
    ENTRY = 6
    LAC = 7
    DELETE = 8
    FORCE = 9
    CENSUS = 10
    WATCHED = 11
    WRITE_LAC = 12


class Flag(IntFlag):
    """How a client operation was asked for."""

    DEFERRED_SYNC = 1
    RECOVERY = 2
    UNCONFIRMED = 4
    TAIL = 8
    FINAL = 16
    ADV = 32


class Outcome(IntEnum):
    """How an operation ended; PENDING (never completed) is judged as UNKNOWN."""

    PENDING = 0
    OK = 1
    FAIL = 2
    UNKNOWN = 3


class Proof(IntEnum):
    """What the bytes of a payload say about themselves."""

    NONE = 0
    PROVES_ITSELF = 1
    DAMAGED = 2
    FOREIGN = 3


class Holding(IntEnum):
    """A bookie's answer about one entry in the census."""

    PRESENT = 1
    ABSENT = 2
    UNKNOWN = 3
    DAMAGED = 4


class ErrorCode(IntEnum):
    """BookKeeper client error codes (BKException.Code) that judgement tells apart."""

    OK = 0
    NO_SUCH_LEDGER = -7
    LEDGER_RECOVERY = -10
    LEDGER_CLOSED = -11
    NO_SUCH_ENTRY = -13
    NO_SUCH_LEDGER_ON_METADATA = -25
    LEDGER_FENCED = -101
    UNAUTHORIZED = -102
    DATA_UNKNOWN = -108
