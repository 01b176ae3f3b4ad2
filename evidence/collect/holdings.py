"""Copies of bookies' disks to rows of ``holdings``, and for each copy one event of ``servers``.

``disk_read`` says that the copy was read whole, so that an entry without a row was not on that disk when
the boot died; ``disk_unreadable`` says why nothing is known. There is no third case: a missing index
is not an empty index.

An entry counts as held if the next boot can serve it: the index ``locations`` has it, or the journal behind
its mark, which is replayed; and its ledger has a record in the index ``ledgers`` or a key in that part of the
journal. A bookie syncs ``locations`` first, and answers "no such ledger" for each entry of a ledger without a
key (``SingleDirectoryDbLedgerStorage#checkpoint``, ``HandleFactoryImpl``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evidence.codes import Place
from evidence.folder import read_json
from evidence.raw.disk_layout import COPY_JSON, JOURNAL, JOURNALS, LEDGERS, LOCATIONS, mark_names
from evidence.raw.index import KnownLedgers, read_ledgers, read_locations
from evidence.raw.journal import Records, parse, read_mark, replayed
from evidence.schemas import HOLDINGS, table_of
from evidence.seal import digest
from evidence.shapes import CopyTree, DiskDetail, EventLine
from protocol.buckets import ENTRIES_PER_BLOCK
from protocol.errors import EvidenceError

READ, UNREADABLE = "disk_read", "disk_unreadable"
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DiskRead:
    """One copy: its rows, and its event as a line of ``servers``."""

    table: pa.Table
    event: EventLine


def read_copy(
    server: str, boot: int, bookie: int, folder: Path, scratch: Path, *, spoiled: Collection[str] = ()
) -> DiskRead:
    """The rows and the event of the copy in ``folder``; ``scratch`` is an empty, writable folder.

    ``spoiled`` says which parts changed after the evidence was closed. Raises ``OSError`` when a file
    cannot be read.
    """
    line: EventLine = {"server": server, "boot": boot, "at_ns": 0}
    try:
        facts = _facts(folder, server, boot)
        line |= {"earliest_ns": int(facts["began_ns"]), "at_ns": int(facts["ended_ns"])}
        disk = _disk(folder, scratch, facts, sorted(spoiled))
    except ValueError as error:
        return DiskRead(HOLDINGS.empty_table(), {**line, "event": UNREADABLE, "why": str(error)})
    found = ((disk.index, Place.INDEX), (disk.journal, Place.JOURNAL))
    table = pa.concat_tables(_rows(disk.served(rows), bookie, boot, place) for rows, place in found)
    return DiskRead(table, {**line, "event": READ, **disk.detail()})


def lacking(copy: Path) -> list[str]:
    """The files that a copy lists and does not have."""
    try:
        facts: CopyTree = read_json(copy / COPY_JSON)
    except EvidenceError:
        return []  # it was not ended
    return [name for name in facts.get("files", ()) if not (copy / name).is_file()]


def _facts(folder: Path, server: str, boot: int) -> CopyTree:
    """``copy.json``; ``ValueError`` where it does not describe a copy that was taken of this boot."""
    try:
        facts: CopyTree = read_json(folder / COPY_JSON)
    except EvidenceError:
        raise ValueError("the copy was not ended") from None
    if not facts.keys() >= CopyTree.__required_keys__:
        raise ValueError("the copy was not ended")
    if (facts["server"], facts["boot"]) != (server, boot):
        raise ValueError(f"it is a copy of {facts['server']} boot {facts['boot']}")
    return facts


@dataclass(frozen=True, slots=True)
class _Disk:
    """What was found: the entries of the index and those that the next boot replays, each once, ascending."""

    index: Places
    journal: Places
    ledgers: list[KnownLedgers]
    records: list[Records]

    @property
    def _kept(self) -> set[int]:
        """The ledgers that the next boot knows."""
        return {*chain(*(one.known for one in self.ledgers), *(one.keyed for one in self.records))}

    def served(self, rows: Places) -> Places:
        """The rows whose ledger the next boot knows."""
        return rows[np.isin(rows[:, 0], [*self._kept])]

    def detail(self) -> DiskDetail:
        """The event's detail: numbers of entries, and the ledgers of each kind as ranges."""
        ledgers = {*np.unique(self.index[:, 0]).tolist(), *np.unique(self.journal[:, 0]).tolist()}
        return {
            "index_entries": len(self.index),
            "journal_entries": len(self.journal),
            "ledgers": ranges(ledger for one in self.ledgers for ledger in one.known),
            "fenced": ranges(ledger for one in self.ledgers for ledger in one.fenced),
            "limbo": ranges(ledger for one in self.ledgers for ledger in one.limbo),
            "fences_in_journal": ranges(ledger for one in self.records for ledger in one.fenced),
            "without_key": ranges(ledgers - self._kept),
            "torn_bytes": sum(one.torn for one in self.records),
        }


