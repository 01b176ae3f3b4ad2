"""The task that judges some buckets of the tables, batch by batch.

Runs in a Spark worker; its memory is bounded by the size of a batch, not of a bucket.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from functools import lru_cache

from checkers.contract import LedgerFacts, RunFacts
from checkers.judge import AllFound, check_all, join_all
from evidence.schemas import BLOCKED, TABLES
from pipeline.blocks import Bucket, Columns, batches

_UNASKED: Columns = {"census": ("digest",), "frames": ("connection", "protocol", "txn")}
_UNASKED_WITHOUT_LOGS: Columns = {**_UNASKED, "operations": ("digest",)}


@dataclass(frozen=True, slots=True)
class BucketTask:
    """Some buckets, each to be read in batches of at most about ``rows`` rows."""

    buckets: tuple[Bucket, ...]
    rows: int


def check_buckets(known: bytes, task: BucketTask) -> dict[int, AllFound]:
    """What every checker finds in each bucket; ``known`` are the run and the facts of ledgers, pickled."""
    run, facts = _unpacked(known)
    return {
        bucket.number: join_all(
            check_all(batch, run, facts) for batch in batches(bucket, task.rows, asked(run))
        )
        for bucket in task.buckets
    }


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
