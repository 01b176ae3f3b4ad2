"""The versions of each ledger's metadata in their order, as several properties ask for them.

A ledger is plain if every version from the first on was seen once, and if it was neither removed nor put
back by a fault of the run. Most are: they stay columns and are judged together, and a version of theirs
becomes an object when it is asked for. The state, quorums and fragments of a version are its *kind*; a run
has few kinds, whatever its number of ledgers.

A fault of the run may put the store's content back in time. A ledger whose metadata this changed then has
more than one chain of versions: each begins with the row that was put back, and version numbers may
repeat. The step from one chain to the next is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain, groupby, pairwise
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.facts.versions import DELETED, Fragments, Version, fragments_of, version_of
from checkers.sets.ordering import begins
from checkers.sets.spans import Bools, Ints, ints
from protocol.metadata import LedgerState

NUMBERS = (
    *("ledger", "version", "zxid", "state", "last_entry", "length_bytes"),
    *("ensemble", "write_quorum", "ack_quorum", "earliest_ns", "latest_ns"),
)
"""The columns of ``ledgers`` that are whole numbers."""
_KIND = ("state", "ensemble", "write_quorum", "ack_quorum", "fragments")


@dataclass(frozen=True, eq=False)
class Plain:
    """The versions of plain ledgers, sorted by ledger and version.

    ``columns`` has those of ``NUMBERS``, and ``fragments`` and ``kind`` as numbers that are equal where what
    they stand for is; ``named`` are the fragments by their number. ``begin`` is the first row of each ledger.
    """

    columns: Mapping[str, Ints]
    named: tuple[Fragments, ...]
    begin: Ints

    @classmethod
    def of(cls, numbers: Mapping[str, Ints], fragments: pa.ListArray) -> Plain:
        """Of sorted rows of ``ledgers``, all of plain ledgers."""
        codes, named = _numbered(fragments)
        columns = {**numbers, "fragments": codes}
        keys = np.stack([columns[name] for name in _KIND], axis=1)
        kinds = np.unique(keys, axis=0, return_inverse=True)[1].reshape(-1)
        return cls({**columns, "kind": kinds}, named, begins(numbers["ledger"]))

    @property
    def ledgers(self) -> Ints:
        """The ledgers of the rows, each once and ascending."""
        return self.columns["ledger"][self.begin]

    @property
    def follows(self) -> Bools:
        """Which rows follow another version of their ledger."""
        follows = np.ones(len(self.columns["ledger"]), dtype=np.bool_)
        follows[self.begin] = False
        return follows

    @property
    def closed(self) -> Ints:
        """The rows that say CLOSED."""
        return np.flatnonzero(self.columns["state"] == LedgerState.CLOSED)

    @property
    def last_closes(self) -> Ints:
        """The last CLOSED row of each ledger that has one."""
        rows = self.closed
        ledger = self.columns["ledger"][rows]
        return rows[np.append(ledger[1:] != ledger[:-1], True)] if len(rows) else rows

    def having(self, rows: Bools | Ints) -> Iterator[int]:
        """The ledgers of some rows, each once, ascending."""
        yield from np.unique(self.columns["ledger"][rows]).tolist()


def _numbered(column: pa.ListArray) -> tuple[Ints, tuple[Fragments, ...]]:
    """The number of each row's fragments, equal where the fragments are, and the fragments by number."""
    parts = column.values
    ensembles = pc.binary_join(parts.field("bookies"), "\x1f")
    firsts = pc.cast(parts.field("first_entry"), pa.string())
    texts = pc.binary_join_element_wise(firsts, ensembles, "\x1e")
    rows = pc.binary_join(pa.ListArray.from_arrays(column.offsets, texts), "\x1d").dictionary_encode()
    _, sample = np.unique(np.asarray(rows.indices), return_index=True)
    known = column.take(pa.array(sample)).to_pylist()
    return np.asarray(rows.indices).astype(np.int64), tuple(map(fragments_of, known))


