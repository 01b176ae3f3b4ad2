"""What a checker is: three pure functions over chunks of evidence.

``scan`` turns one chunk into a summary, ``merge`` joins two summaries (associative, and blind
to where the chunks were cut), ``conclude`` turns the last summary into a judgement. A summary
is small and picklable: spans of entries per ledger, exact counts, never rows of operations.
A checker over the whole run (faults, boots) scans nothing and only concludes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evidence.findings import Judgement


@dataclass(frozen=True)
class Chunk:
    """Some rows of some tables, cut anywhere: table name -> Arrow table of its schema."""

    tables: Mapping[str, pa.Table]

    @cached_property
    def operations(self) -> Mapping[str, NDArray[Any]]:
        """Columns of ``operations`` as NumPy arrays (empty arrays when the chunk has none)."""
        return self._columns("operations")

    @cached_property
    def census(self) -> Mapping[str, NDArray[Any]]:
        """Columns of ``census`` as NumPy arrays."""
        return self._columns("census")

    @cached_property
    def frames(self) -> Mapping[str, NDArray[Any]]:
        """Columns of ``frames`` as NumPy arrays."""
        return self._columns("frames")

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a small table (``ledgers``) as dictionaries."""
        table = self.tables.get(name)
        return [] if table is None else table.to_pylist()

    def _columns(self, name: str) -> dict[str, NDArray[Any]]:
        from evidence.schemas import TABLES

        table = self.tables.get(name)
        if table is None:
            table = TABLES[name].empty_table()
        return {column: np.asarray(table.column(column)) for column in table.column_names}


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What every task knows of the run: small, broadcast once.

    ``bookies`` maps a bookie's name to its number, ``clients`` a client's name to its number;
    ``faults`` and ``servers`` are those two tables as rows; ``complete`` says that the evidence
    was closed in order; ``damage`` names what is torn or missing, by table; ``required`` are
    the properties without which the plan accepts no ``valid``; ``allowance`` is the number of
    explained losses the plan accepts. ``wire`` says that a wire log was kept; ``guarded`` names
    the bookies that run under BP-46's protection (no journaled data, integrity checking on, a
    release and a storage that have it), so that limbo is due after an unclean end.
    """

    scenario: str
    mode: str
    run_id: int
    bookies: Mapping[str, int]
    clients: Mapping[str, int]
    ledger_names: Mapping[int, str] = field(default_factory=dict)
    faults: tuple[Mapping[str, Any], ...] = ()
    servers: tuple[Mapping[str, Any], ...] = ()
    required: tuple[str, ...] = ()
    allowance: int = 0
    complete: bool = True
    wire: bool = False
    guarded: frozenset[str] = frozenset()
    damage: tuple[str, ...] = ()


Summary = TypeVar("Summary")


class Checker(Protocol[Summary]):
    """One property. ``tables`` names what ``scan`` reads of a chunk."""

    name: str
    tables: tuple[str, ...]

    def scan(self, chunk: Chunk, run: RunFacts) -> Summary:
        """Summarise one chunk."""
        ...

    def merge(self, left: Summary, right: Summary) -> Summary:
        """Join two summaries; associative."""
        ...

    def conclude(self, summary: Summary, run: RunFacts) -> Judgement:
        """Judge the whole run from its summary."""
        ...
