"""Facts of ledgers: small tables that a check needs and one block cannot give. They are broadcast.

Each fact is one aggregate over rows, by ledger or by a key that begins with the ledger: the highest LAC that
a client received, the first delete. Two partial tables are combined by the same aggregate over both, so
no fact has its own merge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.rows import Batch
from checkers.sets.spans import Ints
from evidence.schemas import LEDGERS

Answer = TypeVar("Answer")
Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class LedgerFact:
    """One fact: ``rows`` gives columns of a batch, and rows with one ``key`` become one.

    ``values`` are the other columns with their aggregate: ``min``, ``max`` or ``sum``. Where ``first_by`` is
    given instead, the first row of each key is kept whole, by these columns: (name, ``ascending`` or
    ``descending``), and by the rest ascending. All columns are whole numbers. ``rows`` asks for columns of
    one ``table``.
    """

    name: str
    table: str
    rows: Callable[[Batch], Columns]
    key: tuple[str, ...] = ("ledger",)
    values: Mapping[str, str] = field(default_factory=dict)
    first_by: tuple[tuple[str, str], ...] = ()

    def of(self, batch: Batch) -> pa.Table:
        """The fact as one batch shows it, sorted by key."""
        columns = self.rows(batch)
        return self._aggregated(pa.table({name: _int64(column) for name, column in columns.items()}))

    def combined(self, parts: Sequence[pa.Table]) -> pa.Table:
        """Partial tables as one: the same aggregate again."""
        return parts[0] if len(parts) == 1 else self._aggregated(pa.concat_tables(parts))

    def _aggregated(self, rows: pa.Table) -> pa.Table:
        others = [name for name in rows.column_names if name not in self.key]
        if not rows.num_rows:  # to aggregate none costs as much as some
            return rows.select([*self.key, *others])
        order = [(name, "ascending") for name in self.key]
        how = (
            dict.fromkeys(others, "first") if self.first_by else {name: self.values[name] for name in others}
        )
        if self.first_by:
            stated = {name for name, _ in self.first_by}
            rest = [(name, "ascending") for name in others if name not in stated]
            rows = rows.sort_by([*order, *self.first_by, *rest])
        # "first" is defined by the order of rows, which threads would not keep.
        grouped = rows.group_by(list(self.key), use_threads=False).aggregate(list(how.items()))
        names = [*self.key, *(f"{name}_{aggregate}" for name, aggregate in how.items())]
        return grouped.select(names).rename_columns([*self.key, *how]).sort_by(order)


@dataclass(frozen=True)
class LedgerFacts:
    """All facts of a run by name, and its table ``ledgers``: every version of every ledger's metadata.

    A fact that could not be worked out is there as the text of its error, and a checker that asks fails.
    """

    tables: Mapping[str, pa.Table | str] = field(default_factory=dict)
    ledgers: pa.Table = field(default_factory=LEDGERS.empty_table)
    _known: dict[Callable[[LedgerFacts], Any], Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, function: Callable[[LedgerFacts], Answer]) -> Answer:
        """``function`` of these facts, worked out once: checkers ask for the same."""
        if function not in self._known:
            self._known[function] = function(self)
        answer: Answer = self._known[function]
        return answer

    def columns(self, fact: LedgerFact) -> Mapping[str, Ints]:
        """A fact as arrays, sorted by its key."""
        if fact.name not in self._arrays:
            table = self.tables.get(fact.name, f"no checker asked for the fact {fact.name}")
            if isinstance(table, str):
                raise RuntimeError(table)
            self._arrays[fact.name] = {name: np.asarray(table.column(name)) for name in table.column_names}
        return self._arrays[fact.name]

    def at(self, fact: LedgerFact, column: str, ledger: NDArray[Any], missing: int) -> Ints:
        """One column of a fact by ledger, for each of these ledgers; ``missing`` where it has no row."""
        columns = self.columns(fact)
        return value_at(columns["ledger"], columns[column], ledger, missing)

    def of(self, fact: LedgerFact, *key: int) -> list[tuple[int, ...]]:
        """The rows whose key begins so, whole, in order."""
        columns = self.columns(fact)
        begin, end = 0, len(columns["ledger"])
        for name, value in zip(fact.key, key, strict=False):
            begin, end = (begin + np.searchsorted(columns[name][begin:end], [value, value + 1])).tolist()
        return list(zip(*(column[begin:end].tolist() for column in columns.values()), strict=True))

    @cached_property
    def _arrays(self) -> dict[str, Mapping[str, Ints]]:
        return {}


def value_at(known: Ints, values: Ints, ledger: NDArray[Any], missing: int) -> Ints:
    """Of ``known`` ledgers, ascending, with a value each: that of each of some ledgers, else ``missing``."""
    if not len(known):
        return np.full(len(ledger), missing, dtype=np.int64)
    place = np.minimum(np.searchsorted(known, ledger), len(known) - 1)
    found: Ints = np.where(known[place] == ledger, values[place], missing)
    return found


def _int64(column: NDArray[Any]) -> pa.Array:
    return pa.array(np.asarray(column).astype(np.int64, copy=False))
