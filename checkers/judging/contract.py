"""What a checker is: facts of ledgers, a check of whole blocks, and a conclusion.

A **block** is every row of ``operations``, ``frames``, ``census`` and ``holdings`` of one ledger whose entry
lies in one range of ids (:mod:`protocol.buckets`); rows that name no entry are the ledger's block -1. A
**batch** is some whole blocks. A property is judged in three phases:

1. ``facts``: small tables about ledgers that need more than one block (:class:`LedgerFact`).
2. ``check(batch, facts, run)``: what is wrong with the entries of the batch
   (:mod:`checkers.judging.found`). All rows of an entry are in the batch, so nothing is merged
   afterwards but lists and counts.
3. ``conclude(found, facts, run)``: the judgement of the whole run.

What a checker finds depends neither on the size of blocks, nor on how they are grouped into batches, nor on
the order of rows. A checker over the whole run (faults, boots) finds nothing in batches and only concludes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple, Self, TypeVar, TypeVarTuple, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from checkers.sets.ordering import Column, in_order
from checkers.sets.spans import Bools, Ints
from evidence.exchange.chains import Chain
from evidence.findings import Finding
from evidence.schemas import LEDGERS, TABLES, FaultRow, ServerRow
from protocol.addresses import MAX_BOOKIES
from protocol.faults import Loses

Answer = TypeVar("Answer")
Given = TypeVarTuple("Given")
Places = NDArray[np.intp]
Columns = Mapping[str, Column]
Known = dict[Callable[..., Any], tuple[Any, ...]]
"""By function: what it was given besides, and its result unless that is what it is a function of."""
EVERY_LEDGER = -1


class Memoized:
    """Caches what functions compute from it, because several checkers need the same."""

    __slots__ = ()
    _known: Known

    def memo(self, function: Callable[[Self, *Given], Answer], *given: *Given) -> Answer:
        """``function`` of this, and of what is ``given``: worked out once, and again if other is given."""
        if function not in self._known or self._known[function][0] != given:
            answer = function(self, *given)
            # A reference to itself would be a cycle, which keeps rows until the collector comes.
            self._known[function] = (given,) if answer is self else (given, answer)
        _, *kept = self._known[function]
        return cast("Answer", kept[0] if kept else self)


class Rows(Memoized, Mapping[str, Column]):
    """Some rows of a table, as column name -> array; all arrays have ``num_rows`` elements.

    A column is made an array, and its rows are taken, when it is first asked for.
    """

    def __init__(self, table: pa.Table, whole: dict[str, Column], at: Places | None = None) -> None:
        """The rows ``at`` these places in that order, or all; ``whole`` are its columns up to now."""
        self._table, self._whole, self._at = table, whole, at
        self._taken: dict[str, Column] = {}
        self._parts: dict[tuple[str, int], Rows | None] = {}
        self._known = {}
        self.num_rows: int = table.num_rows if at is None else len(at)

    @classmethod
    def from_table(cls, table: pa.Table, order: Callable[[Rows], Places | None] = lambda _: None) -> Rows:
        """All rows of a table; ``order`` gives the places of the rows in their order, None if they are so."""
        rows = cls(table, {})
        return cls(table, rows._whole, order(rows))

    def __getitem__(self, name: str) -> Column:
        if name not in self._taken:
            if name not in self._whole:
                self._whole[name] = np.asarray(self._table.column(name))
            whole = self._whole[name]
            self._taken[name] = whole if self._at is None else np.take(whole, self._at)
        return self._taken[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.column_names)

    def __len__(self) -> int:
        """How many columns there are, as for any mapping."""
        return int(self._table.num_columns)

    def filter(self, mask: Bools) -> Rows:
        """The rows where the mask is true; these very ones when that is all of them."""
        if mask.all():
            return self
        at = np.flatnonzero(mask)
        return Rows(self._table, self._whole, at if self._at is None else self._at[at])

    def where(self, **values: int) -> Rows:
        """The rows with these values in these columns; the same object whenever the same are asked for."""
        rows = self
        for name, value in values.items():
            key = name, int(value)
            if key not in rows._parts:
                part = rows.filter(rows[name] == int(value))
                rows._parts[key] = None if part is rows else part
            known = rows._parts[key]
            rows = rows if known is None else known
        return rows


@dataclass(frozen=True)
class Batch(Memoized):
    """Some whole blocks: table name -> Arrow table of its schema. A table without rows may be left out."""

    tables: Mapping[str, pa.Table]
    _known: Known = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def operations(self) -> Rows:
        """The rows of ``operations``, sorted by ledger and entry: nearly every checker wants them so."""
        return Rows.from_table(self.table("operations"), lambda rows: in_order(rows["ledger"], rows["entry"]))

    @cached_property
    def census(self) -> Rows:
        """Answers of bookies that were asked directly, of all entries of the batch."""
        return Rows.from_table(self.table("census"))

    @cached_property
    def frames(self) -> Rows:
        """Requests and answers on the links to bookies, of all entries of the batch."""
        return Rows.from_table(self.table("frames"))

    @cached_property
    def holdings(self) -> Rows:
        """What disks held at unclean deaths, of all entries of the batch."""
        return Rows.from_table(self.table("holdings"))

    def table(self, name: str) -> pa.Table:
        """One table in Arrow's form, empty when the batch has no rows of it."""
        table = self.tables.get(name)
        return TABLES[name].empty_table() if table is None else table


