"""Tables on disk: every row once, in its bucket, sorted; the same rows give the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evidence.schemas import CENSUS, FRAMES, HOLDINGS, OPERATIONS, SERVERS
from pipeline.blocks import PARTS, Block, Bucket, batches, largest_blocks, merge_parts, rows_of, write_rows
from pipeline.tables import read_table, write_table
from protocol.buckets import ENTRIES_PER_BLOCK, bucket_of

BUCKETS = 4


def rows(schema: pa.Schema, count: int = 400) -> pa.Table:
    """Rows over twenty ledgers; every other column counts or is constant."""
    number = np.arange(count)
    given = {"ledger": number % 20, "entry": number // 20, "seq": number, "asked_ns": number}
    columns = [
        pa.array(np.asarray(given.get(field.name, np.zeros(count))).astype(field.type.to_pandas_dtype()))
        for field in schema
    ]
    return pa.table(columns, schema=schema)


@pytest.mark.parametrize(("name", "schema"), [("operations", OPERATIONS), ("frames", FRAMES)])
def test_every_row_is_once_in_its_own_bucket_and_sorted(tmp_path: Path, name: str, schema: pa.Schema) -> None:
    table = rows(schema)
    assert write_rows(tmp_path, name, "one", table.slice(0, 150), BUCKETS) == 150
    assert write_rows(tmp_path, name, "other", table.slice(150), BUCKETS) == 250
    seen: list[int] = []
    for bucket in range(BUCKETS):
        merge_parts(Bucket(tmp_path, bucket))
        part = pa.concat_tables(batch.table(name) for batch in batches(Bucket(tmp_path, bucket), 30))
        assert part.num_rows == rows_of(Bucket(tmp_path, bucket), name) > 0
        ledger, entry = np.asarray(part["ledger"]), np.asarray(part["entry"])
        assert (bucket_of(ledger, entry, BUCKETS) == bucket).all()
        assert (np.diff(ledger * 1000 + entry) > 0).all()
        seen += part["seq"].to_pylist()
    assert sorted(seen) == list(range(400))


def test_a_part_of_many_rows_is_small_because_every_bucket_reads_it(tmp_path: Path) -> None:
    write_rows(tmp_path, "holdings", "b1-1", rows(HOLDINGS, 100_000), BUCKETS)
    (part,) = (tmp_path / PARTS / "holdings").glob("*.part")
    assert part.stat().st_size < 10_000


def test_the_same_rows_in_another_order_give_the_same_bytes(tmp_path: Path) -> None:
    for name, schema in (("operations", OPERATIONS), ("census", CENSUS), ("frames", FRAMES)):
        table = rows(schema)
        shuffled = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
        for place, content in (("one", table), ("other", shuffled)):
            write_rows(tmp_path / place, name, "part", content, BUCKETS)
    for bucket in range(BUCKETS):
        for place in ("one", "other"):
            merge_parts(Bucket(tmp_path / place, bucket))
    written = {
        place: {
            str(p.relative_to(tmp_path / place)): p.read_bytes()
            for p in (tmp_path / place).rglob("*.parquet")
        }
        for place in ("one", "other")
    }
    assert written["one"] == written["other"]
    assert len(written["one"]) == 4 * BUCKETS  # with the index of blocks


def test_a_small_table_is_one_file_in_the_order_it_came(tmp_path: Path) -> None:
    event = {"server": "b1", "boot": 1, "event": "exit", "earliest_ns": 1, "latest_ns": 2, "detail": "{}"}
    table = pa.Table.from_pylist([event | {"boot": boot} for boot in (3, 1, 2)], schema=SERVERS)
    write_table(tmp_path, "servers", table)
    assert read_table(tmp_path, "servers").to_pylist() == table.to_pylist()
    assert read_table(tmp_path, "faults").num_rows == 0
    assert pq.read_schema(tmp_path / "servers" / "servers.parquet").equals(SERVERS)


def test_a_block_is_never_cut_and_its_tables_come_together(tmp_path: Path) -> None:
    """One ledger of three blocks and of rows that name no entry, in two tables and in two parts."""
    edge = ENTRIES_PER_BLOCK
    entries = [-1, -1, 0, 1, 1, 1, edge - 1, edge, edge + 5, 2 * edge]
    for name, schema in (("operations", OPERATIONS), ("frames", FRAMES)):
        table = rows(schema, len(entries)).drop_columns(["ledger", "entry"])
        table = table.append_column("ledger", pa.array([7] * 10)).append_column("entry", pa.array(entries))
        for part, places in (("one", range(0, 10, 2)), ("other", range(1, 10, 2))):
            write_rows(tmp_path, name, part, table.select(schema.names).cast(schema).take(list(places)), 1)
    merge_parts(Bucket(tmp_path, 0))
    sizes = [(0, 10), (-1, 4), (1, 4), (2, 2)]
    blocks = tuple(Block(ledger=7, number=number, rows=size) for number, size in sizes)
    assert [largest_blocks(tmp_path, 1, number) for number in (1, 9)] == [blocks[:1], blocks]
    for most, expected in (
        (1, [[-1] * 2, entries[2:7], entries[7:9], entries[9:]]),
        (8, None),
        (99, [entries]),
    ):
        found = list(batches(Bucket(tmp_path, 0), most))
        together = [batch.table("operations")["entry"].to_pylist() for batch in found]
        assert together == [batch.table("frames")["entry"].to_pylist() for batch in found]
        assert together == (expected or [[-1] * 2, entries[2:7], entries[7:]])