class Histories:
    """The versions by ledger, ascending in each chain, with what is asked of them again and again.

    ``plain`` are the ledgers that need no look at each; ``odd`` the versions of all others. ``of`` has every
    ledger's versions, ``chains`` its chains by time, each ascending: one unless the content was put back.
    """

    def __init__(self, rows: pa.Table) -> None:
        """Of rows of ``ledgers``, in any order, with repeats."""
        numbers = {name: np.asarray(rows.column(name)).astype(np.int64) for name in NUMBERS}
        order = np.lexsort((numbers["version"], numbers["ledger"]))
        put_back = np.asarray(rows.column("put_back").fill_null(False))  # Arrow's own
        odd = _odd({name: column[order] for name, column in numbers.items()}, put_back[order])
        plain, others = order[~odd], rows.take(pa.array(order[odd]))
        fragments = rows.column("fragments").take(pa.array(plain)).combine_chunks()
        self.plain = Plain.of({name: column[plain] for name, column in numbers.items()}, fragments)
        self.odd = frozenset(map(version_of, others.to_pylist()))
        # One zxid is one transaction in all lives of the store.
        self._in_time = sorted(self.odd, key=attrgetter("zxid", "version"))
        chains = {ledger: tuple(_chains(versions)) for ledger, versions in _by_ledger(self.odd).items()}
        seen = {ledger: tuple(chain.from_iterable(found)) for ledger, found in chains.items()}
        self.odd_of = {ledger: versions for ledger, versions in seen.items() if versions}
        self._odd_chains = {ledger: chains[ledger] for ledger in self.odd_of}
        self._at = dict(zip(self.plain.ledgers.tolist(), self.plain.begin.tolist(), strict=True))
        self._made: dict[int, Version] = {}
        names = [*self._at, *self.odd_of]
        self.of: Mapping[int, tuple[Version, ...]] = _Each(names, self._of)
        self.chains: Mapping[int, tuple[tuple[Version, ...], ...]] = _Each(names, self._chains)

    @property
    def number(self) -> int:
        """How many versions the chains have."""
        return len(self.plain.columns["ledger"]) + sum(map(len, self.odd_of.values()))

    def at(self, row: int) -> Version:
        """The version in a row of ``plain``."""
        if row not in self._made:
            columns = self.plain.columns
            ledger, version, zxid, state, last_entry, length_bytes, *shape, earliest_ns, latest_ns = (
                int(columns[name][row]) for name in NUMBERS
            )
            fragments = self.plain.named[columns["fragments"][row]]
            what = state, last_entry, length_bytes, (shape[0], shape[1], shape[2]), fragments
            self._made[row] = Version(ledger, version, zxid, *what, earliest_ns, latest_ns)
        return self._made[row]

    def _of(self, ledger: int) -> tuple[Version, ...]:
        begin = self._at.get(ledger)
        if begin is None:
            return self.odd_of[ledger]
        end = int(np.searchsorted(self.plain.columns["ledger"], ledger, side="right"))
        return tuple(self.at(row) for row in range(begin, end))

    def _chains(self, ledger: int) -> tuple[tuple[Version, ...], ...]:
        return self._odd_chains[ledger] if ledger in self._odd_chains else (self._of(ledger),)

    @cached_property
    def deleted(self) -> Mapping[int, Version]:
        """Ledgers whose metadata was removed, by whomever -> the row that says so (the first such one)."""
        return {one.ledger: one for one in reversed(self._in_time) if one.state == DELETED}

    @cached_property
    def gone(self) -> Mapping[int, Version]:
        """Ledgers that have no metadata in the end -> the last row, which says so."""
        last = {version.ledger: version for version in self._in_time}
        return {ledger: version for ledger, version in last.items() if version.state == DELETED}

    @cached_property
    def put_back(self) -> Mapping[int, tuple[Version, ...]]:
        """Ledgers whose metadata a fault of the run put back -> the rows that restored it, in order."""
        found: dict[int, tuple[Version, ...]] = {}
        for version in self._in_time:
            if version.put_back:
                found[version.ledger] = (*found.get(version.ledger, ()), version)
        return found

    @cached_property
    def behind(self) -> frozenset[Version]:
        """Versions that followed metadata which a fault of the run had put back, and the put back ones.

        Not those of a time when the metadata was again what had been made last.
        """
        found: set[Version] = set()
        made: dict[int, Version] = {}
        late: dict[int, bool] = {}
        for version in self._in_time:
            newest = made.get(version.ledger)
            if version.put_back:
                same = newest and (newest.version, newest.what) == (version.version, version.what)
                late[version.ledger] = not same
                found.add(version)
                continue
            made[version.ledger] = version
            if late.get(version.ledger):
                found.add(version)
        return frozenset(found)

    @cached_property
    def _last_closes(self) -> dict[int, int]:
        """Plain ledger -> row of its last CLOSED version."""
        rows = self.plain.last_closes
        return dict(zip(self.plain.columns["ledger"][rows].tolist(), rows.tolist(), strict=True))

    @cached_property
    def _odd_closes(self) -> dict[int, Version]:
        versions = chain.from_iterable(self.odd_of.values())
        return {version.ledger: version for version in versions if version.closed}

    @cached_property
    def closes(self) -> Mapping[int, Version]:
        """Ledger -> its last CLOSED version."""
        rows, odd = self._last_closes, self._odd_closes
        return _Each([*rows, *odd], lambda ledger: odd[ledger] if ledger in odd else self.at(rows[ledger]))

    @cached_property
    def all_closes(self) -> Mapping[str, Ints]:
        """Every CLOSED version: columns of whole numbers, those of plain ledgers first."""
        plain, rows = self.plain.columns, self.plain.closed
        odd = [version for chain in self.odd_of.values() for version in chain if version.closed]
        return {
            name: np.append(plain[name][rows], ints([getattr(version, name) for version in odd]))
            for name in ("ledger", "version", "last_entry", "earliest_ns", "latest_ns")
        }

    @cached_property
    def ends(self) -> dict[int, int]:
        """Ledger -> last entry of its last CLOSED version (-1: closed empty)."""
        rows = self.plain.last_closes
        ends = (self.plain.columns[name][rows].tolist() for name in ("ledger", "last_entry"))
        odd = {ledger: version.last_entry for ledger, version in self._odd_closes.items()}
        return {**dict(zip(*ends, strict=True)), **odd}

    def gaps(self, ledger: int) -> list[tuple[int, int]]:
        """(first, last) of each run of version numbers that were not seen, from each chain's beginning on.

        A removal has the number after the last version; where it has a higher one, that version was not seen.
        """
        found = []
        for rows in self._odd_chains.get(ledger, ()):  # of a plain one every version was seen
            before_first = () if rows and rows[0].put_back else (-1,)
            seen = [*before_first, *(version.version for version in rows)]
            if len(self.chains[ledger]) == 1 and ledger in self.deleted:
                seen.append(self.deleted[ledger].version)
            found += [(before + 1, after - 1) for before, after in pairwise(seen) if after > before + 1]
        return found

    def known_whole(self, ledger: int) -> bool:
        """Whether every version of each of its chains is known."""
        return ledger in self.of and not self.gaps(ledger)

    def seen_whole(self, ledger: int) -> bool:
        """Whether it has one chain, which is known from the first version on with none missing in between."""
        return self.known_whole(ledger) and ledger not in self.put_back