@dataclass(frozen=True)
class LedgerFact:
    """One fact: ``rows`` gives rows of a batch, in one part or several, and rows with one ``key`` become one.

    ``values`` are other columns with their aggregate: ``min``, ``max`` or ``sum``. Where ``first_by`` is
    given instead, the first row of each key is kept, by these columns: (name, ``ascending`` or
    ``descending``), and by those of ``also`` ascending. All columns are whole numbers, and of one ``table``.
    """

    name: str
    table: str
    rows: Callable[[Batch], Columns | Sequence[Columns]]
    key: tuple[str, ...] = ("ledger",)
    values: Mapping[str, str] = field(default_factory=dict)
    first_by: tuple[tuple[str, str], ...] = ()
    also: tuple[str, ...] = ()

    def aggregate(self, batch: Batch) -> pa.Table:
        """The fact as one batch shows it, sorted by key."""
        rows = self.rows(batch)
        parts = [rows] if isinstance(rows, Mapping) else rows
        names = (*self.key, *self.values, *(name for name, _ in self.first_by), *self.also)
        return self._aggregated(pa.table({name: _int64([part[name] for part in parts]) for name in names}))

    def combined(self, parts: Sequence[pa.Table]) -> pa.Table:
        """Partial tables as one: the same aggregate again."""
        return parts[0] if len(parts) == 1 else self._aggregated(pa.concat_tables(parts))

    def _aggregated(self, rows: pa.Table) -> pa.Table:
        if not rows.num_rows:  # to aggregate none costs as much as some
            return rows
        order = [(name, "ascending") for name in self.key]
        how = [(name, self.values.get(name, "first")) for name in rows.column_names[len(self.key) :]]
        if self.first_by:
            rows = rows.sort_by([*order, *self.first_by, *((name, "ascending") for name in self.also)])
        # "first" is defined by the order of rows, which threads would not keep.
        grouped = rows.group_by(list(self.key), use_threads=False).aggregate(how)
        names = [*self.key, *(f"{name}_{aggregate}" for name, aggregate in how)]
        return grouped.select(names).rename_columns(rows.column_names).sort_by(order)


