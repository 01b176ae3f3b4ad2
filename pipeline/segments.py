"""The task that collects history files: decode them, put their rows into the tables together.

Runs in a Spark worker; what comes back to the driver is small. Neighbouring files share a task, so that
tables are made of few files however many segments there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import pyarrow as pa

from evidence.collect.histories import SegmentFile, misplaced
from evidence.history import Segment, decode_segment
from pipeline.blocks import write_parts

_TABLES = ("operations", "census", "watched")


@dataclass(frozen=True, slots=True)
class SegmentTask:
    """Some history files of one client of run ``run_id``, and where their rows go: folder, number of buckets.

    ``number`` is the client's number by ``run.json``, None for a client that it does not name.
    """

    files: tuple[SegmentFile, ...]
    run_id: int
    number: int | None
    tables: Path
    buckets: int


@dataclass(frozen=True, slots=True)
class SegmentDone:
    """What became of one file: slots used, the watched rows (few), its damage, halves that are torn."""

    slots: int
    watched: pa.Table
    damage: tuple[str, ...]
    torn: int = 0


@dataclass(frozen=True, slots=True)
class SegmentsDone:
    """What became of one task's files, in their order, and how many rows each table got."""

    files: tuple[SegmentDone, ...]
    rows: dict[str, int]


def neighbours(files: Sequence[SegmentFile], most: int) -> list[tuple[SegmentFile, ...]]:
    """The files in their order, up to ``most`` of one client at a time."""
    groups = [list(group) for _, group in groupby(files, key=lambda file: file.client)]
    return [tuple(group[at : at + most]) for group in groups for at in range(0, len(group), most)]


def collect_segments(task: SegmentTask) -> SegmentsDone:
    """Decode the files and leave their rows for their buckets."""
    segments = [_decoded(file, task) for file in task.files]
    part = task.files[0].path.stem
    rows = {}
    for name in ("operations", "census"):
        table = pa.concat_tables([getattr(segment, name) for segment in segments])
        rows[name] = write_parts(task.tables, name, table, part, task.buckets)
    done = (SegmentDone(segment.slots, segment.watched, segment.damage, segment.torn) for segment in segments)
    return SegmentsDone(tuple(done), rows)


def _decoded(file: SegmentFile, task: SegmentTask) -> Segment:
    """What a file holds; under another's name it gives no rows: they may be in the tables already."""
    segment = decode_segment(file.path, run_id=task.run_id)
    wrong = misplaced(file, segment, task.number)
    if wrong:
        segment = replace(segment, **{name: getattr(segment, name).slice(0, 0) for name in _TABLES})
    return replace(segment, damage=segment.damage + wrong)