class _Each(Mapping[int, Any]):
    """A mapping of ledgers, in their order, whose values are made when they are asked for."""

    def __init__(self, ledgers: list[int], value: Callable[[int], Any]) -> None:
        self._ledgers = dict.fromkeys(sorted(ledgers))
        self._value = value

    def __getitem__(self, ledger: int) -> Any:
        if ledger not in self._ledgers:
            raise KeyError(ledger)
        return self._value(ledger)

    def __contains__(self, ledger: object) -> bool:
        return ledger in self._ledgers

    def __iter__(self) -> Iterator[int]:
        return iter(self._ledgers)

    def __len__(self) -> int:
        return len(self._ledgers)


def _odd(rows: Mapping[str, Ints], put_back: Bools) -> Bools:
    """Which rows, sorted by ledger and version, are of ledgers that are not plain."""
    ledger, version = rows["ledger"], rows["version"]
    if not len(ledger):
        return put_back
    begin = begins(ledger)
    sizes = np.diff(np.append(begin, len(ledger)))
    wrong = version != np.arange(len(ledger)) - np.repeat(begin, sizes)
    wrong |= put_back | (rows["state"] == DELETED)
    return np.repeat(np.logical_or.reduceat(wrong, begin), sizes)


def _by_ledger(versions: frozenset[Version]) -> dict[int, list[Version]]:
    ordered = sorted(versions, key=attrgetter(*(field.name for field in fields(Version))))
    return {ledger: list(own) for ledger, own in groupby(ordered, key=attrgetter("ledger"))}


def _chains(rows: list[Version]) -> Iterator[tuple[Version, ...]]:
    """The chains of one ledger; a removal ends none, for it is in no chain."""
    begins = sorted(version.zxid for version in rows if version.put_back)
    for first, last in pairwise((None, *begins, None)):
        yield tuple(
            version
            for version in rows
            if version.state != DELETED
            and (first is None or version.zxid >= first)
            and (last is None or version.zxid < last)
        )
