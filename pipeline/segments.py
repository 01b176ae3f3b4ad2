"""The task that collects one history file: decode it, put its rows into the tables.

Runs in a Spark worker; what comes back to the driver is small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from evidence.collect.histories import SegmentFile, misplaced
from evidence.history import decode_segment
from pipeline.tables import write_parts

_TABLES = ("operations", "census", "watched")


@dataclass(frozen=True, slots=True)
class SegmentTask:
    """One history file of run ``run_id``, and the folder and number of buckets its rows go to.

    ``number`` is the client's number by ``run.json``, None for a client that it does not name.
    """

    file: SegmentFile
    run_id: int
    number: int | None
    tables: Path
    buckets: int


@dataclass(frozen=True, slots=True)
class SegmentDone:
    """What became of one file: slots used, rows by table, the watched rows (few), and its damage."""

    slots: int
    rows: dict[str, int]
    watched: pa.Table
    damage: tuple[str, ...]


def collect_segment(task: SegmentTask) -> SegmentDone:
    """Decode one file and write its rows, sorted, one Parquet file a bucket.

    A file in another's place gives no rows: what it tells may have been told already.
    """
    segment = decode_segment(task.file.path, run_id=task.run_id)
    wrong = misplaced(task.file, segment, task.number)
    if wrong:
        segment = replace(segment, **{name: getattr(segment, name).slice(0, 0) for name in _TABLES})
    part = task.file.path.stem
    rows = {
        name: write_parts(task.tables, name, table, part, task.buckets)
        for name, table in (("operations", segment.operations), ("census", segment.census))
    }
    return SegmentDone(segment.slots, rows, segment.watched, segment.damage + wrong)
