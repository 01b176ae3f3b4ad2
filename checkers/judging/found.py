"""What the check of a batch returns: findings as Arrow rows, and counts.

A row says that something holds of the entries ``first``..``last`` of a ledger; ``kind`` is a finding's kind,
or a name of the checker's own for what its conclusion needs beside. ``proof`` are numbers: a NamedTuple of
the kind names them where they are written (:func:`proof_columns`) and read (``Added(*row.proof)``). Sentences
are only made in the conclusion, of the few findings that are shown.

Three forms are enough for findings. :func:`span_rows` are sets of entries: neighbours join, and an
entry that several rows name counts once. :func:`first_rows` are rows about single entries: neighbours
join, counts add up, and the proof is the first row's. :func:`ledger_rows` are one row for each ledger:
counts add up, and the proof is the least one. All are combined by the operation that made
them, so the number of batches is no matter. :func:`whole_rows` are rows of the evidence as they are,
for a rule over the rows of many ledgers: only the conclusion has them all.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from checkers.sets.marks import Marks
from checkers.sets.ordering import Column, begins, changes
from checkers.sets.spans import Ints, Spans, ints, runs, sweep
from evidence.findings import Finding
from protocol.addresses import MAX_BOOKIES

FOUND = pa.schema(
    [
        ("kind", pa.string()),
        *((name, pa.int64()) for name in ("ledger", "first", "last", "count")),
        ("proof", pa.list_(pa.int64())),
    ]
)
_NOTHING = FOUND.empty_table()
_BITS = 62
CAP = 100
"""Findings kept for each kind, class and ledger; the counts beside them stay exact."""
_CUT: ContextVar[bool] = ContextVar("cut", default=True)
BOOKIE_WORDS = MAX_BOOKIES // _BITS + 1
Arrays = Sequence[Column]
Of = TypeVar("Of")


class Row(NamedTuple):
    """One row as plain numbers: ``first``..``last`` is inclusive, ``number`` its count."""

    ledger: int
    first: int
    last: int
    number: int
    proof: tuple[int, ...]


@dataclass(frozen=True)
class Found:
    """Rows of ``FOUND`` in any order, and exact counts by name. The default is nothing found."""

    rows: pa.Table = field(default_factory=lambda: _NOTHING)
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_tables(cls, *tables: pa.Table, **counts: int) -> Found:
        """The rows of some tables, and counts."""
        return cls(pa.concat_tables([_NOTHING, *(table for table in tables if table.num_rows)]), counts)

    @classmethod
    def joined(cls, parts: Iterable[Found]) -> Found:
        """Everything that was found in several batches."""
        parts = tuple(parts)
        counts: Counter[str] = Counter()
        for part in parts:
            counts.update(part.counts)
        return cls.from_tables(*(part.rows for part in parts), **counts)

    def count(self, name: str) -> int:
        """One count; 0 when no batch had any."""
        return self.counts.get(name, 0)

    def spans(self, kind: str) -> Spans:
        """The entries of the rows of one kind, whatever their proofs."""
        rows = self._of(kind)
        return Spans.from_ranges(rows.ledger, rows.first, rows.last)

    def runs(self, kind: str) -> list[Row]:
        """Rows of one kind, neighbours and overlapping ones with the same proof as one; sorted."""
        return sorted(_spans(self._of(kind)).each())

    def by_entry(self, kind: str) -> dict[tuple[int, int], list[tuple[int, ...]]]:
        """The proofs of the rows of one kind by (ledger, entry)."""
        found = defaultdict(list)
        for row in self.runs(kind):
            for entry in range(row.first, row.last + 1):
                found[row.ledger, entry].append(row.proof)
        return found

    def firsts(self, kind: str, like: int = 0) -> list[Row]:
        """Rows of :func:`first_rows`; ``like`` is the number of columns that neighbours share."""
        rows = _firsts(self._of(kind), like).each()
        return sorted(rows, key=lambda row: (row.ledger, row.proof[:like], row.first))

    def marks(self, kind: str) -> Marks:
        """The entries of the rows of one kind, with their proof as the mark."""
        rows = _spans(self._of(kind))
        return Marks(rows.ledger, rows.proof[0], rows.first, rows.last) if rows.proof else Marks.empty()

    def by_ledger(self, kind: str) -> list[Row]:
        """One row for each ledger: the lowest and highest entry, counts added, and the first proof."""
        return list(_ledgers(self._of(kind)).each())

    def columns(self, kind: str) -> tuple[Ints, ...]:
        """The columns of ``whole_rows``, in the order of their batches; none when there is no row."""
        return self._of(kind).proof

    def _of(self, kind: str) -> _Rows:
        """The rows of one kind, whose proofs are of one length."""
        rows = self._parts.get(kind, _NOTHING)
        proofs = np.asarray(pc.list_flatten(rows["proof"]))
        width = len(proofs) // max(1, rows.num_rows)
        ledger, first, last, count = (np.asarray(rows[name]) for name in FOUND.names[1:5])
        return _Rows(ledger, first, last, count, tuple(proofs.reshape(rows.num_rows, width).T))

    @cached_property
    def _parts(self) -> Mapping[str, pa.Table]:
        """The rows of each kind, in their order. Parted once: ``servers`` has kinds for each boot."""
        kinds = self.rows["kind"].combine_chunks().dictionary_encode()
        which = np.asarray(kinds.indices)
        order = np.argsort(which, kind="stable")
        rows, numbers = self.rows.take(order), np.bincount(which, minlength=len(kinds.dictionary))
        parts = zip(kinds.dictionary.to_pylist(), np.cumsum(numbers), numbers, strict=True)
        return {kind: rows.slice(end - number, number) for kind, end, number in parts}


class _Rows(NamedTuple):
    """Rows of one kind as columns."""

    ledger: Ints
    first: Ints
    last: Ints
    number: Ints
    proof: tuple[Ints, ...]

    def at(self, places: NDArray[np.intp] | NDArray[np.bool_]) -> _Rows:
        """Some of the rows."""
        ledger, first, last, number = (column[places] for column in self[:4])
        return _Rows(ledger, first, last, number, tuple(column[places] for column in self.proof))

    def each(self) -> Iterator[Row]:
        """The rows one by one."""
        proofs = zip(*(column.tolist() for column in self.proof), strict=True) if self.proof else repeat(())
        return map(Row, *(column.tolist() for column in self[:4]), proofs)

    def table(self, kind: str) -> pa.Table:
        """The same in Arrow's form."""
        number, width = len(self.ledger), len(self.proof)
        if not number:
            return _NOTHING
        values = np.stack(self.proof, axis=1).reshape(-1) if width else np.empty(0, dtype=np.int64)
        offsets = pa.array(np.arange(number + 1) * width, pa.int32())
        kinds, proofs = pa.repeat(kind, number), pa.ListArray.from_arrays(offsets, values)
        return pa.Table.from_arrays([kinds, *map(pa.array, self[:4]), proofs], schema=FOUND)


