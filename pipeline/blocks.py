"""The large tables of a run on disk: in buckets, and in a bucket block after block, each in one place.

Collecting tasks write *parts*: where in some raw files each bucket's rows are. Then each merging task takes
some buckets. For one after the other it reads the rows there and merges them into
``tables/<table>/bucket=<k>/blocks.parquet``, sorted, and writes ``tables/blocks/bucket=<k>/blocks.parquet``:
how many rows of each table each block has. It writes the facts of ledgers too, while the rows are at hand.
No row passes through Spark, and what a task needs of memory grows with its bucket.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.feather import read_table as read_feather
from pyarrow.feather import write_feather

from checkers.judging.contract import Batch, LedgerFacts
from checkers.judging.judge import combined_facts, facts_of
from checkers.sets.ordering import Column, begins, grouped, in_order, is_sorted
from evidence.schemas import BLOCKED, TABLES
from pipeline.tables import write_facts, write_sorted
from protocol.buckets import ENTRIES_PER_BLOCK, block_of, bucket_of
from protocol.errors import EvidenceError

PARTS = ".parts"
"""The folder in the tables' folder for what collecting tasks leave; gone when collection has ended."""
BLOCKS = "blocks"
_ORDER: Mapping[str, tuple[str, ...]] = {
    "operations": ("ledger", "entry", "client", "seq"),
    "census": ("ledger", "entry", "pass_number", "bookie", "asked_ns"),
    "frames": ("ledger", "entry", "seq"),
    "holdings": ("ledger", "entry", "bookie", "boot", "place"),
}
_KEY = ("ledger", "block")
_ROWS_AT_A_TIME = 65_536
_READ_TOGETHER = 16_384
"""Rows of raw files that are made columns together: they fit into a processor's cache."""
_ROWS_OF_FACTS = 200_000
"""Of one table, whose facts are worked out together."""
TASKS_OF_CORE = 4
"""Tasks that share the buckets, for each core: more than one, so that no core waits long for another."""
Reading = Callable[[Column], pa.Table]
"""Gives the rows of a table at some places, which ascend; travels pickled."""
ColumnNames = Mapping[str, Sequence[str]]
"""Table -> names of columns; a table that is not named is not read."""
EVERY_COLUMN: ColumnNames = {name: TABLES[name].names for name in BLOCKED}


@dataclass(frozen=True, slots=True)
class Bucket:
    """One bucket of the tables in a folder."""

    tables: Path
    number: int

    def file(self, name: str) -> Path:
        """Where its rows of a table are; there is no file when it has no rows."""
        return self.tables / name / f"bucket={self.number}" / "blocks.parquet"


@dataclass(frozen=True, slots=True)
class Block:
    """One block and how many rows it has in all tables."""

    ledger: int
    number: int
    rows: int

    @property
    def text(self) -> str:
        """The block in words."""
        if self.number < 0:
            return f"what names no entry of ledger {self.ledger}"
        first = self.number * ENTRIES_PER_BLOCK
        return f"entries {first}..{first + ENTRIES_PER_BLOCK - 1} of ledger {self.ledger}"


def write_part(
    tables: Path, name: str, part: str, keys: Sequence[Column], reading: Reading, buckets: int
) -> int:
    """Note where the rows of a table are, for their buckets; return how many there are.

    ``keys`` are arrays of the rows' ledgers, entries and places; places ascend.
    """
    ledger, entry, places = np.concatenate(keys, axis=1)
    path = tables / PARTS / name / f"{part}.part"
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = bucket_of(ledger, entry, buckets).astype(np.int16)
    order = np.argsort(numbers, kind="stable")
    edges = np.searchsorted(numbers, np.arange(buckets + 1), sorter=order)
    path.write_bytes(pickle.dumps((reading, edges)))
    places[order].tofile(path.with_suffix(".places"))
    return len(places)


def write_rows(tables: Path, name: str, part: str, rows: pa.Table, buckets: int) -> int:
    """Leave rows that no raw file has in a file beside their part; return how many there are."""
    path = tables / PARTS / name / f"{part}.rows"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_feather(rows, path, compression="uncompressed")
    keys = np.stack((np.asarray(rows["ledger"]), np.asarray(rows["entry"]), np.arange(rows.num_rows)))
    return write_part(tables, name, part, [keys], partial(_rows_at, path), buckets)


def _rows_at(path: Path, places: Column) -> pa.Table:
    return taken(read_feather(path, memory_map=True), places)


def merge_all(buckets: Sequence[Bucket]) -> None:
    """Write the tables of some buckets, one after the other."""
    for bucket in buckets:
        merge_parts(bucket)


def merge_parts(bucket: Bucket) -> None:
    """Write the tables and the facts of one bucket from the parts; the same rows give the same bytes."""
    merged = [_merged(bucket, name) for name in BLOCKED]
    write_facts(bucket.tables, bucket.number, combined_facts([fact for _, facts in merged for fact in facts]))
    sums = [(name, "sum") for name in BLOCKED]
    rows = pa.concat_tables((sizes for sizes, _ in merged), promote_options="default")
    index = rows.group_by(list(_KEY)).aggregate(sums).rename_columns([*_KEY, *BLOCKED])
    write_sorted(bucket.file(BLOCKS), index.sort_by([(name, "ascending") for name in _KEY]))


