"""A run's operations on logs made of ledgers, as transactions for the log checker.

Every add to a ledger of a log is a transaction that appends one element; every pass through a log is a
transaction that reads it whole. The last pass is the observer's: its final reads of all ledgers of the log,
in the log's order. The structure of a log is taken from its list in the metadata store.

An element is an entry with its bytes. Entry e of ledger l is the number ``l * 10**9 + e`` if it has the
bytes that its add sent (or, for an add without a recorded result, bytes that prove themselves); any other
bytes under that id are a separate element, with a negative number and a name.

Reads of an open ledger end at the LAC that the reader got, which may be behind: BookKeeper promises no
more. So a pass that found its last ledger open counts as invoked when that ledger was put into the list,
because everything acknowledged before that is in ledgers that were closed then. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evidence.codes import NEVER, Flag, Kind, Outcome, Proof
from evidence.exchange.transactions import Ints, Micro, Transactions
from evidence.schemas import ChainRow

Columns = Mapping[str, Ints]
NEEDED = (
    "ledger", "entry", "client", "seq", "handle", "kind", "flags", "outcome",
    "invoked_ns", "completed_ns", "result", "expected", "lac", "digest", "origin", "proof",
)  # fmt: skip
"""The columns of ``operations`` that are read."""
NOBODY = -1
"""The caller of an add that no history has."""
_LEDGER = 10**9
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Chain:
    """One log: the znode's first transaction, its ledgers in list order, and when each was listed."""

    name: str
    born: int
    ledgers: tuple[int, ...]
    since_ns: tuple[int, ...]


def chains_of(rows: Iterable[ChainRow]) -> tuple[Chain, ...]:
    """The logs of a ``chains`` table, rows in the order of their transactions, as they were at the end."""
    latest: dict[str, Chain] = {}
    since: dict[tuple[str, int], int] = {}
    for row in rows:
        for ledger in row["ledgers"]:
            since.setdefault((row["chain"], ledger), row["earliest_ns"])
        ledgers = tuple(row["ledgers"])
        times = tuple(since[row["chain"], ledger] for ledger in ledgers)
        latest[row["chain"]] = Chain(row["chain"], row["born"], ledgers, times)
    return tuple(latest[name] for name in sorted(latest))


def of_chains(rows: Columns, chains: Sequence[Chain]) -> NDArray[np.bool_]:
    """Which rows of ``operations`` concern logs: passes, adds, and what passes and final reads did."""
    kind, flags = rows["kind"], rows["flags"]
    looked = ((flags & (Flag.PASS | Flag.FINAL)) != 0) & (rows["outcome"] == Outcome.OK)
    wanted = (kind == Kind.ADD) | (looked & np.isin(kind, (Kind.OPEN, Kind.ENTRY)))
    ledgers = [ledger for chain in chains for ledger in chain.ledgers]
    return np.asarray((kind == Kind.PASS) | (wanted & np.isin(rows["ledger"], ledgers)))


def chain_transactions(operations: Columns, chains: Sequence[Chain]) -> tuple[Transactions, Sequence[str]]:
    """The transactions of a run, and why a final read of a log is not whole, by log.

    ``operations`` are columns of that table, rows in any order; rows that ``of_chains`` leaves out do not
    matter. The ``number`` of an add or a pass is its slot in its client's history; that of the final reads is
    the slot of the first read. Every transaction is a separate process.
    """
    rows = {name: np.asarray(operations[name])[of_chains(operations, chains)] for name in NEEDED}
    order = np.lexsort((rows["seq"], rows["client"]))
    rows = {name: column[order] for name, column in rows.items()}
    finals = list(_finals(rows, chains))
    reads = [*_passes(rows, chains), *(one for one in finals if not isinstance(one, str))]
    return _transactions(rows, chains, reads), [one for one in finals if isinstance(one, str)]


class _Read(NamedTuple):
    """A pass through a log, or its final reads: its log, its entries, and the row that it is numbered by."""

    log: int
    entries: Ints
    invoked_ns: int
    completed_ns: int
    source: int


def _passes(rows: Columns, chains: Sequence[Chain]) -> Iterator[_Read]:
    """Each finished pass of a reader; rows are in the order of each client's history."""
    logs = {chain.born: at for at, chain in enumerate(chains)}
    since_ns = {one: ns for chain in chains for one, ns in zip(chain.ledgers, chain.since_ns, strict=True)}
    entries, opens = (_by_handle(rows, kind, Flag.PASS) for kind in (Kind.ENTRY, Kind.OPEN))
    for row in np.flatnonzero((rows["kind"] == Kind.PASS) & (rows["outcome"] == Outcome.OK)).tolist():
        log = logs.get(int(rows["expected"][row]))
        handle = int(rows["client"][row]), int(rows["handle"][row])
        read = entries.get(handle, _NONE)
        if log is None or len(read) != rows["result"][row]:
            continue
        invoked_ns = int(rows["invoked_ns"][row])
        for opened in opens.get(handle, _NONE)[-1:].tolist():
            # Closed while it was being opened is as good as open: the read ended at the LAC got before.
            if rows["result"][opened] < 0 or rows["lac"][opened] != rows["result"][opened]:
                invoked_ns = min(invoked_ns, since_ns[int(rows["ledger"][opened])])
        yield _Read(log, read, invoked_ns, int(rows["completed_ns"][row]), row)


def _finals(rows: Columns, chains: Sequence[Chain]) -> Iterator[_Read | str]:
    """The observer's reads of each whole log as one, or why they are not whole."""
    opens = np.flatnonzero((rows["kind"] == Kind.OPEN) & ((rows["flags"] & Flag.FINAL) != 0)).tolist()
    opened = {int(rows["ledger"][row]): row for row in opens}
    entries = _by_handle(rows, Kind.ENTRY, Flag.FINAL)
    for log, chain in enumerate(chains):
        if chain.ledgers:
            yield _final(rows, log, chain, opened, entries)


