"""The rows of the evidence tables, and the Arrow schemas that follow from them.

Times are CLOCK_MONOTONIC nanoseconds of the run's machine, ``NEVER`` for a missing time.
:mod:`evidence.codes` defines the integer codes; ``run.json`` resolves client and bookie numbers.
No column holds nulls, so that every column is a plain NumPy array.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias, TypedDict, get_type_hints

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Int8: TypeAlias = Annotated[int, pa.int8()]
Int16: TypeAlias = Annotated[int, pa.int16()]
Int32: TypeAlias = Annotated[int, pa.int32()]
Int64: TypeAlias = Annotated[int, pa.int64()]
Text: TypeAlias = Annotated[str, pa.string()]
Bool: TypeAlias = Annotated[bool, pa.bool_()]


def _fields(row: type) -> list[pa.Field]:
    """The columns of a row, each with the Arrow type of its annotation."""
    kinds = get_type_hints(row, include_extras=True)
    return [pa.field(name, kind.__metadata__[0], nullable=False) for name, kind in kinds.items()]


class OperationRow(TypedDict):
    """One client operation."""

    ledger: Int64  # -1: an operation on no ledger yet (a create that did not end)
    entry: Int64  # add: assigned, else expected id; entry: delivered; read: first; force: acked; else -1
    client: Int16
    seq: Int64  # slot number in the client's history, from 1
    handle: Int32
    kind: Int8
    flags: Int16
    outcome: Int8  # PENDING is kept as such and judged as UNKNOWN
    error: Int32
    invoked_ns: Int64
    completed_ns: Int64  # NEVER when there was no outcome
    last: Int64  # read: range end; entry: seq of its read; watched: metadata version; else -1
    lac_before: Int64  # highest LAC returned on this handle before the invocation, -1 none
    lac: Int64  # LAC in the outcome, -1 none (watched: the state's code)
    result: Int64  # outcome's entry field as recorded (close/open: last entry; read and pass: delivered)
    expected: Int64  # the id that order demands, -1: none; pass: zxid that made its log's znode
    size_bytes: Int32
    digest: Int64  # crc32c << 32 | crc32 of the payload, as signed 64 bits
    origin: Int32  # client number in the payload's header
    proof: Int8


class FrameRow(TypedDict):
    """One request or answer on a link (one for each entry of a batch)."""

    ledger: Int64  # -1 where the message names none
    entry: Int64  # -1 where none, and for reads of the LAC
    seq: Int64  # number in the wire log, from 1; every row has its own
    connection: Int32
    source: Int16  # source number of the link's client or bookie, as in run.json
    bookie: Int16  # number of the link's destination
    boot: Int16  # boot of the bookie that got the request or gave the answer, 0: none, or not known
    way: Int8  # Direction
    protocol: Int8  # 2 or 3
    kind: Int8  # Message
    flags: Int32  # FrameFlag
    status: Int32  # of an answer as the bookie gave it; Status.NONE for a request or a forged answer
    delivered: Int32  # of an answer as it was passed on; Status.NONE when nothing was
    lac: Int64  # add, write LAC: sent along; answer: returned; -1 none
    txn: Int64  # V3's transaction id, -1 none
    asked_ns: Int64  # answer: its request was passed on not before; NEVER of a request, or uncorrelated
    received_ns: Int64  # the proxy had the whole frame
    forwarded_ns: Int64  # the proxy began to pass it on, not before; NEVER: it did not
    rule: Int32  # number of the rule that acted, 0 none
    size_bytes: Int32


class CensusRow(TypedDict):
    """One answer of one bookie."""

    ledger: Int64
    entry: Int64
    pass_number: Int16
    bookie: Int16
    holding: Int8
    error: Int32
    asked_ns: Int64
    answered_ns: Int64
    digest: Int64
    origin: Int32
    size_bytes: Int32


class HoldingRow(TypedDict):
    """One span of entries that a bookie's disk held when a boot of it died uncleanly."""

    ledger: Int64
    entry: Int64  # the first of the span
    last: Int64  # the last, inclusive; a span lies in one block of entries (protocol.buckets)
    bookie: Int16
    boot: Int16  # the boot that died; only of one with an event ``disk_read`` a gap is an absence
    place: Int8  # Place; what is in the journal the next boot replays


class Fragment(TypedDict):
    """From which entry on which bookies hold a ledger."""

    first_entry: Int64
    bookies: Annotated[list[str], pa.list_(pa.string())]


class LedgerRow(TypedDict):
    """One version of a ledger's metadata."""

    ledger: Int64
    version: Int32  # znode version; create is 0; a delete is one row with state 0
    state: Int8  # LedgerState, 0: deleted
    last_entry: Int64  # meaningful when CLOSED (-1: empty); -2 otherwise
    length_bytes: Int64
    ensemble: Int16
    write_quorum: Int16
    ack_quorum: Int16
    fragments: Annotated[list[Fragment], pa.list_(pa.struct(_fields(Fragment)))]
    zxid: Int64
    earliest_ns: Int64  # not in force before
    latest_ns: Int64  # in force not later than this; NEVER when it was not observed
    put_back: Bool  # no transaction made it: a fault put the store's content back to it


class ChainRow(TypedDict):
    """One version of the list of a log's ledgers."""

    chain: Text
    version: Int32  # znode version; create is 0
    ledgers: Annotated[list[int], pa.list_(pa.int64())]  # ids in the log's order
    zxid: Int64
    born: Int64  # zxid of the transaction that made the znode
    earliest_ns: Int64  # not in force before


class FaultRow(TypedDict):
    """One fault."""

    fault: Int32
    kind: Text
    target: Text
    params: Text  # JSON
    planned_ns: Int64
    injected_ns: Int64
    confirmed_ns: Int64
    healed_ns: Int64
    proof: Text  # JSON


class ServerRow(TypedDict):
    """One event."""

    server: Text
    boot: Int32
    event: Text
    earliest_ns: Int64
    latest_ns: Int64
    detail: Text  # JSON


ROWS: Mapping[str, type] = {
    "operations": OperationRow,
    "frames": FrameRow,
    "census": CensusRow,
    "holdings": HoldingRow,
    "ledgers": LedgerRow,
    "chains": ChainRow,
    "faults": FaultRow,
    "servers": ServerRow,
}
"""The row of each table."""
TABLES: dict[str, pa.Schema] = {name: pa.schema(_fields(row)) for name, row in ROWS.items()}
OPERATIONS, FRAMES, CENSUS, HOLDINGS, LEDGERS, CHAINS, FAULTS, SERVERS = TABLES.values()

BLOCKED = ("operations", "census", "frames", "holdings")
"""Tables kept in blocks of entries (:mod:`protocol.buckets`); the others are small and whole."""


def table_of(schema: pa.Schema, columns: Mapping[str, NDArray[np.generic]]) -> pa.Table:
    """NumPy columns as a table of this schema."""
    arrays = [pa.array(np.ascontiguousarray(columns[one.name], one.type.to_pandas_dtype())) for one in schema]
    return pa.table(arrays, schema=schema)
