"""The slots of a made run: what its writer and its observer recorded, block after block.

Rows follow from their number alone, so memory does not grow with the run. Only the writing that
``client/`` does is imitated here, field by field; a live test holds both against each other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bench.raw.shape import (
    BATCH,
    BEGAN_NS,
    BOOKIES,
    PASSES,
    SIZE_BYTES,
    STEP_NS,
    WINDOW,
    WRITER,
    Shape,
    Wounds,
)
from evidence.codes import ErrorCode, Flag, Kind, Outcome, Proof
from evidence.raw.history import BOOT_SHIFT, SLOT

Rows = NDArray[np.void]
Ints = NDArray[np.int64]
_BLOCK = 60_000
_FIRST_HANDLE = (1 << 20) + 1
_FINAL = Flag.FINAL


def writer_slots(shape: Shape) -> Iterator[Rows]:
    """Ledger by ledger, ``together`` at a time: create, adds in turns, close."""
    for first in range(0, shape.ledgers * (shape.entries + 2), _BLOCK):
        number = np.arange(first, min(first + _BLOCK, shape.ledgers * (shape.entries + 2)))
        wave, within = np.divmod(number, shape.together * (shape.entries + 2))
        place, ledger = np.divmod(within, shape.together)  # 0 the create, 1.. the adds, the close
        ledger += wave * shape.together
        entry = place - 1
        kind = np.select([place == 0, entry < shape.entries], [Kind.CREATE, Kind.ADD], Kind.CLOSE)
        add, close = kind == Kind.ADD, kind == Kind.CLOSE
        rows = _rows(number, kind, np.where(kind == Kind.CREATE, -1, ledger), BEGAN_NS)
        asked, completed = rows["invoked"], rows["completed"]
        asked["handle"], completed["ledger"] = _FIRST_HANDLE + ledger, ledger
        asked["entry"] = -1
        asked["lac_before"] = np.select([add, close], [np.maximum(-1, entry - WINDOW), shape.last], -1)
        completed["entry"] = completed["lac"] = np.select([add, close], [entry, shape.last], -1)
        completed["expected"] = np.where(add, entry, -1)
        completed["ns"] += WINDOW * shape.together * STEP_NS
        _carry(rows, add)
        wounds = shape.wounds
        if wounds is not None:
            completed["lac"][add & (ledger == wounds.ledger) & (entry == wounds.back)] = wounds.told_back
        yield rows


def closed_ns(shape: Shape, ledger: Ints) -> tuple[Ints, Ints]:
    """When each ledger was created and closed, on the run's clock."""
    wave, within = np.divmod(ledger, shape.together)
    began = wave * shape.together * (shape.entries + 2)
    whole = shape.together * (shape.entries + 1)
    at = BEGAN_NS + WINDOW * shape.together * STEP_NS
    return at + (began + within) * STEP_NS, at + (began + whole + within) * STEP_NS


def observer_slots(shape: Shape) -> Iterator[Rows]:
    """What it watched, one census, the final reads, the other census; numbered throughout."""
    seq = 0
    censuses = PASSES if shape.census else ()
    parts = [_watched(shape), *(_census(shape, n) for n in censuses[:1])]
    for part in [*parts, _finals(shape), *(_census(shape, n) for n in censuses[1:])]:
        for rows in part:
            numbers = (1 << BOOT_SHIFT) + 1 + seq + np.arange(len(rows))
            entries = (rows["invoked"]["kind"] == Kind.ENTRY).nonzero()[0]
            # Each entry names the read that delivered it, by how far back that is.
            rows["invoked"]["last"][entries] += numbers[entries]
            rows["invoked"]["seq"] = numbers
            seq += len(rows)
            yield rows


def is_lost(wounds: Wounds | None, ledger: Ints, entry: Ints) -> NDArray[np.bool_]:
    """Which of the entries are on no bookie at the end."""
    lost = np.zeros(len(ledger), dtype=np.bool_)
    if wounds is not None:
        lost |= (ledger == wounds.ledger) & (entry >= wounds.lost) & (entry <= wounds.lost_last)
    return lost