@dataclass(frozen=True)
class LedgerFacts(Memoized):
    """All facts of a run by name, and its table ``ledgers``: every version of every ledger's metadata.

    A fact that could not be worked out is there as the text of its error, and a checker that asks fails.
    """

    tables: Mapping[str, pa.Table | str] = field(default_factory=dict)
    ledgers: pa.Table = field(default_factory=LEDGERS.empty_table)
    _arrays: dict[str, Mapping[str, Ints]] = field(default_factory=dict, repr=False, compare=False)
    _known: Known = field(default_factory=dict, repr=False, compare=False)

    def columns(self, fact: LedgerFact) -> Mapping[str, Ints]:
        """A fact as arrays, sorted by its key."""
        if fact.name not in self._arrays:
            table = self.tables.get(fact.name, f"no checker asked for the fact {fact.name}")
            if isinstance(table, str):
                raise RuntimeError(table)
            self._arrays[fact.name] = {name: np.asarray(table.column(name)) for name in table.column_names}
        return self._arrays[fact.name]

    def at(self, fact: LedgerFact, column: str, ledger: Column, missing: int) -> Ints:
        """One column of a fact by ledger, for each of these ledgers; ``missing`` where it has no row."""
        columns = self.columns(fact)
        return value_at(columns["ledger"], columns[column], ledger, missing)

    def rows(self, fact: LedgerFact, *key: int) -> list[tuple[int, ...]]:
        """The rows whose key begins so, whole, in order."""
        columns = self.columns(fact)
        begin, end = 0, len(columns["ledger"])
        for name, value in zip(fact.key, key, strict=False):
            begin, end = (begin + np.searchsorted(columns[name][begin:end], [value, value + 1])).tolist()
        return list(zip(*(column[begin:end].tolist() for column in columns.values()), strict=True))


def by_ledger(values: Mapping[int, int]) -> tuple[Ints, Ints]:
    """Values by ledger as :func:`value_at` takes them."""
    ledger, value = np.array(sorted(values.items()), dtype=np.int64).reshape(-1, 2).T
    return ledger, value


def value_at(known: Ints, values: Ints, ledger: Column, missing: int) -> Ints:
    """Of ``known`` ledgers, ascending, with a value each: that of each of some ledgers, else ``missing``."""
    if not len(known):
        return np.full(len(ledger), missing, dtype=np.int64)
    place = np.minimum(np.searchsorted(known, ledger), len(known) - 1)
    found: Ints = np.where(known[place] == ledger, values[place], missing)
    return found


def _int64(parts: Sequence[Column]) -> pa.Array:
    column = parts[0] if len(parts) == 1 else np.concatenate([np.empty(0, dtype=np.int64), *parts])
    return pa.array(np.asarray(column).astype(np.int64, copy=False))


class Event(NamedTuple):
    """One event of a server, in one of its boots (0: of none), between two times (ns)."""

    server: str
    boot: int
    name: str
    earliest_ns: int
    latest_ns: int
    detail: Mapping[str, Any]

    @property
    def ledger(self) -> int:
        """The ledger that it names, -1 for none."""
        return int(self.detail.get("ledgerId", -1))