def _disk(folder: Path, scratch: Path, facts: CopyTree, spoiled: list[str]) -> _Disk:
    """What the copy holds; ``ValueError`` says why that is not known."""
    if facts["failed"]:
        raise ValueError(f"it could not be copied: {facts['failed']}")
    if spoiled:
        raise ValueError(spoiled[0])
    for name, known in sorted(facts["linked"].items()):
        if not (folder / name).is_file() or digest(folder / name) != known:
            raise ValueError(f"{name} was written to after it had been copied")
    places = sorted(path for path in folder.iterdir() if path.is_dir())
    indexed = [place for place in places if (place / LOCATIONS).is_dir() or (place / LEDGERS).is_dir()]
    if not indexed:
        raise ValueError("its storage keeps no index in RocksDB, as DbLedgerStorage alone does")
    index = _distinct(read_locations(place / LOCATIONS, scratch) for place in indexed)
    ledgers = [read_ledgers(place / LEDGERS, scratch) for place in indexed]
    records = _replayed(places, facts.get("journals", ()))
    return _Disk(index, _distinct(one.places for one in records), ledgers, records)


def _replayed(places: list[Path], journals: Sequence[str]) -> list[Records]:
    """What the journals hold that the next boot replays; ``ValueError`` where it would refuse to boot.

    An older copy does not list its journals.
    """
    found: list[Records] = []
    older = [place.name for place in places if place.name.startswith(JOURNAL)]
    journals = journals or older or [JOURNAL]
    for journal, marked in zip(journals, mark_names(len(journals)), strict=True):
        mark = max(read_mark(place / marked) for place in places)
        names = {
            path.name: path for place in places if place.name == journal for path in place.glob(JOURNALS)
        }
        for path, begin in replayed(names, mark):
            records = parse(path.read_bytes(), begin)
            if records.broken:
                raise ValueError(f"{path.name}: {records.broken}")
            found.append(records)
    return found


def _distinct(parts: Iterable[Places]) -> Places:
    """All rows, each once, ascending."""
    rows = np.concatenate([np.empty((0, 2), dtype=np.int64), *parts])
    return np.unique(rows, axis=0)


def _rows(rows: Places, bookie: int, boot: int, place: Place) -> pa.Table:
    """Rows of ``holdings``: spans of neighbours, cut where a block of entries ends."""
    ledger, entry = rows[:, 0], rows[:, 1]
    fresh = np.ones(len(rows), dtype=np.bool_)
    fresh[1:] = (np.diff(ledger) != 0) | (np.diff(entry) != 1) | (entry[1:] % ENTRIES_PER_BLOCK == 0)
    begin = np.flatnonzero(fresh)
    last = entry[np.append(begin[1:], len(rows)) - 1] if len(rows) else entry
    same = {"bookie": bookie, "boot": boot, "place": int(place)}
    columns = {"ledger": ledger[begin], "entry": entry[begin], "last": last}
    columns |= {name: np.full(len(begin), value) for name, value in same.items()}
    return table_of(HOLDINGS, columns)


def ranges(numbers: Iterable[int]) -> list[list[int]]:
    """Numbers as [first, last] of each run of neighbours, ascending."""
    ordered = sorted(set(numbers))
    ends = [number for number, after in pairwise(ordered) if after != number + 1]
    begins = [after for number, after in pairwise(ordered) if after != number + 1]
    return [list(pair) for pair in zip(ordered[:1] + begins, ends + ordered[-1:], strict=True)]
