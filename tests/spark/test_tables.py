"""Tables on disk: every row once, in its bucket, sorted; the same rows give the same bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evidence.schemas import CENSUS, FRAMES, OPERATIONS, SERVERS
from pipeline.tables import read_table, rows_in, slices, write_parts
from protocol.buckets import bucket_of

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
    assert write_parts(tmp_path, name, table, "part", BUCKETS) == 400
    seen: list[int] = []
    for bucket in range(BUCKETS):
        part = pa.concat_tables(slices(tmp_path, name, bucket, 30))
        assert part.num_rows == rows_in(tmp_path, name, bucket) > 0
        ledger, entry = np.asarray(part["ledger"]), np.asarray(part["entry"])
        assert (bucket_of(ledger, entry, BUCKETS) == bucket).all()
        assert (np.diff(ledger * 1000 + entry) > 0).all()
        seen += part["seq"].to_pylist()
    assert sorted(seen) == list(range(400))


def test_the_same_rows_in_another_order_give_the_same_bytes(tmp_path: Path) -> None:
    for name, schema in (("operations", OPERATIONS), ("census", CENSUS), ("frames", FRAMES)):
        table = rows(schema)
        shuffled = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
        for place, content in (("one", table), ("other", shuffled)):
            write_parts(tmp_path / place, name, content, "part", BUCKETS)
    written = {
        place: {
            str(p.relative_to(tmp_path / place)): p.read_bytes()
            for p in (tmp_path / place).rglob("*.parquet")
        }
        for place in ("one", "other")
    }
    assert written["one"] == written["other"]
    assert len(written["one"]) == 3 * BUCKETS


def test_a_small_table_is_one_file_in_the_order_it_came(tmp_path: Path) -> None:
    event = {"server": "b1", "boot": 1, "event": "exit", "earliest_ns": 1, "latest_ns": 2, "detail": "{}"}
    table = pa.Table.from_pylist([event | {"boot": boot} for boot in (3, 1, 2)], schema=SERVERS)
    write_parts(tmp_path, "servers", table, "servers", BUCKETS)
    assert read_table(tmp_path, "servers").to_pylist() == table.to_pylist()
    assert read_table(tmp_path, "faults").num_rows == 0
    assert pq.read_schema(tmp_path / "servers" / "bucket=0" / "servers.parquet").equals(SERVERS)
