"""The output of ``fencepost export``: a run's log for Jepsen and Elle, or the whole run for Perfetto."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evidence.codes import NEVER
from evidence.exchange.chains import NEEDED, chain_transactions, chains_of
from evidence.exchange.jepsen import jepsen_lines
from evidence.exchange.trace import Tracing, trace_lines
from evidence.folder import RunFolder
from evidence.schemas import FaultRow, OperationRow, ServerRow
from protocol.errors import UsageError
from reports.explain.rows import Tables

_AT_ONCE = 10_000


def history(folder: RunFolder, *, as_json: bool) -> Iterator[str]:
    """The log of a run as Jepsen's history, line by line; an element is ``ledger * 10**9 + entry``.

    ``UsageError`` for a run without a log of ledgers.
    """
    tables = Tables(folder)
    _ = tables.damage
    chains = chains_of(
        tables.table("chains").sort_by([("chain", "ascending"), ("zxid", "ascending")]).to_pylist()
    )
    if not chains:
        raise UsageError(
            f"{folder.path} has no log of ledgers, and so no history for Jepsen or Elle",
            remedy="runs of the workload chain have one (soak/chain); --trace goes with any run",
        )
    rows = tables.table("operations")
    given, _ = chain_transactions({name: np.asarray(rows.column(name)) for name in NEEDED}, chains)
    return jepsen_lines(replace(given, split=0), as_json=as_json)


def trace(folder: RunFolder) -> Iterator[str]:
    """A run as Chrome trace events: clients' operations, faults and servers' boots, as one JSON document."""
    tables = Tables(folder)
    _ = tables.damage
    operations = tables.table("operations").sort_by([("invoked_ns", "ascending"), ("seq", "ascending")])
    faults, servers = tables.rows(FaultRow), tables.rows(ServerRow)
    clients = {number: name for name, number in tables.run["clients"].items()}
    tracing = Tracing(tables.began_ns, _end_ns(operations, faults, servers), clients)
    return trace_lines(tracing.events(_rows(operations), faults, servers))


def _rows(table: pa.Table) -> Iterator[OperationRow]:
    names = ("ledger", "entry", "client", "kind", "flags", "outcome", "error", "invoked_ns", "completed_ns")
    for batch in table.select(names).to_batches(max_chunksize=_AT_ONCE):
        yield from batch.to_pylist()


def _end_ns(operations: pa.Table, faults: Iterable[FaultRow], servers: Iterable[ServerRow]) -> int:
    """The last moment that any record names."""
    ended = operations.filter(pc.field("completed_ns") != NEVER)
    times = [
        *(at for row in faults for at in (row["injected_ns"], row["confirmed_ns"], row["healed_ns"])),
        *(row["latest_ns"] for row in servers),
        pc.max(ended.column("completed_ns")).as_py() or 0,
        pc.max(operations.column("invoked_ns")).as_py() or 0,
    ]
    return max((at for at in times if at != NEVER), default=0)
