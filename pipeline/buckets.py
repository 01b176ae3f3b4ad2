"""The tasks that judge one bucket of the tables, batch by batch: facts of ledgers first, then the checks.

They run in Spark workers; their memory is bounded by the size of a batch, not of the bucket.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import lru_cache

from checkers.contract import LedgerFacts, RunFacts
from checkers.judge import FACTS, AllFound, check_all, combined_facts, facts_of, join_all
from evidence.schemas import BLOCKED, TABLES
from pipeline.blocks import Bucket, Columns, batches

_UNASKED: Columns = {"census": ("digest",), "frames": ("connection", "protocol", "txn")}
_UNASKED_WITHOUT_LOGS: Columns = {**_UNASKED, "operations": ("digest",)}


@dataclass(frozen=True, slots=True)
class BucketTask:
    """One bucket, to be read in batches of at most about ``rows`` rows."""

    bucket: Bucket
    rows: int


def facts_of_bucket(task: BucketTask) -> LedgerFacts:
    """What one bucket contributes to the facts of ledgers, which take less than half of a row."""
    parts = batches(task.bucket, 2 * task.rows, read_for_facts())
    return combined_facts(facts_of(batch) for batch in parts)


def read_for_facts() -> Columns:
    """The columns that facts of ledgers ask for, by table."""
    asked: dict[str, set[str]] = {}
    for fact in FACTS.values():
        for table, columns in fact.reads.items():
            asked.setdefault(table, set()).update(columns)
    return {table: [name for name in TABLES[table].names if name in asked[table]] for table in asked}


def check_bucket(known: bytes, task: BucketTask) -> AllFound:
    """What every checker finds in one bucket; ``known`` are the run and its facts, pickled."""
    run, facts = _unpacked(known)
    checked = (check_all(batch, run, facts) for batch in batches(task.bucket, task.rows, asked(run)))
    return join_all(checked)


@lru_cache(maxsize=1)
def _unpacked(known: bytes) -> tuple[RunFacts, LedgerFacts]:
    """Once for all tasks of a worker, and so is what follows from them (``once``)."""
    unpacked: tuple[RunFacts, LedgerFacts] = pickle.loads(known)  # noqa: S301  # our own driver's
    return unpacked


def asked(run: RunFacts) -> Columns:
    """The columns that checkers ask for. A checker that asks for another fails by its name."""
    left_out = _UNASKED if run.chains else _UNASKED_WITHOUT_LOGS
    return {
        table: [name for name in TABLES[table].names if name not in left_out.get(table, ())]
        for table in BLOCKED
    }
