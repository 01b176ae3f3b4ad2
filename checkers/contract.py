"""What a checker is: three pure functions over chunks of evidence.

``scan`` turns one chunk into a summary, ``merge`` joins two summaries (associative, and blind
to where the chunks were cut), ``conclude`` turns the last summary into a judgement. A summary
is small and picklable: spans of entries per ledger, exact counts, never rows of operations.
A checker over the whole run (faults, boots) scans nothing and only concludes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from checkers.rows import Places, Rows
from checkers.sets.ordering import in_order
from evidence.exchange.chains import Chain
from evidence.findings import Judgement
from protocol.faults import Loses

Found = TypeVar("Found")


@dataclass(frozen=True)
class Chunk:
    """Some rows of some tables, cut anywhere: table name -> Arrow table of its schema."""

    tables: Mapping[str, pa.Table]
    _known: dict[Callable[[Chunk], Any], Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, function: Callable[[Chunk], Found]) -> Found:
        """``function`` of this chunk, worked out once: several checkers ask for the same."""
        if function not in self._known:
            self._known[function] = function(self)
        found: Found = self._known[function]
        return found

    @cached_property
    def operations(self) -> Rows:
        """The rows of ``operations`` (none when the chunk has none).

        They come sorted by ledger and entry, whatever their order was: nearly every checker wants them so.
        """
        return Rows.of_table(self._table("operations"), _by_entry)

    @cached_property
    def census(self) -> Rows:
        """The rows of ``census``."""
        return Rows.of_table(self._table("census"))

    @cached_property
    def frames(self) -> Rows:
        """The rows of ``frames``."""
        return Rows.of_table(self._table("frames"))

    @cached_property
    def holdings(self) -> Rows:
        """The rows of ``holdings``."""
        return Rows.of_table(self._table("holdings"))

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a small table (``ledgers``) as dictionaries."""
        table = self.tables.get(name)
        return [] if table is None else table.to_pylist()

    def _table(self, name: str) -> pa.Table:
        table = self.tables.get(name)
        return _empty(name) if table is None else table


@cache
def _empty(name: str) -> pa.Table:
    from evidence.schemas import TABLES

    return TABLES[name].empty_table()


def _by_entry(rows: Rows) -> Places | None:
    return in_order(rows["ledger"], rows["entry"])


EVERY_LEDGER = -1


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What every task knows of the run: small, broadcast once.

    ``bookies`` maps a bookie's name to its number, ``clients`` a client's name to its number;
    ``faults`` and ``servers`` are those two tables as rows; ``complete`` says that the evidence was
    closed in order, ``left_out`` why steps of the plan were not carried out; ``damage`` names what
    is torn or missing, by table; ``required`` are the properties without which the plan accepts no
    ``valid``; ``allowance`` is how many explained losses of a ledger the plan accepts in this mode, by
    ledger id, or ``EVERY_LEDGER`` for those that it does not name. ``wire`` says that
    a wire log was kept; ``least_loss`` is the least that a fault must take to take what a bookie has
    acknowledged, for bookies without another setting in any boot, unless a boot's own record says
    so (:func:`protocol.modes.least_loss`). ``guarded`` names the bookies that run under BP-46's protection
    (no journaled data, integrity checking on, a release and a storage that have it), so that limbo is
    due after an unclean end. ``began_ns`` is when the run began; findings count their times from
    it. ``racks`` maps bookies to their failure domains, of which the plan wants ``min_racks`` in
    every write set; none where it gives none.
    ``chains`` are the logs made of ledgers. ``most_acks`` is the largest ack quorum of any ledger, 0 where
    nobody looked: a summary may drop sooner what no ledger can need.
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
    allowance: Mapping[int, int] = field(default_factory=dict)
    complete: bool = True
    left_out: str = ""
    wire: bool = False
    least_loss: Mapping[str, Loses] = field(default_factory=dict)
    guarded: frozenset[str] = frozenset()
    began_ns: int = 0
    damage: tuple[str, ...] = ()
    racks: Mapping[str, str] = field(default_factory=dict)
    min_racks: int = 0
    chains: tuple[Chain, ...] = ()
    most_acks: int = 0
    _known: dict[Callable[[RunFacts], Any], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def once(self, function: Callable[[RunFacts], Found]) -> Found:
        """``function`` of this run, worked out once: checkers ask for the same of each ledger."""
        if function not in self._known:
            self._known[function] = function(self)
        found: Found = self._known[function]
        return found


Summary = TypeVar("Summary")


class Checker(Protocol[Summary]):
    """One property. ``tables`` names what ``scan`` reads of a chunk, ``kinds`` all that it may find."""

    name: str
    tables: tuple[str, ...]
    kinds: tuple[str, ...]

    def scan(self, chunk: Chunk, run: RunFacts) -> Summary:
        """Summarise one chunk."""
        ...

    def merge(self, left: Summary, right: Summary) -> Summary:
        """Join two summaries; associative."""
        ...

    def conclude(self, summary: Summary, run: RunFacts) -> Judgement:
        """Judge the whole run from its summary."""
        ...


@runtime_checkable
class Doubting(Protocol):
    """A checker that also knows where the evidence contradicts itself."""

    def damage(self, summary: Any, run: RunFacts) -> tuple[str, ...]:
        """Sentences as in ``RunFacts.damage``; all checkers conclude with them."""
        ...