def span_rows(
    kind: str, ledger: ArrayLike, first: ArrayLike, last: ArrayLike | None = None, *, proof: Arrays = ()
) -> pa.Table:
    """Entries, or ranges of them when ``last`` is given: one row for each run of neighbours with one proof.

    Arrays of equal length, in any order, with repeats; ``proof`` are columns.
    """
    if last is not None:
        return _spans(_rows(ledger, first, last, proof=proof)).table(kind)
    (ledgers, *proofs), firsts, lasts = runs([ints(ledger), *map(ints, proof)], ints(first))
    return _Rows(ledgers, firsts, lasts, lasts - firsts + 1, tuple(proofs)).table(kind)


def set_rows(kind: str, entries: Spans) -> pa.Table:
    """The entries of a set, a row for each of its spans."""
    number = entries.last - entries.first + 1
    return _Rows(entries.ledger, entries.first, entries.last, number, ()).table(kind)


def mark_rows(kind: str, entries: Marks) -> pa.Table:
    """Entries with a mark, which is their proof."""
    return span_rows(kind, entries.ledger, entries.first, entries.last, proof=[entries.mark])


def first_rows(
    kind: str, ledger: ArrayLike, entry: ArrayLike, *, like: Arrays = (), proof: Arrays
) -> pa.Table:
    """Rows about entries: one for each run of neighbours that are ``like``, with the proof of its first.

    Arrays of equal length, in any order; each row counts. Of several rows about one entry the first is that
    with the least proof by its columns from left to right. All rows of an entry must be in one batch.
    """
    return _firsts(_rows(ledger, entry, proof=[*like, *proof]), len(like)).table(kind)


