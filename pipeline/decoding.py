"""The tasks that check raw evidence and find its rows for the tables: histories, wire logs, copies of disks.

They run in Spark workers; what comes back to the driver is small. Neighbouring files of a history or of a
wire log share a task, so that tables are made of few files however many segments there are. A file under
another's name gives no rows: they may be in the tables already.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeVar

import numpy as np

from checkers.sets.ordering import Column
from evidence.collect.frames import WireNames, frames_at
from evidence.collect.histories import SegmentFile, misplaced
from evidence.collect.holdings import read_copy
from evidence.collect.wirelogs import WireFile, count_frames
from evidence.raw.disk_layout import copy_name
from evidence.raw.history import SLOTS, Segment, rows_at
from evidence.raw.history import decode as decode_history
from evidence.raw.wirelog import RECORDS, WireSegment, first_seq_of
from evidence.raw.wirelog import decode_segment as decode_wire_log
from evidence.shapes import EventLine
from pipeline.blocks import write_part, write_rows

File = TypeVar("File")


@dataclass(frozen=True, slots=True)
class Target:
    """Where the rows of run ``run_id`` go: the tables' folder, and the number of their buckets."""

    run_id: int
    tables: Path
    buckets: int


def neighbours(files: Sequence[File], most: int, like: Callable[[File], object]) -> list[tuple[File, ...]]:
    """The files in their order, up to ``most`` at a time that are alike."""
    groups = [list(group) for _, group in groupby(files, key=like)]
    return [tuple(group[at : at + most]) for group in groups for at in range(0, len(group), most)]


def collect_segments(
    target: Target, numbers: Mapping[str, int], files: Sequence[SegmentFile]
) -> tuple[list[Segment], dict[str, int]]:
    """Decode history files of one client: each with only its watched rows, and how many rows tables got.

    ``numbers`` are the clients' by ``run.json``.
    """
    number = numbers.get(files[0].client)  # files of a client that the run does not know give no rows
    keys: list[Mapping[str, Column]] = []
    done: list[Segment] = []
    for place, file in enumerate(files):
        segment = _history(file, target.run_id, number)
        done.append(replace(segment, rows=segment.of("watched")))
        keys.append(segment.keys(place * SLOTS))
    paths, rows = [file.path for file in files], {}
    for name in keys[0]:
        reading = partial(rows_at, name, number or 0, paths)
        mine = [known[name] for known in keys]
        rows[name] = write_part(target.tables, name, paths[0].stem, mine, reading, target.buckets)
    return done, rows


def _history(file: SegmentFile, run_id: int, number: int | None) -> Segment:
    segment = decode_history(file.path.read_bytes(), run_id=run_id)
    wrong = misplaced(file, segment, number)
    return replace(segment, rows=segment.rows[:0] if wrong else segment.rows, damage=segment.damage + wrong)


def collect_frames(
    target: Target, names: WireNames, unstamped: frozenset[Path], files: Sequence[WireFile]
) -> tuple[list[WireSegment], int]:
    """Decode segments of the wire log: each without its records, and how many rows there were.

    ``unstamped`` are segments that changed since the evidence was closed, here all of them or none.
    """
    done: list[WireSegment] = []
    keys: list[Column] = []
    for place, file in enumerate(files):
        segment = count_frames(decode_wire_log(file.path, run_id=target.run_id), file, names.links)
        records = segment.records
        at = records["seq"] - first_seq_of(file.number) + place * RECORDS
        keys.append(np.stack((records["ledger"], records["entry"], at)))
        done.append(replace(segment, records=records[:0]))
    paths = [file.path for file in files]
    reading = partial(frames_at, names, paths[0] not in unstamped, paths)
    return done, write_part(target.tables, "frames", paths[0].stem, keys, reading, target.buckets)


def collect_copy(
    target: Target, bookies: Mapping[str, int], spoiled: Mapping[Path, str], copy: tuple[str, int, Path]
) -> tuple[EventLine, int]:
    """Read one copy (server, boot, folder) of a disk: its event as a line of ``servers``, and its rows.

    ``spoiled`` says what is wrong with the files that are not what they were when the evidence was closed.
    """
    server, boot, folder = copy
    wrong = tuple(what for path, what in sorted(spoiled.items()) if path.is_relative_to(folder))
    with tempfile.TemporaryDirectory(dir=target.tables, prefix=".reading-") as scratch:
        disk = read_copy(server, boot, bookies[server], folder, Path(scratch), spoiled=wrong)
    part = copy_name(server, boot)
    return disk.event, write_rows(target.tables, "holdings", part, disk.table, target.buckets)
