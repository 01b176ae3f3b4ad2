"""The tasks that decode raw evidence and put its rows into the tables: histories, wire logs, copies of disks.

They run in Spark workers; what comes back to the driver is small. Neighbouring files of a history or of a
wire log share a task, so that tables are made of few files however many segments there are. A file under
another's name gives no rows: they may be in the tables already.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evidence.codes import FrameFlag
from evidence.collect.frames import WireNames, frames
from evidence.collect.histories import SegmentFile, misplaced
from evidence.collect.holdings import read_copy
from evidence.collect.wirelogs import WireCounts, WireFile
from evidence.raw.disk_layout import copy_name
from evidence.raw.history import Segment
from evidence.raw.history import decode_segment as decode_history
from evidence.raw.wirelog import decode_segment as decode_wire_log
from evidence.shapes import EventLine
from pipeline.blocks import write_parts

_OF_HISTORIES = ("operations", "census", "watched")
_NAMED_GAPS = 20


@dataclass(frozen=True, slots=True)
class Target:
    """Where the rows of run ``run_id`` go: the tables' folder, and the number of their buckets."""

    run_id: int
    tables: Path
    buckets: int

    def write(self, name: str, rows: pa.Table, part: str) -> int:
        """Leave rows of a table for their buckets; return how many there were."""
        return write_parts(self.tables, name, rows, part, self.buckets)


@dataclass(frozen=True, slots=True)
class SegmentDone:
    """What became of one history file: slots used, the watched rows, its damage, halves that are torn."""

    slots: int
    watched: pa.Table
    damage: tuple[str, ...]
    torn: int = 0


def neighbours(files: Sequence[SegmentFile], most: int) -> list[tuple[SegmentFile, ...]]:
    """The files in their order, up to ``most`` of one client at a time."""
    groups = [list(group) for _, group in groupby(files, key=lambda file: file.client)]
    return [tuple(group[at : at + most]) for group in groups for at in range(0, len(group), most)]


def collect_segments(
    target: Target, numbers: Mapping[str, int], files: Sequence[SegmentFile]
) -> tuple[list[SegmentDone], dict[str, int]]:
    """Decode history files of one client: what became of each, and how many rows each table got.

    ``numbers`` are the clients' by ``run.json``.
    """
    segments = [_history(file, target.run_id, numbers.get(file.client)) for file in files]
    tables = {
        "operations": pa.concat_tables([one.operations for one in segments]),
        "census": pa.concat_tables([one.census for one in segments]),
    }
    rows = {name: target.write(name, table, files[0].path.stem) for name, table in tables.items()}
    return [SegmentDone(one.slots, one.watched, one.damage, one.torn) for one in segments], rows


def _history(file: SegmentFile, run_id: int, number: int | None) -> Segment:
    segment = decode_history(file.path, run_id=run_id)
    wrong = misplaced(file, segment, number)
    if wrong:
        segment = replace(segment, **{name: getattr(segment, name).slice(0, 0) for name in _OF_HISTORIES})
    return replace(segment, damage=segment.damage + wrong)


def collect_frames(
    target: Target, names: WireNames, unstamped: frozenset[Path], files: Sequence[WireFile]
) -> tuple[list[WireCounts], int]:
    """Decode segments of the wire log: what was found in each, and how many rows there were.

    ``unstamped`` are segments that changed since the evidence was closed.
    """
    decoded = [_wire_log(file, target.run_id, names, stamped=file.path not in unstamped) for file in files]
    rows = pa.concat_tables([table for table, _ in decoded])
    return [counts for _, counts in decoded], target.write("frames", rows, files[0].path.stem)


def _wire_log(file: WireFile, run_id: int, names: WireNames, *, stamped: bool) -> tuple[pa.Table, WireCounts]:
    segment = decode_wire_log(file.path, run_id=run_id)
    records = segment.records if segment.number == file.number else segment.records[:0]
    gaps = records["seq"][(records["flags"] & FrameFlag.GAP) != 0]
    return frames(records, names, stamped=stamped), WireCounts(
        number=segment.number,
        used=segment.used,
        frames=_by_link_and_way(records),
        gaps=tuple(gaps[:_NAMED_GAPS].tolist()),
        unnamed=tuple(names.unnamed(records)),
        damage=segment.damage,
    )


def _by_link_and_way(records: NDArray[np.void]) -> dict[tuple[int, int], int]:
    """How many records there are of each link and way."""
    pairs = records["link"].astype(np.int64) * 256 + records["way"]
    values, counts = np.unique(pairs, return_counts=True)
    return {divmod(pair, 256): count for pair, count in zip(values.tolist(), counts.tolist(), strict=True)}


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
    return disk.event, target.write("holdings", disk.table, copy_name(server, boot))
