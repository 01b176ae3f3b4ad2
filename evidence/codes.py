"""Integer codes of the evidence tables, shared by the recorders and the checkers.

The Java client writes the same numbers (``client/``, ``HistoryFormat``); a test compares them.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag

NEVER = 2**63 - 1
"""Stands for "no such time" in every ``_ns`` column; compares later than any time."""

ANSWERING = "answering"
"""The event of a client that became ready, which it does after it has begun its history."""
CONFIGURED = "configured"
"""The event of a bookie whose configuration file was written: its settings of the journal."""
RECORDED = "recorded"
"""The event of a client that quit: how many ``slots`` of its history its boot used."""


class Kind(IntEnum):
    """The kind of a client operation."""

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
    PASS = 13


class Flag(IntFlag):
    """Options of a client operation."""

    DEFERRED_SYNC = 1
    RECOVERY = 2
    UNCONFIRMED = 4
    TAIL = 8
    FINAL = 16
    ADV = 32
    PASS = 64
    BATCH = 128


class Outcome(IntEnum):
    """How an operation ended; PENDING (never completed) is judged as UNKNOWN."""

    PENDING = 0
    OK = 1
    FAIL = 2
    UNKNOWN = 3


class Proof(IntEnum):
    """What the bytes of a payload prove."""

    NONE = 0
    PROVES_ITSELF = 1
    DAMAGED = 2
    FOREIGN = 3


class Place(IntEnum):
    """Where on a disk an entry was held."""

    INDEX = 1
    JOURNAL = 2


class Holding(IntEnum):
    """A bookie's answer about one entry in the census."""

    PRESENT = 1
    ABSENT = 2
    UNKNOWN = 3
    DAMAGED = 4


class ErrorCode(IntEnum):
    """BookKeeper client error codes (BKException.Code) that judging distinguishes."""

    OK = 0
    NOT_ENOUGH_BOOKIES = -6
    NO_SUCH_LEDGER = -7
    BOOKIE_NOT_AVAILABLE = -8
    ZOOKEEPER = -9
    LEDGER_RECOVERY = -10
    LEDGER_CLOSED = -11
    NO_SUCH_ENTRY = -13
    INTERRUPTED = -15
    METADATA_VERSION = -17
    METADATA_STORE = -18
    CLIENT_CLOSED = -19
    ADD_QUORUM_TIMEOUT = -21
    TIMEOUT = -23
    NO_SUCH_LEDGER_ON_METADATA = -25
    LEDGER_FENCED = -101
    UNAUTHORIZED = -102
    DATA_UNKNOWN = -108
    UNEXPECTED_CONDITION = -999


class Message(IntEnum):
    """The kind of a request on the wire; an answer has its request's kind (the proxy's ``frames.Kinds``)."""

    OTHER = 0
    ADD = 1
    RECOVERY_ADD = 2
    FENCING_LAC_READ = 3
    RECOVERY_READ = 4
    READ = 5
    LAC_READ = 6
    WRITE_LAC = 7
    FORCE = 8


class Direction(IntEnum):
    """The direction of a frame, seen from the source of its link."""

    REQUEST = 0
    ANSWER = 1


class FrameFlag(IntFlag):
    """Flags of a frame in the wire log (``proxy/wirelog/record.go``)."""

    FENCING = 1  # its request fences
    RECOVERY = 2  # only recovery sends its request
    AMBIGUOUS = 4  # an answer of V2 that fits more than one request in flight
    FORGED = 8  # made by a rule of a fault, or the request or answer that it stands for
    HELD = 16
    DUPLICATED = 32
    DROPPED = 64
    DELAYED = 128
    UNCORRELATED = 256  # an answer to no request that was seen
    UNPARSED = 512  # its header could not be read
    BATCH = 1024
    GAP = 2048  # frames before this one could not be recorded
    GARBLED = 4096  # a rule of a fault flipped a bit of its entry


class Status(IntEnum):
    """Statuses on the wire, in V3's numbers; ``NONE``: no status (a request, nothing delivered)."""

    NONE = -1
    EOK = 0
    ENOLEDGER = 402
    ENOENTRY = 403
    EBADREQ = 404
    EIO = 501
    EUA = 502
    EBADVERSION = 503
    EFENCED = 504
    EREADONLY = 505
    ETOOMANYREQUESTS = 506
    EUNKNOWNLEDGERSTATE = 507


EXPLICIT_NEGATIVES = (Status.ENOLEDGER, Status.ENOENTRY)
"""Answers that say "no such entry"; every other answer but EOK is unknown (BP-46, "Response Codes")."""
