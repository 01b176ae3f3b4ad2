"""Tables in a folder as collection writes them, from rows that are at hand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from evidence.schemas import BLOCKED
from pipeline.blocks import Bucket, merge_parts, write_rows
from pipeline.tables import write_table


def write_tables(folder: Path, rows: Mapping[str, pa.Table], buckets: int) -> dict[str, int]:
    """Write them in ``buckets`` buckets; return the number of rows of each."""
    sizes = {
        name: write_rows(folder, name, "part", table, buckets)
        if name in BLOCKED
        else write_table(folder, name, table)
        for name, table in rows.items()
    }
    for bucket in range(buckets):
        merge_parts(Bucket(folder, bucket))
    return sizes
