"""The tables of a run on disk: ``tables/<table>/bucket=<k>/<part>.parquet`` and what they hold.

``collected.json`` beside them says how many buckets and rows there are and what is damaged, so
that judging needs nothing else. A new collection replaces the old one whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evidence.folder import RunFolder, read_json, write_json
from evidence.schemas import BUCKETED, TABLES
from protocol.buckets import bucket_of
from protocol.errors import EvidenceError

FORMAT = 4
_SUMMARY = "collected.json"
_ORDER: Mapping[str, tuple[str, ...]] = {
    "operations": ("ledger", "entry", "client", "seq"),
    "census": ("ledger", "entry", "pass_number", "bookie", "asked_ns"),
    "ledgers": ("ledger", "zxid", "version"),
    "frames": ("ledger", "entry", "seq"),
    "holdings": ("ledger", "entry", "bookie", "boot", "place"),
}
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


def write_parts(tables: Path, name: str, rows: pa.Table, part: str, buckets: int) -> int:
    """Write one sorted file for each bucket that has rows; return how many rows there were.

    The same rows give the same bytes, whatever their order was.
    """
    numbers = np.zeros(rows.num_rows, dtype=np.int32)
    if name in BUCKETED:
        entry = rows.column("entry") if "entry" in rows.column_names else None
        entries = np.full(rows.num_rows, -1) if entry is None else np.asarray(entry)
        numbers = bucket_of(np.asarray(rows.column("ledger")), entries, buckets)
        keys = [np.asarray(rows.column(key)) for key in reversed(_ORDER[name])]
        order = np.lexsort([*keys, numbers])
        rows, numbers = rows.take(pa.array(order)), numbers[order]
    for bucket in np.unique(numbers):
        first, last = np.searchsorted(numbers, bucket), np.searchsorted(numbers, bucket, side="right")
        path = tables / name / f"bucket={bucket}" / f"{part}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, rows.slice(first, last - first))
    return int(rows.num_rows)


def read_table(tables: Path, name: str) -> pa.Table:
    """All rows of a small table, in the order of its files."""
    parts = [pq.read_table(path, partitioning=None) for path in _files(tables / name)]
    return pa.concat_tables(parts) if parts else TABLES[name].empty_table()


def slices(
    tables: Path, name: str, bucket: int, rows: int, *, without: Container[str] = ()
) -> Iterator[pa.Table]:
    """The rows of one bucket of one table, at most ``rows`` at a time, ``without`` some columns."""
    columns = [column for column in TABLES[name].names if column not in without]
    for path in _files(tables / name / f"bucket={bucket}"):
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=rows, columns=columns, use_threads=False):
                yield pa.Table.from_batches([batch])


def rows_in(tables: Path, name: str, bucket: int) -> int:
    """How many rows one bucket of one table has, from the files' footers."""
    files = _files(tables / name / f"bucket={bucket}")
    counts: Iterator[int] = (pq.read_metadata(path).num_rows for path in files)
    return sum(counts)


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
            remedy=f"`fencepost check {folder.path}` makes them anew",
        )
    return Collection(int(tree["buckets"]), dict(tree["rows"]), tuple(tree["damage"]))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.parquet"))


def _write(path: Path, rows: pa.Table) -> None:
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
