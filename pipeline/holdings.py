"""Collection of what bookies' disks held: one Spark task for each copy, its rows put into the tables."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence.collect.holdings import read_copy
from evidence.disk_layout import copies, copy_name
from evidence.folder import RunFolder
from pipeline.blocks import write_parts
from pipeline.session import Session


@dataclass(frozen=True, slots=True)
class CopyTask:
    """One copy, of ``boot`` of bookie number ``bookie``; the folder and number of buckets its rows go to.

    ``spoiled`` says which of its files are not as they were when the evidence was closed.
    """

    server: str
    boot: int
    bookie: int
    folder: Path
    spoiled: tuple[str, ...]
    tables: Path
    buckets: int


@dataclass(frozen=True, slots=True)
class CopyDone:
    """What became of one copy: rows in the tables, and its event as a line of ``servers``."""

    rows: int
    event: Mapping[str, Any]


def collect_copy(task: CopyTask) -> CopyDone:
    """Read one copy and leave its rows for their buckets."""
    with tempfile.TemporaryDirectory(dir=task.tables, prefix=".reading-") as scratch:
        disk = read_copy(
            task.server, task.boot, task.bookie, task.folder, Path(scratch), spoiled=task.spoiled
        )
    part = copy_name(task.server, task.boot)
    return CopyDone(write_parts(task.tables, "holdings", disk.table, part, task.buckets), disk.event)


def collect_holdings(
    session: Session,
    folder: RunFolder,
    bookies: Mapping[str, int],
    tables: Path,
    buckets: int,
    *,
    spoiled: Mapping[Path, str],
) -> tuple[int, list[Mapping[str, Any]]]:
    """Rows written, and one event for each copy; a run in which no bookie died uncleanly has neither.

    ``spoiled`` says what is wrong with the files that are not what they were when the evidence was closed.
    """
    tasks = [
        CopyTask(server, boot, bookies[server], path, _within(path, spoiled), tables, buckets)
        for server, boot, path in copies(folder.holdings)
        if server in bookies
    ]
    if not tasks:
        return 0, []
    done = session.map(f"reading disks of {folder.mode}", collect_copy, tasks)
    return sum(one.rows for one in done), [one.event for one in done]


def _within(copy: Path, spoiled: Mapping[Path, str]) -> tuple[str, ...]:
    return tuple(what for path, what in sorted(spoiled.items()) if path.is_relative_to(copy))
