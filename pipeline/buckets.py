"""The task that scans one bucket of the tables: slice by slice, merged as it goes.

Runs in a Spark worker; its memory is bounded by the size of a slice, not of the bucket.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from checkers.contract import Chunk, RunFacts
from checkers.judge import Summaries, merge_all, scan_all
from evidence.schemas import BUCKETED
from pipeline.tables import slices

ROWS_IN_SLICE = 500_000


@dataclass(frozen=True, slots=True)
class BucketTask:
    """One bucket of the tables in a folder."""

    tables: Path
    bucket: int


def scan_bucket(facts: RunFacts, task: BucketTask) -> Summaries:
    """Every checker's summary of one bucket."""
    total = scan_all(Chunk({}), facts)
    for chunk in chunks(task, ROWS_IN_SLICE):
        total = merge_all(total, scan_all(chunk, facts))
    return total


def chunks(task: BucketTask, rows: int) -> Iterator[Chunk]:
    """The bucket's tables in chunks of fewer than twice ``rows`` rows."""
    gathered: dict[str, list[pa.Table]] = {}
    count = 0
    for name in BUCKETED:
        for part in slices(task.tables, name, task.bucket, rows):
            gathered.setdefault(name, []).append(part)
            count += part.num_rows
            if count >= rows:
                yield _chunk(gathered)
                gathered, count = {}, 0
    if count:
        yield _chunk(gathered)


def _chunk(gathered: dict[str, list[pa.Table]]) -> Chunk:
    return Chunk({name: pa.concat_tables(parts) for name, parts in gathered.items()})