def _final(
    rows: Columns,
    log: int,
    chain: Chain,
    opened: Mapping[int, int],
    entries: Mapping[tuple[int, int], Ints],
) -> _Read | str:
    read: list[Ints] = []
    for ledger in chain.ledgers:
        if ledger not in opened:
            return f"log {chain.name}: its ledger {ledger} was not opened at the end"
        row = opened[ledger]
        part = entries.get((int(rows["client"][row]), int(rows["handle"][row])), _NONE)
        if len(part) != rows["result"][row] + 1:
            return (
                f"log {chain.name}: of its ledger {ledger}, which ends at entry {rows['result'][row]}, "
                f"{len(part):,} entries were read at the end"
            )
        read.append(part)
    first, whole = [opened[ledger] for ledger in chain.ledgers], np.concatenate(read)
    completed_ns = int(rows["completed_ns"][np.concatenate((first, whole))].max())
    return _Read(log, whole, int(rows["invoked_ns"][first].min()), completed_ns, first[0])


def _by_handle(rows: Columns, kind: Kind, flag: Flag) -> Mapping[tuple[int, int], Ints]:
    """(client, handle) -> its rows of ``kind``, in the order of the history."""
    mine = np.flatnonzero((rows["kind"] == kind) & ((rows["flags"] & flag) != 0))
    mine = mine[np.lexsort((rows["handle"][mine], rows["client"][mine]))]
    client, handle = rows["client"][mine], rows["handle"][mine]
    parts = np.split(mine, np.flatnonzero((np.diff(client) != 0) | (np.diff(handle) != 0)) + 1)
    return {(int(rows["client"][own[0]]), int(rows["handle"][own[0]])): own for own in parts if len(own)}


def _transactions(rows: Columns, chains: Sequence[Chain], reads: Sequence[_Read]) -> Transactions:
    """Each add, each entry that proves an add missing from all histories, and the reads."""
    element, names = _elements(rows)
    adds = np.flatnonzero(rows["kind"] == Kind.ADD)
    proven = np.flatnonzero((rows["kind"] == Kind.ENTRY) & (rows["proof"] == Proof.PROVES_ITSELF))
    proven = proven[(element[proven] > 0) & ~np.isin(element[proven], element[adds])]
    unseen = proven[np.unique(element[proven], return_index=True)[1]]
    appends = np.concatenate((adds, unseen))
    outcome = np.where(rows["outcome"][adds] == Outcome.PENDING, Outcome.UNKNOWN, rows["outcome"][adds])
    ended_ns = np.where(outcome == Outcome.UNKNOWN, NEVER, rows["completed_ns"][adds])
    logs = {ledger: at for at, chain in enumerate(chains) for ledger in chain.ledgers}
    ledgers, which = np.unique(rows["ledger"][appends], return_inverse=True)
    log = np.array([logs[ledger] for ledger in ledgers.tolist()], np.int64)[which]
    none, lengths = np.zeros(len(appends), np.int64), [len(read.entries) for read in reads]
    begins = np.cumsum([0, *lengths])
    source = _column(adds, np.full(len(unseen), -1), [read.source for read in reads])
    return Transactions(
        process=np.arange(len(source)),
        invoked=_column(rows["invoked_ns"][adds], none[: len(unseen)], [read.invoked_ns for read in reads]),
        completed=_column(ended_ns, np.full(len(unseen), NEVER), [read.completed_ns for read in reads]),
        outcome=_column(outcome, np.full(len(unseen), Outcome.UNKNOWN), [Outcome.OK] * len(reads)),
        number=np.where(source < 0, 0, rows["seq"][source]),
        first=np.arange(len(source) + 1),
        kind=_column(none + Micro.APPEND, [Micro.READ] * len(reads)),
        key=_column(log, [read.log for read in reads]),
        element=_column(element[appends], [0] * len(reads)),
        start=_column(none, begins[:-1]),
        length=_column(none, lengths),
        elements=element[_column(*(read.entries for read in reads))],
        key_names=tuple(chain.name for chain in chains),
        element_names=names,
        split=_LEDGER,
        caller=np.where(source < 0, NOBODY, rows["client"][source]),
        caller_names={NOBODY: "an unknown caller"},
    )


def _column(*parts: ArrayLike) -> Ints:
    return np.concatenate([_NONE, *(np.asarray(part, np.int64) for part in parts)])


def _elements(rows: Columns) -> tuple[Ints, Mapping[int, str]]:
    """The element of each row that is an add or an entry, and the names of those that no client sent."""
    element = np.asarray(rows["ledger"] * _LEDGER + rows["entry"])
    ended = np.flatnonzero((rows["kind"] == Kind.ADD) & (rows["outcome"] != Outcome.PENDING))
    ended = ended[np.argsort(element[ended], kind="stable")]
    read = np.flatnonzero(rows["kind"] == Kind.ENTRY)
    at = np.searchsorted(element[ended], element[read])
    known = np.append(element[ended], -1)[at] == element[read]
    same = known & (np.append(rows["digest"][ended], 0)[at] == rows["digest"][read])
    proven = rows["proof"][read] == Proof.PROVES_ITSELF
    numbers: dict[str, int] = {}
    for row in read[~(same | (~known & proven))].tolist():
        digest = int(rows["digest"][row]) & (2**64 - 1)
        name = f"{rows['ledger'][row]}:{rows['entry'][row]} with bytes {digest:016x}"
        element[row] = numbers.setdefault(name, -1 - len(numbers))
    return element, {number: name for name, number in numbers.items()}