def _merged(bucket: Bucket, name: str) -> tuple[pa.Table, list[LedgerFacts]]:
    """Write one table of a bucket; return how many rows of it each block has, and its facts."""
    rows = _in_order(name, _parts(bucket, name))
    if rows.num_rows:
        write_sorted(bucket.file(name), rows)
    ledger, block = np.asarray(rows["ledger"]), block_of(np.asarray(rows["entry"]))
    begin = begins(ledger, block)
    sizes = {other: np.zeros(len(begin), dtype=np.int64) for other in BLOCKED}
    sizes[name] = np.diff(np.append(begin, len(ledger)))
    ends = np.cumsum(sizes[name])
    facts = [
        facts_of(Batch({name: rows.slice(begin[first], ends[last - 1] - begin[first])}))
        for first, last in grouped(sizes[name], _ROWS_OF_FACTS)
    ]
    return pa.table({"ledger": ledger[begin], "block": block[begin], **sizes}), facts


def _parts(bucket: Bucket, name: str) -> list[pa.Table]:
    """The rows that tasks left for a bucket, those of the lower client first, where rows have one."""
    parts = []
    for path in sorted((bucket.tables / PARTS / name).glob("*.part")):
        reading, edges = pickle.loads(path.read_bytes())  # noqa: S301  # our own task's
        begin, end = edges[bucket.number : bucket.number + 2].tolist()
        if begin < end:
            places = np.fromfile(path.with_suffix(".places"), np.int64, end - begin, offset=8 * begin)
            few = (places[at : at + _READ_TOGETHER] for at in range(0, len(places), _READ_TOGETHER))
            parts.append(pa.concat_tables(map(reading, few)))
    ties = _ORDER[name][2:4]
    return sorted(parts, key=lambda rows: tuple(rows.column(column)[0].as_py() for column in ties))


def _in_order(name: str, parts: Sequence[pa.Table]) -> pa.Table:
    """The rows of all parts, sorted. Those of one entry often come in order: entries are a key then."""
    rows = pa.concat_tables([TABLES[name].empty_table(), *parts]).combine_chunks()
    keys = [np.asarray(rows.column(key)) for key in _ORDER[name]]
    order = in_order(keys[0], keys[1])
    if not is_sorted(keys if order is None else [key[order] for key in keys]):
        order = np.lexsort(tuple(reversed(keys)))
    return rows if order is None else taken(rows, order)


def taken(rows: pa.Table, order: Column) -> pa.Table:
    """The rows at these places, all of them within the table; no column has nulls."""
    places = pa.array(order)
    columns = (pc.take(column, places, boundscheck=False) for column in rows.columns)
    return pa.Table.from_arrays(list(columns), schema=rows.schema)


def shared_out(sizes: Mapping[int, int], tasks: int) -> list[list[int]]:
    """Buckets for some tasks that have about as much to do each, the largest first in each.

    A Spark task costs 0.03 s of processor time: as much as checking some ten thousand rows.
    """
    shares: list[list[int]] = [[] for _ in range(min(tasks, len(sizes)))]
    for number in sorted(sizes, key=lambda number: (-sizes[number], number)):
        min(shares, key=lambda share: sum(sizes[one] for one in share)).append(number)
    return shares


def rows_of(bucket: Bucket, name: str) -> int:
    """How many rows of a table a bucket has, by the file's footer."""
    path = bucket.file(name)
    return int(pq.read_metadata(path).num_rows) if path.exists() else 0


def largest_blocks(tables: Path, buckets: int, number: int) -> tuple[Block, ...]:
    """Up to ``number`` blocks with the most rows of all tables, the largest first."""
    index = pa.concat_tables(
        pq.read_table(Bucket(tables, bucket).file(BLOCKS), partitioning=None) for bucket in range(buckets)
    )
    rows = np.sum([np.asarray(index[name]) for name in BLOCKED], axis=0)
    most = np.argsort(-rows, kind="stable")[:number]
    ledger, block = np.asarray(index["ledger"]), np.asarray(index["block"])
    return tuple(Block(int(ledger[at]), int(block[at]), int(rows[at])) for at in most)


def batches(bucket: Bucket, rows: int, columns: ColumnNames = EVERY_COLUMN) -> Iterator[Batch]:
    """The blocks of a bucket, in batches of at most ``rows`` rows; a block that has more is one alone.

    Raises ``EvidenceError`` when a table does not have as many rows as the index of blocks says.
    """
    index = pq.read_table(bucket.file(BLOCKS), partitioning=None)
    sizes = np.stack([np.asarray(index.column(name)) for name in BLOCKED], axis=1)
    for name, indexed in zip(BLOCKED, sizes.sum(axis=0).tolist(), strict=True):
        if (found := rows_of(bucket, name)) != indexed:
            raise EvidenceError(
                f"{bucket.file(name)} has {found} rows, its blocks have {indexed}", remedy="collect again"
            )
    readers = {name: _Reader(bucket.file(name), columns[name], rows) for name in BLOCKED if name in columns}
    for begin, end in grouped(sizes.sum(axis=1), rows):
        taken = dict(zip(BLOCKED, sizes[begin:end].sum(axis=0).tolist(), strict=True))
        yield Batch({name: reader.take(taken[name]) for name, reader in readers.items() if taken[name]})


class _Reader:
    """Rows of one file, taken from its beginning to its end."""

    def __init__(self, path: Path, columns: Sequence[str], rows: int) -> None:
        self._path, self._columns = path, columns
        self._batches = self._read(min(rows, _ROWS_AT_A_TIME))
        self._left: list[pa.RecordBatch] = []

    def take(self, number: int) -> pa.Table:
        """The next ``number`` rows."""
        taken: list[pa.RecordBatch] = []
        while number:
            batch = self._left.pop() if self._left else next(self._batches)
            if batch.num_rows > number:
                self._left.append(batch.slice(number))
                batch = batch.slice(0, number)
            taken.append(batch)
            number -= batch.num_rows
        return pa.Table.from_batches(taken)

    def _read(self, rows: int) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(self._path) as file:
            yield from file.iter_batches(batch_size=rows, columns=list(self._columns), use_threads=False)
