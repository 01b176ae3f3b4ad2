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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

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
    making = _Making({name: column[order] for name, column in rows.items()}, chains)
    making.adds()
    making.passes()
    lacking = [lack for at in range(len(chains)) for lack in making.final(at)]
    return making.done(), lacking


class _Making:
    """Collects transactions; ``rows`` are in the order of each client's history."""

    def __init__(self, rows: Columns, chains: Sequence[Chain]) -> None:
        self._rows = rows
        self._chains = chains
        self._parts: list[tuple[Ints, ...]] = []
        self._numbers: dict[str, int] = {}
        self._lists: list[Ints] = []
        self._listed = 0

    @cached_property
    def _place(self) -> Mapping[int, tuple[int, int]]:
        """Each ledger's log, and its place in the log."""
        return {
            ledger: (at, place)
            for at, chain in enumerate(self._chains)
            for place, ledger in enumerate(chain.ledgers)
        }

    @cached_property
    def _elements(self) -> Ints:
        """The element of each row that is an add or an entry."""
        rows = self._rows
        number = rows["ledger"] * _LEDGER + rows["entry"]
        is_add = rows["kind"] == Kind.ADD
        ended = np.flatnonzero(is_add & (rows["outcome"] != Outcome.PENDING))
        ended = ended[np.argsort(number[ended], kind="stable")]
        sent, bytes_sent = number[ended], rows["digest"][ended]
        read = np.flatnonzero(rows["kind"] == Kind.ENTRY)
        at = np.minimum(np.searchsorted(sent, number[read]), max(len(sent) - 1, 0))
        known = sent[at] == number[read] if len(sent) else np.zeros(len(read), bool)
        same = known & (bytes_sent[at] == rows["digest"][read]) if len(sent) else known
        proven = rows["proof"][read] == Proof.PROVES_ITSELF
        for row in read[~(same | (~known & proven))].tolist():
            number[row] = self._named(row)
        return np.asarray(number)

    def _named(self, row: int) -> int:
        """An element for bytes that no recorded client sent under that id."""
        rows = self._rows
        digest = int(rows["digest"][row]) & (2**64 - 1)
        name = f"{rows['ledger'][row]}:{rows['entry'][row]} with bytes {digest:016x}"
        return self._numbers.setdefault(name, -1 - len(self._numbers))

    def adds(self) -> None:
        """Each add, and each entry that proves an add missing from all histories."""
        rows = self._rows
        mine = np.flatnonzero(rows["kind"] == Kind.ADD)
        outcome = np.where(rows["outcome"][mine] == Outcome.PENDING, Outcome.UNKNOWN, rows["outcome"][mine])
        ended = np.isin(outcome, (Outcome.OK, Outcome.FAIL))
        self._append(
            mine,
            rows["invoked_ns"][mine],
            np.where(ended, rows["completed_ns"][mine], NEVER),
            outcome,
            mine,
        )
        read = np.flatnonzero((rows["kind"] == Kind.ENTRY) & (rows["proof"] == Proof.PROVES_ITSELF))
        read = read[(self._elements[read] > 0) & ~np.isin(self._elements[read], self._elements[mine])]
        _, firsts = np.unique(self._elements[read], return_index=True)
        unseen = read[firsts]
        nobody = np.zeros(len(unseen), np.int64)
        self._append(unseen, nobody, nobody + NEVER, nobody + Outcome.UNKNOWN, nobody - 1)

    def passes(self) -> None:
        """Each finished pass of a reader."""
        rows = self._rows
        logs = {chain.born: at for at, chain in enumerate(self._chains)}
        entries = self._handles(Kind.ENTRY, Flag.PASS)
        opens = self._handles(Kind.OPEN, Flag.PASS)
        for row in np.flatnonzero(rows["kind"] == Kind.PASS).tolist():
            at = logs.get(int(rows["expected"][row]))
            if rows["outcome"][row] != Outcome.OK or at is None:
                continue
            handle = int(rows["client"][row]), int(rows["handle"][row])
            read = entries.get(handle, np.empty(0, np.int64))
            if len(read) != rows["result"][row]:
                continue
            invoked_ns = int(rows["invoked_ns"][row])
            for opened in opens.get(handle, ())[-1:]:
                # Closed while it was being opened is as good as open: the read ended at the LAC got before.
                if rows["result"][opened] < 0 or rows["lac"][opened] != rows["result"][opened]:
                    _, place = self._place[int(rows["ledger"][opened])]
                    invoked_ns = min(invoked_ns, self._chains[at].since_ns[place])
            self._read(at, read, invoked_ns, int(rows["completed_ns"][row]), row)

    def final(self, at: int) -> Iterable[str]:
        """The observer's reads of a whole log as one; why they are not whole."""
        rows, chain = self._rows, self._chains[at]
        opens: dict[int, int] = {}
        for row in np.flatnonzero((rows["kind"] == Kind.OPEN) & ((rows["flags"] & Flag.FINAL) != 0)).tolist():
            opens[int(rows["ledger"][row])] = row
        entries = self._handles(Kind.ENTRY, Flag.FINAL)
        read: list[Ints] = []
        for ledger in chain.ledgers:
            if ledger not in opens:
                yield f"log {chain.name}: its ledger {ledger} was not opened at the end"
                return
            row = opens[ledger]
            part = entries.get((int(rows["client"][row]), int(rows["handle"][row])), np.empty(0, np.int64))
            if len(part) != rows["result"][row] + 1:
                yield (
                    f"log {chain.name}: of its ledger {ledger}, which ends at entry {rows['result'][row]}, "
                    f"{len(part):,} entries were read at the end"
                )
                return
            read.append(part)
        whole = np.concatenate([*read, np.empty(0, np.int64)]).astype(np.int64)
        first = [opens[ledger] for ledger in chain.ledgers]
        if first:
            ends = [*rows["completed_ns"][whole].tolist(), *rows["completed_ns"][first].tolist()]
            self._read(at, whole, int(rows["invoked_ns"][first].min()), max(ends), first[0])

    def done(self) -> Transactions:
        rows = self._rows
        parts = [*self._parts, tuple(np.empty(0, np.int64) for _ in range(9))]
        invoked, completed, outcome, source, kind, key, element, start, length = (
            np.concatenate(column).astype(np.int64) for column in zip(*parts, strict=True)
        )
        return Transactions(
            process=np.arange(len(invoked)),
            invoked=invoked,
            completed=completed,
            outcome=outcome,
            number=np.where(source < 0, 0, rows["seq"][source]) if len(source) else source,
            first=np.arange(len(invoked) + 1),
            kind=kind,
            key=key,
            element=element,
            start=start,
            length=length,
            elements=np.concatenate([*self._lists, np.empty(0, np.int64)]).astype(np.int64),
            key_names=tuple(chain.name for chain in self._chains),
            element_names={number: name for name, number in self._numbers.items()},
            split=_LEDGER,
            caller=np.where(source < 0, NOBODY, rows["client"][source]) if len(source) else source,
            caller_names={NOBODY: "an unknown caller"},
        )

    def _handles(self, kind: Kind, flag: Flag) -> Mapping[tuple[int, int], Ints]:
        """(client, handle) -> its rows of ``kind``, in the order of the history."""
        rows = self._rows
        mine = np.flatnonzero((rows["kind"] == kind) & ((rows["flags"] & flag) != 0))
        if not len(mine):
            return {}
        client, handle = rows["client"][mine].astype(np.int64), rows["handle"][mine].astype(np.int64)
        order = np.lexsort((mine, handle, client))
        mine, client, handle = mine[order], client[order], handle[order]
        cuts = np.flatnonzero((np.diff(client) != 0) | (np.diff(handle) != 0)) + 1
        firsts = np.concatenate(([0], cuts))
        names = zip(client[firsts].tolist(), handle[firsts].tolist(), strict=True)
        return dict(zip(names, np.split(mine, cuts), strict=True))

    def _append(self, rows: Ints, invoked: Ints, completed: Ints, outcome: Ints, source: Ints) -> None:
        logs = {ledger: at for ledger, (at, _) in self._place.items()}
        ledgers, which = np.unique(self._rows["ledger"][rows], return_inverse=True)
        of = np.array([logs[int(ledger)] for ledger in ledgers], np.int64)[which] if len(rows) else rows
        none = np.zeros(len(rows), np.int64)
        self._parts.append(
            (invoked, completed, outcome, source, none + Micro.APPEND, of, self._elements[rows], none, none)
        )

    def _read(self, log: int, rows: Ints, invoked_ns: int, completed_ns: int, source: int) -> None:
        cells = (invoked_ns, completed_ns, Outcome.OK, source, Micro.READ, log, 0, self._listed, len(rows))
        self._parts.append(tuple(np.array([cell], np.int64) for cell in cells))
        self._lists.append(self._elements[rows])
        self._listed += len(rows)
