"""Rows that are judged: columns are taken when they are asked for, parts are found once.

Every checker wants a part of the rows (the acknowledged adds, what was delivered), and most want the same
one. A part is therefore made once for all of them, and taking all rows makes none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.sets.ordering import in_order
from evidence.schemas import TABLES

Found = TypeVar("Found")
Bools = NDArray[np.bool_]
Places = NDArray[np.intp]


_ITSELF = object()
"""Stands for rows that are a part of themselves: a cycle would keep them until the collector comes."""


class _Columns(dict[str, NDArray[Any]]):
    """The columns of an Arrow table, each made a NumPy array when it is first asked for."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__()
        self.table = table

    def __missing__(self, name: str) -> NDArray[Any]:
        found: NDArray[Any] = np.asarray(self.table.column(name))
        self[name] = found
        return found


class Rows(Mapping[str, NDArray[Any]]):
    """Some rows of a table, as column name -> array; all arrays have ``number`` elements."""

    def __init__(self, columns: _Columns, at: Places | None = None) -> None:
        """The rows ``at`` these places, in that order; without them all rows."""
        self._columns, self._at = columns, at
        self._taken: dict[str, NDArray[Any]] = columns if at is None else {}
        self._parts: dict[tuple[str, int], Rows | None] = {}
        self._known: dict[Callable[[Rows], Any], Any] = {}
        self.number: int = columns.table.num_rows if at is None else len(at)

    @classmethod
    def of_table(cls, table: pa.Table, order: Callable[[Rows], Places | None] = lambda _: None) -> Rows:
        """All rows of a table; ``order`` gives the places of the rows in their order, None if they are so."""
        columns = _Columns(table)
        return cls(columns, order(cls(columns)))

    def __getitem__(self, name: str) -> NDArray[Any]:
        if self._at is not None and name not in self._taken:
            self._taken[name] = np.take(self._columns[name], self._at)
        return self._taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns.table.column_names)

    def __len__(self) -> int:
        """How many columns there are, as for any mapping."""
        return len(self._columns.table.column_names)

    def where(self, pick: Bools) -> Rows:
        """The rows picked; these very ones when that is all of them."""
        if pick.all():
            return self
        return self._picked(np.flatnonzero(pick))

    def of(self, **values: int) -> Rows:
        """The rows with these values in these columns; the same object whenever the same are asked for."""
        rows = self
        for name, value in values.items():
            key = name, int(value)
            if key not in rows._parts:
                part = rows.where(rows[name] == int(value))
                rows._parts[key] = None if part is rows else part
            known = rows._parts[key]
            rows = rows if known is None else known
        return rows

    def once(self, function: Callable[[Rows], Found]) -> Found:
        """``function`` of these rows, worked out once."""
        if function not in self._known:
            answer: Any = function(self)
            self._known[function] = _ITSELF if answer is self else answer
        known: Any = self._known[function]
        found: Found = known if known is not _ITSELF else cast("Found", self)
        return found

    def _picked(self, at: Places) -> Rows:
        return Rows(self._columns, at if self._at is None else self._at[at])


@dataclass(frozen=True)
class Batch:
    """Some whole blocks: table name -> Arrow table of its schema. A table without rows may be left out."""

    tables: Mapping[str, pa.Table]
    _known: dict[Callable[[Batch], Any], Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, function: Callable[[Batch], Found]) -> Found:
        """``function`` of this batch, worked out once: several checkers ask for the same."""
        if function not in self._known:
            self._known[function] = function(self)
        found: Found = self._known[function]
        return found

    @cached_property
    def operations(self) -> Rows:
        """The rows of ``operations``, sorted by ledger and entry: nearly every checker wants them so."""
        return Rows.of_table(self.table("operations"), _by_entry)

    @cached_property
    def census(self) -> Rows:
        """Answers of bookies that were asked directly, of all entries of the batch."""
        return Rows.of_table(self.table("census"))

    @cached_property
    def frames(self) -> Rows:
        """Requests and answers on the links to bookies, of all entries of the batch."""
        return Rows.of_table(self.table("frames"))

    @cached_property
    def holdings(self) -> Rows:
        """What disks held at unclean deaths, of all entries of the batch."""
        return Rows.of_table(self.table("holdings"))

    def table(self, name: str) -> pa.Table:
        """One table in Arrow's form, empty when the batch has no rows of it."""
        table = self.tables.get(name)
        return TABLES[name].empty_table() if table is None else table


def _by_entry(rows: Rows) -> Places | None:
    return in_order(rows["ledger"], rows["entry"])
