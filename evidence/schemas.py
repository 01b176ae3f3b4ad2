"""Arrow schemas of the evidence tables.

One row of ``operations`` is one client operation; of ``frames`` one request or answer on a link
(one for each entry of a batch); of ``census`` one answer of one bookie; of ``holdings`` one span of
entries that a bookie's disk held when a boot of it died uncleanly; of
``ledgers`` one version of a ledger's metadata; of ``chains`` one version of the list of a log's
ledgers; of ``faults`` one fault; of ``servers`` one event.
Times are CLOCK_MONOTONIC nanoseconds of the run's machine, ``NEVER`` for a missing time.
:mod:`evidence.codes` defines the integer codes; ``run.json`` resolves client and bookie numbers.
No column holds nulls, so that every column is a plain NumPy array.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from numpy.typing import NDArray


def _schema(**columns: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=False) for name, kind in columns.items()])


OPERATIONS = _schema(
    ledger=pa.int64(),  # -1: an operation on no ledger yet (a create that did not end)
    entry=pa.int64(),  # add: assigned, else expected id; entry: delivered; read: first; force: acked; else -1
    client=pa.int16(),
    seq=pa.int64(),  # slot number in the client's history, from 1
    handle=pa.int32(),
    kind=pa.int8(),
    flags=pa.int16(),
    outcome=pa.int8(),  # PENDING is kept as such and judged as UNKNOWN
    error=pa.int32(),
    invoked_ns=pa.int64(),
    completed_ns=pa.int64(),  # NEVER when there was no outcome
    last=pa.int64(),  # read: range end; entry: seq of its read; watched: metadata version; else -1
    lac_before=pa.int64(),  # highest LAC returned on this handle before the invocation, -1 none
    lac=pa.int64(),  # LAC in the outcome, -1 none (watched: the state's code)
    result=pa.int64(),  # outcome's entry field as recorded (close/open: last entry; read and pass: delivered)
    expected=pa.int64(),  # the id that order demands, -1: none; pass: zxid that made its log's znode
    size_bytes=pa.int32(),
    digest=pa.int64(),  # crc32c << 32 | crc32 of the payload, as signed 64 bits
    origin=pa.int32(),  # client number in the payload's header
    proof=pa.int8(),
)

FRAMES = _schema(
    ledger=pa.int64(),  # -1 where the message names none
    entry=pa.int64(),  # -1 where none, and for reads of the LAC
    seq=pa.int64(),  # number in the wire log, from 1; every row has its own
    connection=pa.int32(),
    source=pa.int16(),  # source number of the link's client or bookie, as in run.json
    bookie=pa.int16(),  # number of the link's destination
    boot=pa.int16(),  # boot of the bookie that got the request or gave the answer, 0: none, or not known
    way=pa.int8(),  # Direction
    protocol=pa.int8(),  # 2 or 3
    kind=pa.int8(),  # Message
    flags=pa.int32(),  # FrameFlag
    status=pa.int32(),  # of an answer as the bookie gave it; Status.NONE for a request or a forged answer
    delivered=pa.int32(),  # of an answer as it was passed on; Status.NONE when nothing was
    lac=pa.int64(),  # add, write LAC: sent along; answer: returned; -1 none
    txn=pa.int64(),  # V3's transaction id, -1 none
    asked_ns=pa.int64(),  # answer: its request was passed on not before; NEVER of a request, or uncorrelated
    received_ns=pa.int64(),  # the proxy had the whole frame
    forwarded_ns=pa.int64(),  # the proxy began to pass it on, not before; NEVER: it did not
    rule=pa.int32(),  # number of the rule that acted, 0 none
    size_bytes=pa.int32(),
)

CENSUS = _schema(
    ledger=pa.int64(),
    entry=pa.int64(),
    pass_number=pa.int16(),
    bookie=pa.int16(),
    holding=pa.int8(),
    error=pa.int32(),
    asked_ns=pa.int64(),
    answered_ns=pa.int64(),
    digest=pa.int64(),
    origin=pa.int32(),
    size_bytes=pa.int32(),
)

HOLDINGS = _schema(
    ledger=pa.int64(),
    entry=pa.int64(),  # the first of the span
    last=pa.int64(),  # the last, inclusive; a span lies in one block of entries (protocol.buckets)
    bookie=pa.int16(),
    boot=pa.int16(),  # the boot that died; only of one with an event ``disk_read`` a gap is an absence
    place=pa.int8(),  # Place; what is in the journal the next boot replays
)

LEDGERS = _schema(
    ledger=pa.int64(),
    version=pa.int32(),  # znode version; create is 0; a delete is one row with state 0
    state=pa.int8(),  # LedgerState, 0: deleted
    last_entry=pa.int64(),  # meaningful when CLOSED (-1: empty); -2 otherwise
    length_bytes=pa.int64(),
    ensemble=pa.int16(),
    write_quorum=pa.int16(),
    ack_quorum=pa.int16(),
    fragments=pa.list_(
        pa.struct(
            [
                pa.field("first_entry", pa.int64(), nullable=False),
                pa.field("bookies", pa.list_(pa.string()), nullable=False),
            ]
        )
    ),
    zxid=pa.int64(),
    earliest_ns=pa.int64(),  # not in force before
    latest_ns=pa.int64(),  # in force not later than this; NEVER when it was not observed
    put_back=pa.bool_(),  # no transaction made it: a fault put the store's content back to it
)

CHAINS = _schema(
    chain=pa.string(),
    version=pa.int32(),  # znode version; create is 0
    ledgers=pa.list_(pa.int64()),  # ids in the log's order
    zxid=pa.int64(),
    born=pa.int64(),  # zxid of the transaction that made the znode
    earliest_ns=pa.int64(),  # not in force before
)

FAULTS = _schema(
    fault=pa.int32(),
    kind=pa.string(),
    target=pa.string(),
    params=pa.string(),  # JSON
    planned_ns=pa.int64(),
    injected_ns=pa.int64(),
    confirmed_ns=pa.int64(),
    healed_ns=pa.int64(),
    proof=pa.string(),  # JSON
)

SERVERS = _schema(
    server=pa.string(),
    boot=pa.int32(),
    event=pa.string(),
    earliest_ns=pa.int64(),
    latest_ns=pa.int64(),
    detail=pa.string(),  # JSON
)

TABLES: dict[str, pa.Schema] = {
    "operations": OPERATIONS,
    "frames": FRAMES,
    "census": CENSUS,
    "holdings": HOLDINGS,
    "ledgers": LEDGERS,
    "chains": CHAINS,
    "faults": FAULTS,
    "servers": SERVERS,
}

BLOCKED = ("operations", "census", "frames", "holdings")
"""Tables kept in blocks of entries (:mod:`protocol.buckets`); the others are small and whole."""


def table_of(schema: pa.Schema, columns: Mapping[str, NDArray[Any]]) -> pa.Table:
    """NumPy columns as a table of this schema."""
    arrays = [pa.array(columns[one.name].astype(one.type.to_pandas_dtype())) for one in schema]
    return pa.table(arrays, schema=schema)
