"""The task that scans one bucket of the tables: slice by slice, merged as it goes.

Runs in a Spark worker; its memory is bounded by the size of a slice, not of the bucket.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from checkers.contract import Chunk, RunFacts
from checkers.judge import Summaries, merge_all, scan_all
from evidence.schemas import BUCKETED
from pipeline.tables import slices

Columns = Mapping[str, tuple[str, ...]]
"""Table -> names of columns."""
_UNASKED: Columns = {"census": ("digest",), "frames": ("connection", "protocol", "txn")}
_UNASKED_WITHOUT_LOGS: Columns = {**_UNASKED, "operations": ("digest",)}


@dataclass(frozen=True, slots=True)
class BucketTask:
    """One bucket of the tables in a folder, to be read in slices of about so many ``rows``."""

    tables: Path
    bucket: int
    rows: int


def scan_bucket(facts: RunFacts, task: BucketTask) -> Summaries:
    """Every checker's summary of one bucket."""
    total = scan_all(Chunk({}), facts)
    for chunk in chunks(task, without=unasked(facts)):
        total = merge_all(total, scan_all(chunk, facts))
    return total


def unasked(facts: RunFacts) -> Columns:
    """Columns that no checker asks for. One that asks for one of them fails by its name."""
    return _UNASKED if facts.chains else _UNASKED_WITHOUT_LOGS


def chunks(task: BucketTask, *, without: Columns | None = None) -> Iterator[Chunk]:
    """The bucket's tables, ``without`` some columns, in chunks of fewer than twice its slice's rows."""
    gathered: dict[str, list[pa.Table]] = {}
    count = 0
    for name in BUCKETED:
        for part in slices(task.tables, name, task.bucket, task.rows, without=(without or {}).get(name, ())):
            gathered.setdefault(name, []).append(part)
            count += part.num_rows
            if count >= task.rows:
                yield _chunk(gathered)
                gathered, count = {}, 0
    if count:
        yield _chunk(gathered)


def _chunk(gathered: dict[str, list[pa.Table]]) -> Chunk:
    return Chunk({name: pa.concat_tables(parts) for name, parts in gathered.items()})
