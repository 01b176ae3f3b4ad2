"""What the check of a batch returns: findings as Arrow rows, and counts.

A row says that something holds of the entries ``first``..``last`` of a ledger; ``kind`` is a finding's kind,
or a name of the checker's own for what its conclusion needs beside. ``proof`` are numbers with a meaning that
the kind gives them: sentences are only made in the conclusion, of the few findings that are shown.

Three forms are enough for findings. :func:`span_rows` are sets of entries: neighbours join, and an
entry that several rows name counts once. :func:`first_rows` are rows about single entries: neighbours
join, counts add up, and the proof is the first row's. :func:`ledger_rows` are one row for each ledger:
counts add up, and the proof is the least one. All are combined by the operation that made
them, so the number of batches is no matter. :func:`whole_rows` are rows of the evidence as they are,
for a rule over the rows of many ledgers: only the conclusion has them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from checkers.sets.marks import Marks
from checkers.sets.ordering import begins, changes
from checkers.sets.spans import Ints, Spans, ints, runs, sweep
from evidence.findings import Finding
from protocol.addresses import MAX_BOOKIES

FOUND = pa.schema(
    [
        ("kind", pa.string()),
        ("loss", pa.string()),  # class of a loss, else empty
        *((name, pa.int64()) for name in ("ledger", "first", "last", "count")),
        ("proof", pa.list_(pa.int64())),
    ]
)
_NOTHING = FOUND.empty_table()
_BITS = 62
KEPT = 100
"""Findings kept for each kind, class and ledger; the counts beside them stay exact."""
BOOKIE_WORDS = MAX_BOOKIES // _BITS + 1
Columns = Sequence[NDArray[Any]]
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
    def of(cls, *tables: pa.Table, **counts: int) -> Found:
        """The rows of some tables, and counts."""
        return cls(pa.concat_tables([_NOTHING, *(table for table in tables if table.num_rows)]), counts)

    @classmethod
    def joined(cls, parts: Iterable[Found]) -> Found:
        """Everything that was found in several batches."""
        parts = tuple(parts)
        counts: Counter[str] = Counter()
        for part in parts:
            counts.update(part.counts)
        return cls.of(*(part.rows for part in parts), **counts)

    def count(self, name: str) -> int:
        """One count; 0 when no batch had any."""
        return self.counts.get(name, 0)

    def spans(self, kind: str, loss: str = "") -> Spans:
        """The entries of the rows of one kind (and class of loss), whatever their proofs."""
        ledger, first, last, *_ = _columns(self._of(kind, loss))
        return Spans.of_ranges(ledger, first, last)

    def runs(self, kind: str, loss: str = "") -> list[Row]:
        """Rows of one kind, neighbours and overlapping ones with the same proof as one; sorted."""
        rows = _columns(_spans(kind, loss, *_parts(self._of(kind, loss))))
        return sorted(_as_rows(*rows))

    def firsts(self, kind: str, like: int = 0) -> list[Row]:
        """Rows of :func:`first_rows`; ``like`` is the number of columns that neighbours share."""
        ledger, first, last, count, proof = _columns(self._of(kind, ""))
        return sorted(
            _as_rows(*_columns(_firsts(kind, ledger, first, last, count, proof[:like], proof[like:]))),
            key=lambda row: (row.ledger, row.proof[:like], row.first),
        )

    def marks(self, kind: str) -> Marks:
        """The entries of the rows of one kind, with their proof as the mark."""
        ledger, first, last, _, proof = _columns(_spans(kind, "", *_parts(self._of(kind, ""))))
        return Marks(ledger, proof[0], first, last) if proof else Marks.empty()

    def by_ledger(self, kind: str, loss: str = "") -> list[Row]:
        """One row for each ledger: the lowest and highest entry, counts added, and the first proof."""
        return list(_as_rows(*_columns(_ledgers(kind, loss, *_columns(self._of(kind, loss))))))

    def columns(self, kind: str) -> tuple[Ints, ...]:
        """The columns of ``whole_rows``, in the order of their batches; none when there is no row."""
        return _columns(self._of(kind, ""))[-1]

    def _of(self, kind: str, loss: str) -> pa.Table:
        if not self.rows.num_rows:
            return _NOTHING
        here = pc.and_(pc.equal(self.rows["kind"], kind), pc.equal(self.rows["loss"], loss))
        return self.rows.filter(here)


def span_rows(
    kind: str,
    ledger: ArrayLike,
    first: ArrayLike,
    last: ArrayLike | None = None,
    *,
    proof: Columns = (),
    loss: str = "",
) -> pa.Table:
    """Entries, or ranges of them when ``last`` is given: one row for each run of neighbours with one proof.

    Arrays of equal length, in any order, with repeats; ``proof`` are columns.
    """
    ledger, first = ints(ledger), ints(first)
    return _spans(kind, loss, ledger, first, None if last is None else ints(last), tuple(map(ints, proof)))


def set_rows(kind: str, entries: Spans, *, loss: str = "") -> pa.Table:
    """The entries of a set, a row for each of its spans."""
    last = entries.last
    return _table(kind, loss, entries.ledger, entries.first, last, last - entries.first + 1, ())


def mark_rows(kind: str, entries: Marks) -> pa.Table:
    """Entries with a mark, which is their proof."""
    return span_rows(kind, entries.ledger, entries.first, entries.last, proof=[entries.mark])


def first_rows(
    kind: str, ledger: ArrayLike, entry: ArrayLike, *, like: Columns = (), proof: Columns
) -> pa.Table:
    """Rows about entries: one for each run of neighbours that are ``like``, with the proof of its first.

    Arrays of equal length, in any order; each row counts. Of several rows about one entry the first is that
    with the least proof by its columns from left to right. All rows of an entry must be in one batch.
    """
    ledger, entry = ints(ledger), ints(entry)
    ones = np.ones(len(entry), dtype=np.int64)
    return _firsts(kind, ledger, entry, entry, ones, tuple(map(ints, like)), tuple(map(ints, proof)))


def ledger_rows(
    kind: str,
    ledger: ArrayLike,
    first: ArrayLike,
    last: ArrayLike | None = None,
    *,
    count: ArrayLike | None = None,
    proof: Columns = (),
    loss: str = "",
) -> pa.Table:
    """One row for each ledger: lowest ``first``, highest ``last``, number of rows, and the first proof.

    Arrays of equal length, in any order; without ``last`` rows are of single entries, ``count`` is 1 for
    each row unless given. The first proof is the least by its columns from left to right.
    """
    ledger, first = ints(ledger), ints(first)
    last = first if last is None else ints(last)
    counts = np.ones(len(ledger), dtype=np.int64) if count is None else ints(count)
    return _ledgers(kind, loss, ledger, first, last, counts, tuple(map(ints, proof)))


def whole_rows(kind: str, ledger: ArrayLike, columns: Columns) -> pa.Table:
    """Rows as they are, never joined; the columns are their proof."""
    ledger = ints(ledger)
    none = np.full(len(ledger), -1, dtype=np.int64)
    return _table(kind, "", ledger, none, none, np.ones_like(none), tuple(map(ints, columns)))


def bookie_bits(bookie: ArrayLike) -> list[Ints]:
    """Each bookie as a bit in one of ``BOOKIE_WORDS`` numbers: ``|`` makes sets of them, fit for a proof."""
    bookie = ints(bookie)
    bits = np.left_shift(np.int64(1), bookie % _BITS)
    return [np.where(bookie // _BITS == word, bits, 0) for word in range(BOOKIE_WORDS)]


def bookies_in(words: Sequence[int]) -> tuple[int, ...]:
    """The bookies of such a set, ascending."""
    return tuple(bookie for bookie in range(MAX_BOOKIES + 1) if words[bookie // _BITS] >> bookie % _BITS & 1)


def _spans(
    kind: str, loss: str, ledger: Ints, first: Ints, last: Ints | None, proof: tuple[Ints, ...]
) -> pa.Table:
    groups = [ledger, *proof]
    if last is None:
        (ledger, *proofs), first, last = runs(groups, first)
    else:
        ones = np.ones(len(first), dtype=np.int64)
        (ledger, *proofs), first, last = sweep(groups, first, last, ones, lambda depth: depth > 0)
    return _table(kind, loss, ledger, first, last, last - first + 1, tuple(proofs))


def _firsts(
    kind: str,
    ledger: Ints,
    first: Ints,
    last: Ints,
    count: Ints,
    like: tuple[Ints, ...],
    proof: tuple[Ints, ...],
) -> pa.Table:
    if not len(ledger):
        return _NOTHING
    order = np.lexsort((*reversed(proof), first, *reversed(like), ledger))
    columns = (column[order] for column in (ledger, first, last, count, *like, *proof))
    ledger, first, last, count, *proofs = columns
    new = changes(ledger, *proofs[: len(like)])
    new[1:] |= first[1:] > last[:-1] + 1
    begin = np.flatnonzero(new)
    end = np.append(begin[1:], len(new)) - 1
    count = np.add.reduceat(count, begin)
    return _table(kind, "", ledger[begin], first[begin], last[end], count, tuple(c[begin] for c in proofs))


def _ledgers(
    kind: str, loss: str, ledger: Ints, first: Ints, last: Ints, count: Ints, proof: tuple[Ints, ...]
) -> pa.Table:
    if not len(ledger):
        return _NOTHING
    if np.any(ledger[1:] < ledger[:-1]):
        order = np.argsort(ledger, kind="stable")
        ledger, first, last, count = (column[order] for column in (ledger, first, last, count))
        proof = tuple(column[order] for column in proof)
    begin = begins(ledger)
    least = _least(begin, proof) if proof else begin
    return _table(
        kind,
        loss,
        ledger[begin],
        np.minimum.reduceat(first, begin),
        np.maximum.reduceat(last, begin),
        np.add.reduceat(count, begin),
        tuple(column[least] for column in proof),
    )


def _least(begin: Ints, proof: tuple[Ints, ...]) -> Ints:
    """Of each group of rows, which ``begin`` there, the one whose proof sorts first."""
    rows = np.arange(len(proof[0]))
    for column in proof:
        values, sizes = column[rows], np.diff(np.append(begin, len(rows)))
        least = values == np.repeat(np.minimum.reduceat(values, begin), sizes)
        left = np.add.reduceat(least.astype(np.int64), begin)
        rows, begin = rows[least], np.cumsum(left) - left
    return rows[begin]


def _table(
    kind: str, loss: str, ledger: Ints, first: Ints, last: Ints, count: Ints, proof: tuple[Ints, ...]
) -> pa.Table:
    number, width = len(ledger), len(proof)
    if not number:
        return _NOTHING
    values = np.stack(proof, axis=1).reshape(-1) if proof else np.empty(0, dtype=np.int64)
    offsets = pa.array(np.arange(number + 1) * width, pa.int32())
    texts = (pa.repeat(pa.scalar(text, pa.string()), number) for text in (kind, loss))
    return pa.Table.from_arrays(
        [*texts, *map(pa.array, (ledger, first, last, count)), pa.ListArray.from_arrays(offsets, values)],
        schema=FOUND,
    )


def _columns(rows: pa.Table) -> tuple[Ints, Ints, Ints, Ints, tuple[Ints, ...]]:
    """Ledger, first, last, count, and the columns of the proof: of one length in rows of one kind."""
    numbers = (np.asarray(rows.column(name)) for name in ("ledger", "first", "last", "count"))
    ledger, first, last, count = numbers
    proofs = np.asarray(pc.list_flatten(rows.column("proof")))
    width = len(proofs) // max(1, len(ledger))
    return ledger, first, last, count, tuple(proofs.reshape(len(ledger), width).T)


def _parts(rows: pa.Table) -> tuple[Ints, Ints, Ints, tuple[Ints, ...]]:
    ledger, first, last, _, proof = _columns(rows)
    return ledger, first, last, proof


def _as_rows(ledger: Ints, first: Ints, last: Ints, count: Ints, proof: tuple[Ints, ...]) -> Iterable[Row]:
    proofs = np.stack(proof, axis=1).tolist() if proof else [()] * len(ledger)
    numbers = zip(ledger.tolist(), first.tolist(), last.tolist(), count.tolist(), proofs, strict=True)
    return (Row(*row[:4], tuple(row[4])) for row in numbers)


def capped(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The first ``KEPT`` of each (kind, class, ledger), in the order given."""
    return tuple(kept(findings, lambda one: (one.kind, one.loss, one.ledger)))


def kept(rows: Iterable[Of], key: Callable[[Any], Any] = itemgetter(0)) -> Iterator[Of]:
    """The first ``KEPT`` rows of each key: of each ledger, a row's first value, if no other is given."""
    taken: Counter[Any] = Counter()
    for row in rows:
        taken[key(row)] += 1
        if taken[key(row)] <= KEPT:
            yield row