def _watched(shape: Shape) -> Iterator[Rows]:
    for first in range(0, shape.ledgers, _BLOCK):
        ledger = np.repeat(np.arange(first, min(first + _BLOCK, shape.ledgers)), 2)
        version = np.tile([0, 1], len(ledger) // 2)
        rows = _rows(np.arange(len(ledger)), np.full(len(ledger), Kind.WATCHED), ledger, 0)
        created, closed = closed_ns(shape, ledger)
        rows["invoked"]["ns"] = np.where(version == 0, created, closed) + STEP_NS
        rows["completed"]["ns"] = rows["invoked"]["ns"] + 2 * STEP_NS
        rows["invoked"]["last"] = version
        rows["completed"]["lac"] = np.where(version == 0, 1, 3)
        rows["completed"]["entry"] = np.where(version == 0, -1, shape.last)
        yield rows


def _census(shape: Shape, number: int) -> Iterator[Rows]:
    """One pass: every entry of every ledger, from bookie after bookie."""
    total, bookies = shape.ledgers * shape.entries * len(BOOKIES), np.array([*BOOKIES.values()])
    began = shape.written_ns if number == 1 else shape.written_ns + (2 * total) * STEP_NS
    for first in range(0, total, _BLOCK):
        at = np.arange(first, min(first + _BLOCK, total))
        ledger, within = np.divmod(at, shape.entries * len(BOOKIES))
        entry, place = np.divmod(within, len(BOOKIES))
        rows = _rows(at, np.full(len(at), Kind.CENSUS), ledger, began)
        asked, completed = rows["invoked"], rows["completed"]
        asked["entry"] = completed["entry"] = entry
        asked["last"], asked["handle"] = number, bookies[place]
        lost = is_lost(shape.wounds, ledger, entry)
        _carry(rows, ~lost)
        completed["error"][lost] = ErrorCode.NO_SUCH_ENTRY
        yield rows


def _finals(shape: Shape) -> Iterator[Rows]:
    """Each ledger opened with recovery and read, ``BATCH`` entries at a time."""
    reads = -(-shape.entries // BATCH)
    total = shape.ledgers * reads
    wounds = shape.wounds
    broken = wounds.ledger * reads + wounds.lost // BATCH if wounds else total
    for begin, end in ((0, broken), (broken + 1, total)):
        for first in range(begin, end, _BLOCK // BATCH):
            yield _reads(shape, np.arange(first, min(first + _BLOCK // BATCH, end)), reads)
        if wounds and end == broken:
            yield _read_singly(shape, wounds, broken, reads)


def _reads(shape: Shape, unit: Ints, reads: int) -> Rows:
    """These reads with what they delivered; the first read of a ledger has its open before it."""
    ledger, batch = np.divmod(unit, reads)
    opens = (batch == 0).astype(np.int64)
    count = np.minimum(BATCH, shape.entries - batch * BATCH)
    sizes = opens + 1 + count
    owner = np.repeat(np.arange(len(unit)), sizes)
    # 0 is the read, -1 the open before it, 1.. the entries.
    place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes + opens, sizes)
    kind = np.select([place < 0, place == 0], [Kind.OPEN, Kind.READ], Kind.ENTRY)
    number = unit[owner] * (BATCH + 2) + place + 1
    entry = np.where(place > 0, batch[owner] * BATCH + place - 1, -1)
    return _read_rows(
        shape, ledger[owner], kind, entry, number, first=batch[owner] * BATCH, count=count[owner]
    )


def _read_rows(
    shape: Shape, ledger: Ints, kind: Ints, entry: Ints, number: Ints, *, first: Ints, count: Ints
) -> Rows:
    """Rows of opens, reads (``count`` entries from ``first``) and entries of final reads."""
    began = shape.written_ns + shape.ledgers * shape.entries * len(BOOKIES) * STEP_NS
    rows = _rows(number, kind, ledger, began)
    asked, completed = rows["invoked"], rows["completed"]
    read, entries, opened = kind == Kind.READ, kind == Kind.ENTRY, kind == Kind.OPEN
    asked["handle"] = _FIRST_HANDLE + ledger
    asked["flags"] = np.where(opened, _FINAL | Flag.RECOVERY, _FINAL)
    asked["entry"] = np.select([read, entries], [first, entry], -1)
    asked["last"] = np.select([read, entries], [first + count - 1, first - entry - 1], -1)
    asked["lac_before"] = np.where(opened, -1, shape.last)
    completed["entry"] = np.select([read, entries], [count, entry], shape.last)
    completed["lac"] = np.where(opened, shape.last, -1)
    completed["expected"] = np.where(entries, entry, -1)
    completed["ns"] += np.where(read, (BATCH + 2) * STEP_NS, 0)
    _carry(rows, entries)
    if shape.wounds is not None:
        _wound(rows, shape.wounds, entries & (ledger == shape.wounds.ledger))
    return rows


def _wound(rows: Rows, wounds: Wounds, entries: NDArray[np.bool_]) -> None:
    """Two entries change places, and one comes back with other bytes."""
    asked, completed = rows["invoked"], rows["completed"]
    due = completed["expected"].copy()
    for here, other in ((wounds.swapped, wounds.swapped + 1), (wounds.swapped + 1, wounds.swapped)):
        row = np.flatnonzero(entries & (due == here))
        asked["entry"][row] = completed["entry"][row] = other
        completed["digest"][row] = _digest(asked["ledger"][row], np.full(len(row), other))
    completed["proof"][entries & (due == wounds.damaged)] = Proof.DAMAGED


def _read_singly(shape: Shape, wounds: Wounds, unit: int, reads: int) -> Rows:
    """The read that met the lost entries: it fails, then each of its entries is asked for alone."""
    whole = _reads(shape, np.array([unit]), reads)
    failed = whole[whole["invoked"]["kind"] == Kind.READ]
    opened = whole[whole["invoked"]["kind"] == Kind.OPEN]
    first = int(failed["invoked"]["entry"][0])
    ids = np.arange(first, int(failed["invoked"]["last"][0]) + 1)
    lost = (ids >= wounds.lost) & (ids <= wounds.lost_last)
    entry = np.repeat(ids, np.where(lost, 1, 2))
    kind = np.where(np.diff(entry, prepend=-1) > 0, Kind.READ, Kind.ENTRY)
    ledger, number = np.full(len(entry), wounds.ledger), unit * (BATCH + 2) + entry - first + 1
    singles = _read_rows(shape, ledger, kind, entry, number, first=entry, count=np.ones_like(entry))
    for rows, pick in ((failed, slice(None)), (singles, (kind == Kind.READ) & np.isin(entry, ids[lost]))):
        completed = rows["completed"]
        completed["outcome"][pick], completed["error"][pick] = Outcome.UNKNOWN, ErrorCode.NO_SUCH_ENTRY
        completed["entry"][pick] = 0
    return np.concatenate([opened, failed, singles])


def _rows(number: Ints, kind: Ints, ledger: Ints, began_ns: int) -> Rows:
    """Operations that went well, ``STEP_NS`` apart but for some jitter, and tell nothing."""
    rows = np.zeros(len(number), dtype=SLOT)
    asked, completed = rows["invoked"], rows["completed"]
    jitter = (_mixed(number.astype(np.uint64)) >> np.uint64(54)).astype(np.int64) >> 1
    asked["seq"] = (1 << BOOT_SHIFT) + 1 + number
    asked["ns"] = began_ns + number * STEP_NS + jitter
    completed["ns"] = asked["ns"] + STEP_NS // 2
    asked["kind"], asked["ledger"], completed["ledger"] = kind, ledger, ledger
    asked["entry"] = asked["last"] = asked["lac_before"] = -1
    completed["entry"] = completed["lac"] = completed["expected"] = -1
    completed["outcome"] = Outcome.OK
    return rows


def _carry(rows: Rows, pick: NDArray[np.bool_]) -> None:
    """Let the picked rows carry the payload of their entry."""
    asked, completed = rows["invoked"], rows["completed"]
    asked["size_bytes"][pick] = SIZE_BYTES
    completed["origin"][pick], completed["proof"][pick] = WRITER[1], Proof.PROVES_ITSELF
    completed["digest"][pick] = _digest(completed["ledger"][pick], completed["entry"][pick])


def _digest(ledger: Ints, entry: Ints) -> NDArray[np.uint64]:
    """Stands for the checksums of a payload: one number for each (ledger, entry)."""
    with np.errstate(over="ignore"):
        return _mixed(ledger.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + entry.astype(np.uint64))


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A well-mixed number for each (the finalizer of splitmix64)."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return values ^ (values >> np.uint64(31))
