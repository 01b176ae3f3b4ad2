"""The tables of a run on disk as Parquet files, and what they hold; :mod:`pipeline.blocks` writes the large.

``collected.json`` beside them says how many buckets and rows there are and what is damaged, so
that judging needs nothing else. A new collection replaces the old one whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evidence.folder import RunFolder, read_json, write_json
from evidence.schemas import TABLES
from protocol.errors import EvidenceError

FORMAT = 5
_SUMMARY = "collected.json"
_ASCENDING = frozenset(
    (
        *("ledger", "entry", "seq", "txn"),
        *("invoked_ns", "completed_ns", "asked_ns", "answered_ns", "received_ns", "forwarded_ns"),
    )
)
"""Columns that mostly grow from row to row: stored as differences, a quarter of the size."""


@dataclass(frozen=True, slots=True)
class Collection:
    """What a collection holds: number of buckets, rows by table, sentences on damage (sorted)."""

    buckets: int
    rows: Mapping[str, int]
    damage: tuple[str, ...]


def write_table(tables: Path, name: str, rows: pa.Table) -> int:
    """Write a table that is kept whole; return how many rows there were."""
    path = tables / name / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_sorted(path, rows)
    return int(rows.num_rows)


def read_table(tables: Path, name: str) -> pa.Table:
    """All rows of a small table, in the order of its files."""
    parts = [pq.read_table(path, partitioning=None) for path in _files(tables / name)]
    return pa.concat_tables(parts) if parts else TABLES[name].empty_table()


def greatest(tables: Path, name: str, column: str) -> int:
    """The greatest number in one column of a table, from the files' footers; 0 where it has no row."""
    footers = (pq.read_metadata(path) for path in _files(tables / name))
    groups = (footer.row_group(at) for footer in footers for at in range(footer.num_row_groups))
    parts = (group.column(at) for group in groups for at in range(group.num_columns))
    known = (part.statistics for part in parts if part.path_in_schema == column)
    return max((int(one.max) for one in known if one is not None and one.has_min_max), default=0)


@contextmanager
def replacing(folder: RunFolder) -> Iterator[Path]:
    """A fresh folder that becomes ``tables`` when the block ends well, and vanishes when not."""
    fresh = folder.path / ".tables-new"
    old = folder.path / ".tables-old"
    for leftover in (fresh, old):
        shutil.rmtree(leftover, ignore_errors=True)
    fresh.mkdir()
    try:
        yield fresh
        if folder.tables.exists():
            folder.tables.replace(old)
        fresh.replace(folder.tables)
    finally:
        for leftover in (fresh, old):
            shutil.rmtree(leftover, ignore_errors=True)


def write_collection(tables: Path, collection: Collection) -> None:
    """Record what was collected, last of all files."""
    write_json(tables / _SUMMARY, {"format": FORMAT, **asdict(collection)})


def read_collection(folder: RunFolder) -> Collection:
    """What was collected; ``EvidenceError`` when nothing was, or by another version."""
    path = folder.tables / _SUMMARY
    if not path.is_file():
        raise EvidenceError(
            f"{folder.path} has no tables", remedy=f"`fencepost check {folder.path}` makes them"
        )
    tree: dict[str, Any] = read_json(path)
    if tree.get("format") != FORMAT:
        raise EvidenceError(
            f"{path} has format {tree.get('format')!r}, not {FORMAT}",
            remedy=f"`fencepost check {folder.path}` makes them again",
        )
    return Collection(int(tree["buckets"]), dict(tree["rows"]), tuple(tree["damage"]))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.parquet"))


def write_sorted(path: Path, rows: pa.Table) -> None:
    """Write one file; rows that are sorted by ledger and entry take a quarter of the room."""
    integers = [field.name for field in rows.schema if pa.types.is_integer(field.type)]
    delta = {name: "DELTA_BINARY_PACKED" for name in integers if name in _ASCENDING}
    pq.write_table(
        rows,
        path,
        compression="zstd",
        use_dictionary=[name for name in integers if name not in _ASCENDING],
        column_encoding=delta,
        store_schema=True,
    )