@dataclass(frozen=True, slots=True)
class RunFacts(Memoized):
    """What every task knows of the run: small, broadcast once."""

    scenario: str
    mode: str
    run_id: int
    bookies: Mapping[str, int]
    """Number by name; the same for ``clients``."""
    clients: Mapping[str, int]
    ledger_names: Mapping[int, str] = field(default_factory=dict)
    faults: tuple[FaultRow, ...] = ()
    """The rows of that table; the same for ``servers``."""
    servers: tuple[ServerRow, ...] = ()
    required: tuple[str, ...] = ()
    """Properties without which the plan accepts no ``valid``."""
    counting: tuple[str, ...] = ()
    """Other properties, or kinds of finding, whose violation counts."""
    allowance: Mapping[int, int] = field(default_factory=dict)
    """Explained losses that the plan accepts in this mode, by ledger id; ``EVERY_LEDGER`` for the others."""
    complete: bool = True
    """Whether the evidence was closed in order."""
    left_out: str = ""
    """Why steps of the plan were not run."""
    not_asked: int = 0
    """Number of the questions of a census that were not asked."""
    wire: bool = False
    """Whether a wire log was kept."""
    least_loss: Mapping[str, Loses] = field(default_factory=dict)
    """By bookie the least that a fault must take to take what it has acknowledged
    (:func:`protocol.modes.least_loss`); a boot's own record of its settings comes first.
    """
    guarded: frozenset[str] = frozenset()
    """Bookies under BP-46's protection (no journaled data, integrity checking on, a release and a storage
    with that feature): limbo is due after an unclean end.
    """
    changed: frozenset[str] = frozenset()
    """Bookies that the plan starts with other settings."""
    may_end: Mapping[str, int] = field(default_factory=dict)
    """Process -> how many of its ends the steps of the plan wait for."""
    began_ns: int = 0
    """When the run began; findings count their times from it."""
    damage: tuple[str, ...] = ()
    """What is torn or missing, each beginning with its table."""
    racks: Mapping[str, str] = field(default_factory=dict)
    """Failure domain by bookie; empty where the plan gives none."""
    min_racks: int = 0
    """Number of failure domains that the plan wants in every write set."""
    chains: tuple[Chain, ...] = ()
    """The logs made of ledgers."""
    _known: Known = field(default_factory=dict, init=False, repr=False, compare=False)

    def events(self, *names: str) -> Iterator[Event]:
        """The rows of ``servers`` with these events (none named: all), in their order."""
        return (event for event in self.memo(_events) if not names or event.name in names)

    def client_name(self, number: int) -> str:
        """The plan's name of a client number, or ``client 107`` for one it does not know."""
        return next((name for name, known in self.clients.items() if known == number), f"client {number}")

    def bookie_name(self, number: int) -> str:
        """The plan's name of a bookie number, or ``bookie 7`` for one it does not know."""
        return next((name for name, known in self.bookies.items() if known == number), f"bookie {number}")

    def source_name(self, number: int) -> str:
        """The name of a link's source: a bookie that asks other bookies, or a client."""
        return self.bookie_name(number) if number <= MAX_BOOKIES else self.client_name(number)

    def ledger_text(self, ledger: int) -> str:
        """``ledger 4 (main)``, or without a name when the plan gave none."""
        name = self.ledger_names.get(ledger)
        return f"ledger {ledger} ({name})" if name else f"ledger {ledger}"

    def time_text(self, at_ns: int) -> str:
        """``3.104512345 s``: since the run began, as in its log and in ``fencepost explain``."""
        return f"{(at_ns - self.began_ns) / 1e9:.9f} s"

    def finding(self, name: str, where: Sequence[Any], text: str, *proof: str, loss: str = "") -> Finding:
        """A finding ``property/kind``; ``text`` is what is said of its ledger.

        ``where`` is (ledger,), or (ledger, first, last) for a finding that stands for each of these entries,
        or a :class:`checkers.judging.found.Row`, which has its count.
        """
        (of, kind), (ledger, *entries) = name.split("/"), where
        first, last = entries[:2] or (-1, -1)
        count = entries[2] if len(entries) > 2 else last - first + 1
        headline = f"{self.ledger_text(ledger)}: {text}"
        return Finding(of, kind, ledger, first, last, count, loss, headline, proof)

    def recorded(self) -> tuple[str, ...]:
        """The tables that the run kept. Where it kept a wire log, its damage may hide an anomaly."""
        return tuple(table for table in TABLES if self.wire or table not in ("frames", "holdings"))

    def damage_to(self, tables: Collection[str]) -> list[str]:
        """The damage that concerns the tables: it begins with one's name, or with no table's name."""
        named = {damage: damage.split(":")[0].strip().split("/")[0] for damage in self.damage}
        return [damage for damage, table in named.items() if table in tables or table not in TABLES]

    def shortcomings(self, tables: Collection[str]) -> list[str]:
        """Sentences on why the evidence in these tables is not whole: then nothing is ``valid``."""
        open_ended = [] if self.complete else ["the evidence was not closed in order"]
        return open_ended + [f"damaged evidence: {damage}" for damage in self.damage_to(tables)]


def _events(run: RunFacts) -> Sequence[Event]:
    columns = itemgetter("server", "boot", "event", "earliest_ns", "latest_ns")
    return [Event._make((*columns(row), json.loads(row["detail"]))) for row in run.servers]
