"""Simulated runs as stored runs: a real run folder with its tables, in as many buckets as one likes.

What the simulator records are rows, not the raw bytes of clients and proxies, so the tables are written as
collection writes them, and everything from there on is the ordinary way: Spark reads the folder.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from checkers.judging.contract import RunFacts
from evidence.collection import Collection, read_collection, write_collection
from evidence.folder import RunFolder
from evidence.schemas import BLOCKED, TABLES
from pipeline.facts import run_facts
from pipeline.tables import read_table, replacing
from protocol.modes import DB_STORAGE
from tests.histories.simulator import Simulation
from tests.histories.story import Fact
from tests.stored_tables import write_tables

PROTECTED = {
    "dataIntegrityChecking": "true",
    "journalWriteData": "false",
    "ledgerStorageClass": DB_STORAGE,
}


def stored(path: Path, simulation: Simulation, *, buckets: int = 5) -> RunFolder:
    """The run in a separate folder, with its tables and without raw evidence."""
    facts, history = simulation.facts(), simulation.history()
    folder = RunFolder.create(path, facts.mode)
    clock = {"wall_ns": 10**18, "monotonic_ns": 0}
    folder.write_run(
        {
            "run_id": str(facts.run_id),
            "scenario": facts.scenario,
            "mode": facts.mode,
            "plan": {"required": list(facts.required)},
            "bookies": dict(facts.bookies),
            "clients": dict(facts.clients),
            "versions": dict.fromkeys(facts.bookies, "4.18.0"),
            "conf": {"bookie": PROTECTED if facts.guarded else {}},
            "clock": clock,
        }
    )
    end = {"closed_ns": 10**12, "clock": clock, "complete": True, "histories": {}}
    folder.write_end(end | {"wire": {"simulated": True}})
    with replacing(folder) as tables:
        rows = write_tables(tables, {name: _of(name, history, facts) for name in TABLES}, buckets)
        write_collection(tables, Collection(buckets, dict(sorted(rows.items())), ()))
    return folder


def _of(name: str, history: list[Fact], facts: RunFacts) -> pa.Table:
    small = {"faults": facts.faults, "servers": facts.servers}
    rows = (
        [dict(row) for row in small[name]]
        if name in small
        else [row for table, row in history if table == name]
    )
    return pa.Table.from_pylist(rows, schema=TABLES[name])


def rows_of(folder: RunFolder) -> tuple[list[Fact], RunFacts]:
    """What is stored, as the twins take it: the rows of all tables, and what is known of the run."""
    history = [
        (name, row) for name in (*BLOCKED, "ledgers") for row in read_table(folder.tables, name).to_pylist()
    ]
    return history, run_facts(folder, read_collection(folder))
