"""The tables of a run on disk as Parquet files; :mod:`pipeline.blocks` writes the large ones.

A new collection replaces the old one whole. :mod:`evidence.collection` says what it holds.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.feather import read_table as read_feather
from pyarrow.feather import write_feather

from checkers.judging.contract import LedgerFacts
from evidence.findings import Finding, RunVerdict
from evidence.folder import RunFolder, write_bytes
from evidence.schemas import TABLES

_SOUGHT = ("ledger", "entry")
"""Columns whose least and greatest values a reader looks for; those of all take a fifth of writing."""

FINDINGS = pa.schema(
    [
        *((name, pa.string()) for name in ("property", "kind", "loss", "text")),
        *((name, pa.int64()) for name in ("ledger", "first_entry", "last_entry", "count")),
        ("proof", pa.list_(pa.string())),
    ]
)
"""A :class:`~evidence.findings.Finding`; ``loss`` is its class."""


def write_table(tables: Path, name: str, rows: pa.Table) -> int:
    """Write a table that is kept whole; return how many rows there were."""
    write_sorted(tables / name / f"{name}.parquet", rows)
    return int(rows.num_rows)


def read_table(tables: Path, name: str) -> pa.Table:
    """All rows of a small table, in the order of its files."""
    parts = [pq.read_table(path, partitioning=None) for path in sorted((tables / name).rglob("*.parquet"))]
    return pa.concat_tables(parts) if parts else TABLES[name].empty_table()


def rows_in(tables: Path, name: str) -> int:
    """How many rows a small table has, by the footers of its files."""
    return sum(pq.read_metadata(path).num_rows for path in (tables / name).rglob("*.parquet"))


def write_findings(path: Path, verdict: RunVerdict) -> None:
    """Write every finding of a verdict: a row each, with the columns of :data:`FINDINGS`."""
    rows = [asdict(finding) for finding in all_findings(verdict)]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=FINDINGS), sink, compression="zstd")
    write_bytes(path, sink.getvalue().to_pybytes())


def read_findings(path: Path, verdict: RunVerdict) -> Sequence[Finding]:
    """Every finding of a verdict, whether or not its lists were cut."""
    if path.exists():
        return [Finding(**row) for row in pq.read_table(path).to_pylist()]
    return all_findings(verdict)


def all_findings(verdict: RunVerdict) -> list[Finding]:
    """The findings in a verdict's lists."""
    return [finding for judgement in verdict.judgements.values() for finding in judgement.findings]


def write_facts(tables: Path, bucket: int, facts: LedgerFacts) -> None:
    """Write what one bucket contributes to the facts of ledgers: one file, a row for each fact.

    A fact that could not be worked out is there as its error, any other as a stream of Arrow.
    """
    path = tables / "facts" / f"{bucket:04d}.arrow"
    path.parent.mkdir(parents=True, exist_ok=True)
    known = sorted(facts.tables.items())
    rows = pa.table(
        {
            "fact": [name for name, _ in known],
            "error": [fact if isinstance(fact, str) else "" for _, fact in known],
            "rows": [b"" if isinstance(fact, str) else _packed(fact) for _, fact in known],
        }
    )
    write_feather(rows, path, compression="lz4")


def _packed(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows)
    return bytes(sink.getvalue())


def facts_files(tables: Path) -> list[Path]:
    """The files of :func:`write_facts`, one for each bucket."""
    return sorted((tables / "facts").glob("*.arrow"))


def read_facts(tables: Path) -> Iterator[LedgerFacts]:
    """What each bucket contributes to the facts of ledgers, in the order of buckets."""
    for path in facts_files(tables):
        rows = zip(*read_feather(path).to_pydict().values(), strict=True)
        yield LedgerFacts(
            {name: error or pa.ipc.open_stream(packed).read_all() for name, error, packed in rows}
        )


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


def write_sorted(path: Path, rows: pa.Table) -> None:
    """Write one file. Neighbouring numbers differ in few bytes, so bytes of one weight are kept together."""
    path.parent.mkdir(parents=True, exist_ok=True)
    integers = [field.name for field in rows.schema if pa.types.is_integer(field.type)]
    pq.write_table(
        rows,
        path,
        compression="lz4",
        use_dictionary=False,
        column_encoding=dict.fromkeys(integers, "BYTE_STREAM_SPLIT"),
        write_statistics=[name for name in integers if name in _SOUGHT],
        store_schema=True,
    )
