"""Collection of the wire log: one Spark task for some neighbouring segments, its rows put into the tables.

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

from checkers.contract import RunFacts
from checkers.facts.boots import boots_of
from evidence.codes import FrameFlag
from evidence.collect.frames import Lives, WireNames, frames
from evidence.collect.wirelogs import LINKS, WireCounts, WireFile, damage_to_log, is_logged, link_ends
from evidence.folder import RunFolder
from evidence.recorders import read_lines
from evidence.wirelog import decode_segment
from pipeline.blocks import write_parts
from pipeline.session import Session

_NAMED_GAPS = 20


@dataclass(frozen=True, slots=True)
class WireTask:
    """Some segments of the log of run ``run_id``, and the folder and number of buckets for their rows.

    ``unstamped`` are segments that changed since the evidence was closed.
    """

    files: tuple[WireFile, ...]
    run_id: int
    names: WireNames
    tables: Path
    buckets: int
    unstamped: frozenset[Path] = frozenset()


@dataclass(frozen=True, slots=True)
class WireDone:
    """What became of one task's segments: rows in the tables, and what was found in each."""

    rows: int
    counts: tuple[WireCounts, ...]


def collect_wires(task: WireTask) -> WireDone:
    """Decode the segments and leave their rows for their buckets."""
    tables, counts = zip(*(_decoded(file, task) for file in task.files), strict=True)
    part = task.files[0].path.stem
    return WireDone(write_parts(task.tables, "frames", pa.concat_tables(tables), part, task.buckets), counts)


def _decoded(file: WireFile, task: WireTask) -> tuple[pa.Table, WireCounts]:
    """The rows of one segment; under another's name it gives none: they may be in the tables already."""
    segment = decode_segment(file.path, run_id=task.run_id)
    records = segment.records if segment.number == file.number else segment.records[:0]
    gaps = records["seq"][(records["flags"] & FrameFlag.GAP) != 0]
    return frames(records, task.names, stamped=file.path not in task.unstamped), WireCounts(
        number=segment.number,
        used=segment.used,
        frames=_by_link_and_way(records),
        gaps=tuple(gaps[:_NAMED_GAPS].tolist()),
        unnamed=tuple(task.names.unnamed(records)),
        damage=segment.damage,
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
        self, session: Session, tables: Path, buckets: int, *, most: int, spoiled: Container[Path]
    ) -> tuple[int, list[str]]:
        """Rows written and sentences on damage; a run without a log has neither.

        A task takes up to ``most`` segments. ``spoiled`` are the files that are not what they were when
        the evidence was closed.
        """
        folder = self.folder.frames
        if not is_logged(folder, self.end):
            return 0, []
        bookies = self.run["bookies"]
        sources = {**self.run["clients"], **bookies, **self.run.get("others", {})}
        ends, damage = link_ends(read_lines(folder / LINKS), sources, bookies)
        names, run_id = WireNames(ends, self.lives), int(self.run["run_id"])
        unstamped = frozenset(file.path for file in self.files if file.path in spoiled)
        tasks = [
            WireTask(self.files[at : at + most], run_id, names, tables, buckets, unstamped)
            for at in range(0, len(self.files), most)
        ]
        done = session.map(f"collecting frames of {self.folder.mode}", collect_wires, tasks)
        told = dict(zip(self.files, (counts for one in done for counts in one.counts), strict=True))
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
