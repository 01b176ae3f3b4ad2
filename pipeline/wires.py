"""Collection of the wire log: one Spark task for each segment, its rows put into the tables.

What comes back to the driver is small.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.boots import boots_of
from checkers.contract import RunFacts
from evidence.codes import FrameFlag
from evidence.collect.frames import Lives, WireNames, frames
from evidence.collect.wirelogs import LINKS, WireCounts, WireFile, damage_to_log, is_logged, link_ends
from evidence.folder import RunFolder
from evidence.recorders import read_lines
from evidence.wirelog import decode_segment
from pipeline.session import Session
from pipeline.tables import write_parts

_NAMED_GAPS = 20


@dataclass(frozen=True, slots=True)
class WireTask:
    """One segment of the log of run ``run_id``, and the folder and number of buckets its rows go to.

    ``stamped`` is false for a segment that is not what it was when the evidence was closed.
    """

    file: WireFile
    run_id: int
    names: WireNames
    tables: Path
    buckets: int
    stamped: bool = True


@dataclass(frozen=True, slots=True)
class WireDone:
    """What became of one segment: rows in the tables, and what was found in it."""

    rows: int
    counts: WireCounts


def collect_wire(task: WireTask) -> WireDone:
    """Decode one segment and write its rows, sorted, one Parquet file a bucket.

    A segment in another's place gives no rows: what it tells may have been told already.
    """
    segment = decode_segment(task.file.path, run_id=task.run_id)
    records = segment.records if segment.number == task.file.number else segment.records[:0]
    table = frames(records, task.names, stamped=task.stamped)
    rows = write_parts(task.tables, "frames", table, task.file.path.stem, task.buckets)
    gaps = records["seq"][(records["flags"] & FrameFlag.GAP) != 0]
    return WireDone(
        rows,
        WireCounts(
            number=segment.number,
            used=segment.used,
            frames=_by_link_and_way(records),
            gaps=tuple(gaps[:_NAMED_GAPS].tolist()),
            unnamed=tuple(task.names.unnamed(records)),
            damage=segment.damage,
        ),
    )


def _by_link_and_way(records: NDArray[Any]) -> dict[tuple[int, int], int]:
    """How many records there are of each link and way."""
    pairs = records["link"].astype(np.int64) * 256 + records["way"]
    values, counts = np.unique(pairs, return_counts=True)
    return {divmod(pair, 256): count for pair, count in zip(values.tolist(), counts.tolist(), strict=True)}


@dataclass(frozen=True, slots=True)
class WireLog:
    """The log of one run: its segments, the trees of ``run.json`` and ``end.json``, the bookies' lives."""

    folder: RunFolder
    run: Mapping[str, Any]
    end: Mapping[str, Any] | None
    files: tuple[WireFile, ...]
    lives: Mapping[int, Lives]

    def collect(
        self, session: Session, tables: Path, buckets: int, *, spoiled: Container[Path]
    ) -> tuple[int, list[str]]:
        """Rows written and sentences on damage; a run without a log has neither.

        ``spoiled`` are the files that are not what they were when the evidence was closed.
        """
        folder = self.folder.frames
        if not is_logged(folder, self.end):
            return 0, []
        bookies = self.run["bookies"]
        ends, damage = link_ends(read_lines(folder / LINKS), {**self.run["clients"], **bookies}, bookies)
        names, run_id = WireNames(ends, self.lives), int(self.run["run_id"])
        tasks = [
            WireTask(file, run_id, names, tables, buckets, stamped=file.path not in spoiled)
            for file in self.files
        ]
        done = session.map(f"collecting frames of {self.folder.mode}", collect_wire, tasks)
        told = dict(zip(self.files, (one.counts for one in done), strict=True))
        return sum(one.rows for one in done), damage + damage_to_log(told, self.end)


def lives(run: Mapping[str, Any], servers: pa.Table) -> dict[int, Lives]:
    """Bookie number -> its boots, from the collected events of servers."""
    facts = RunFacts(
        scenario=str(run["scenario"]),
        mode=str(run["mode"]),
        run_id=int(run["run_id"]),
        bookies=run["bookies"],
        clients=run["clients"],
        servers=tuple(servers.to_pylist()),
    )
    return {
        bookie: Lives(tuple((boot.number, boot.started_ns, boot.ended_ns) for boot in boots))
        for bookie, boots in boots_of(facts).items()
    }