def ledger_rows(
    kind: str,
    ledger: ArrayLike,
    first: ArrayLike,
    last: ArrayLike | None = None,
    *,
    count: ArrayLike | None = None,
    proof: Arrays = (),
) -> pa.Table:
    """One row for each ledger: lowest ``first``, highest ``last``, number of rows, and the first proof.

    Arrays of equal length, in any order; without ``last`` rows are of single entries, ``count`` is 1 for
    each row unless given. The first proof is the least by its columns from left to right.
    """
    return _ledgers(_rows(ledger, first, last, count=count, proof=proof)).table(kind)


def whole_rows(kind: str, ledger: ArrayLike, columns: Arrays) -> pa.Table:
    """Rows as they are, never joined; the columns are their proof."""
    return _rows(ledger, np.full_like(ints(ledger), -1), proof=columns).table(kind)


def proof_columns(fields: Iterable[str], rows: Mapping[str, Column], **others: Column) -> list[Column]:
    """The columns of a proof, in the order of its ``_fields``: given by name, or else those of ``rows``."""
    return [others[name] if name in others else rows[name] for name in fields]


def bookie_bits(bookie: ArrayLike) -> list[Ints]:
    """Each bookie as a bit in one of ``BOOKIE_WORDS`` numbers: ``|`` makes sets of them, fit for a proof."""
    bookie = ints(bookie)
    bits = np.left_shift(np.int64(1), bookie % _BITS)
    return [np.where(bookie // _BITS == word, bits, 0) for word in range(BOOKIE_WORDS)]


def bookie_sets(words: Sequence[int]) -> list[tuple[int, ...]]:
    """The bookies of such sets, one after another in a proof, each ascending."""
    sets = (words[at : at + BOOKIE_WORDS] for at in range(0, len(words), BOOKIE_WORDS))
    every = range(MAX_BOOKIES + 1)
    return [tuple(one for one in every if bits[one // _BITS] >> one % _BITS & 1) for bits in sets]


def _rows(
    ledger: ArrayLike,
    first: ArrayLike,
    last: ArrayLike | None = None,
    *,
    count: ArrayLike | None = None,
    proof: Arrays,
) -> _Rows:
    firsts = ints(first)
    lasts = firsts if last is None else ints(last)
    counts = np.ones_like(firsts) if count is None else ints(count)
    return _Rows(ints(ledger), firsts, lasts, counts, tuple(map(ints, proof)))


def _spans(rows: _Rows) -> _Rows:
    ones = np.ones(len(rows.first), dtype=np.int64)
    groups = [rows.ledger, *rows.proof]
    (ledger, *proof), first, last = sweep(groups, rows.first, rows.last, ones, lambda depth: depth > 0)
    return _Rows(ledger, first, last, last - first + 1, tuple(proof))


def _firsts(rows: _Rows, like: int) -> _Rows:
    """``like`` is how many columns of the proof neighbours share."""
    if not len(rows.ledger):
        return rows
    by = (rows.ledger, *rows.proof[:like], rows.first, *rows.proof[like:])
    rows = rows.at(np.lexsort(by[::-1]))
    new = changes(rows.ledger, *rows.proof[:like])
    new[1:] |= rows.first[1:] > rows.last[:-1] + 1
    begin = np.flatnonzero(new)
    end = np.append(begin[1:], len(new)) - 1
    return rows.at(begin)._replace(last=rows.last[end], number=np.add.reduceat(rows.number, begin))


def _ledgers(rows: _Rows) -> _Rows:
    if not len(rows.ledger):
        return rows
    rows = rows.at(np.lexsort((*reversed(rows.proof), rows.ledger)))
    begin = begins(rows.ledger)
    return _Rows(
        rows.ledger[begin],
        np.minimum.reduceat(rows.first, begin),
        np.maximum.reduceat(rows.last, begin),
        np.add.reduceat(rows.number, begin),
        tuple(column[begin] for column in rows.proof),
    )


@contextmanager
def uncapped() -> Iterator[None]:
    """Keep every finding within the block. The search for the log's cycles keeps its limit."""
    token = _CUT.set(False)
    try:
        yield
    finally:
        _CUT.reset(token)


def capped(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The first ``CAP`` of each (kind, class, ledger), in the order given."""
    return tuple(capped_rows(findings, lambda one: (one.kind, one.loss, one.ledger)))


def capped_rows(rows: Iterable[Of], key: Callable[[Any], Hashable] = itemgetter(0)) -> Iterator[Of]:
    """The first ``CAP`` rows of each key: of each ledger, a row's first value, if no other is given."""
    taken: Counter[Hashable] = Counter()
    for row in rows:
        taken[key(row)] += 1
        if taken[key(row)] <= CAP or not _CUT.get():
            yield row
