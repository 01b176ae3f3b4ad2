"""One file of a client's history: its layout, and its slots as rows of ``operations`` and ``census``.

The Java client writes it (``client/``, ``HistoryFormat``); a test compares the two. A file is a
header and 65,536 slots of 128 bytes, all little-endian; a slot is an invocation half and an outcome
half, each ending in the CRC-32 of what is before it.

Reads bytes and judges nothing. A client that was killed
may leave its last invocation and a few outcomes half stored; such halves show it, for a half is
stored in one sweep over zeros and neither its first nor its last eight bytes are ever all zero. A
torn invocation at the end is cut and a torn outcome is no outcome. Everything else that does not
agree is damage, named by sequence number, and its slot yields no row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evidence.codes import NEVER, ErrorCode, Holding, Kind, Outcome, Proof
from evidence.raw.segments import agree, in_use, named_damages, packed, records_at, wrong_header
from evidence.schemas import CENSUS, OPERATIONS, table_of

MAGIC = b"FPHIST1\n"
VERSION = 1
SLOT_BYTES = 128
HALF_BYTES = SLOT_BYTES // 2
CRC_AT = HALF_BYTES - 4
SLOTS = 65_536
FILE_BYTES = SLOT_BYTES * (1 + SLOTS)
BOOT_SHIFT = 40

HEADER = packed(
    """
    magic S8, version <u4, slot_size <u4, run_id <u8, first_seq <i8, client <u4, slots <u4,
    name S32, zero V52, crc <u4
    """
)
INVOKED = packed(
    """
    seq <i8, ns <i8, ledger <i8, entry <i8, last <i8, lac_before <i8, handle <i4, size_bytes <i4,
    kind u1, flags u1, zero <u2, crc <u4
    """
)
COMPLETED = packed(
    """
    ns <i8, ledger <i8, entry <i8, lac <i8, expected <i8, digest <u8, error <i4, origin <u4,
    outcome u1, proof u1, zero <u2, crc <u4
    """
)
SLOT = np.dtype([("invoked", INVOKED), ("completed", COMPLETED)])
_NAMES_AN_ENTRY = np.isin(np.arange(256), (Kind.ADD, Kind.READ, Kind.ENTRY, Kind.FORCE, Kind.CENSUS))
_WORDS = SLOT_BYTES // 8
_LAYOUT = {"version": VERSION, "slot_size": SLOT_BYTES, "slots": SLOTS}

Words = NDArray[np.int64]
Rows = NDArray[np.void]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Segment:
    """What one file holds.

    ``slots`` counts the used slots, damaged ones included. ``torn`` counts halves that the
    client's end left unfinished, ``cut`` those of a last invocation, which is no slot. ``rows``
    are the sound slots, a torn outcome as none. ``damage`` are sentences, empty for a sound
    file. ``ended`` counts the slots with an outcome.
    """

    client: int
    first_seq: int
    slots: int
    rows: Rows
    torn: int = 0
    ended: int = 0
    damage: tuple[str, ...] = ()
    cut: int = 0

    def table(self, name: str) -> pa.Table:
        """The rows of ``operations`` or ``census``; those ``watched`` have the columns of ``operations``."""
        return _table(name, self.of(name), self.client)

    def keys(self, first: int) -> dict[str, NDArray[np.int64]]:
        """By table the ledgers, entries and places of its rows; ``first`` is the place of the first slot."""
        places = self.rows["invoked"]["seq"] - self.first_seq + first
        keys = np.stack((*_subject(self.rows), places))
        return {table: keys[:, self._are(table)] for table in ("operations", "census")}

    def of(self, table: str) -> Rows:
        """The sound slots that are rows of ``operations`` or ``census``.

        ``watched`` are versions of metadata that the observer saw.
        """
        return self.rows[self._are(table)]

    def _are(self, table: str) -> Mask:
        kind = self.rows["invoked"]["kind"]
        of_census, of_watch = kind == Kind.CENSUS, kind == Kind.WATCHED
        masks: Mapping[str, Mask] = {"census": of_census, "watched": of_watch}
        return masks.get(table, ~of_census & ~of_watch)


def rows_at(table: str, client: int, files: Sequence[Path], places: NDArray[np.int64]) -> pa.Table:
    """The rows of ``operations`` or ``census`` that sound slots are, by their places in a client's files."""
    rows = records_at(files, places, kind=SLOT, header_bytes=SLOT_BYTES, most=SLOTS)
    halves: Words = rows.view("<i8").reshape(len(rows), 2, _WORDS // 2)
    halves[_unfinished(halves[:, 1]), 1] = 0
    return _table(table, rows, client)


def decode(data: bytes, *, run_id: int) -> Segment:
    """The rows of a file's bytes; a file of zeros was prepared and never used."""
    slots = min(SLOTS, max(0, len(data) - SLOT_BYTES) // SLOT_BYTES)
    words: Words = np.frombuffer(data, "<i8", count=slots * _WORDS, offset=min(SLOT_BYTES, len(data)))
    stored = words.reshape(slots, 2, _WORDS // 2)
    written = in_use(stored)
    used = int(np.flatnonzero(written.any(axis=1))[-1]) + 1 if written.any() else 0
    wrong = wrong_header(
        data[:SLOT_BYTES], HEADER, magic=MAGIC, layout=_LAYOUT, run_id=run_id, what="history"
    )
    if wrong:
        excused = used == 0 and (len(data) < FILE_BYTES or _is_torn(data[:SLOT_BYTES]))
        return Segment(0, 0, 0, np.empty(0, dtype=SLOT), damage=() if excused else (wrong,))
    header = np.frombuffer(data, dtype=HEADER, count=1)[0]
    length = () if len(data) == FILE_BYTES else (f"the file has {len(data)} bytes instead of {FILE_BYTES}",)
    return _decode(stored[:used], written[:used], int(header["client"]), int(header["first_seq"]), length)


def _is_torn(header: bytes) -> bool:
    """Whether the client was killed before or while it stored the header, over zeros."""
    return not any(header[:8]) or not any(header[-8:])


def _decode(stored: Words, written: Mask, client: int, first_seq: int, damage: tuple[str, ...]) -> Segment:
    due = first_seq + np.arange(len(stored), dtype=np.int64)
    asked, intact = agree(stored.view(np.uint8).reshape(-1, HALF_BYTES)).reshape(-1, 2).T
    sound = asked & (stored[:, 0, 0] == due)
    # Invocations are stored one after the other, so that only the last one can be torn.
    cut = int(len(stored) and not sound[-1] and not written[-1, 1] and _unfinished(stored[-1:, 0])[0])
    kept = len(stored) - cut
    stored, written = stored[:kept], written[:kept]
    due, sound, intact = due[:kept], sound[:kept], intact[:kept]
    torn = written[:, 1] & _unfinished(stored[:, 1])
    broken = written[:, 1] & ~torn & ~intact
    blank = ~written[:, 0]
    named = (
        *damage,
        *named_damages("is missing", due[blank].tolist(), _slot_name),
        *named_damages("has a damaged invocation", due[~sound & ~blank].tolist(), _slot_name),
        *named_damages("has a damaged outcome", due[sound & broken].tolist(), _slot_name),
    )
    if torn.any():
        stored = stored.copy()
        stored[torn, 1] = 0
    rows, good = stored.reshape(-1).view(SLOT), sound & ~broken
    rows = rows if good.all() else rows[good]
    ended = int(np.count_nonzero(rows["completed"]["outcome"] != Outcome.PENDING))
    return Segment(client, first_seq, len(stored), rows, cut + int(torn.sum()), ended, named, cut)


def _subject(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ledger and the entry of each row."""
    asked, completed = rows["invoked"], rows["completed"]
    kind, ledger, entry, assigned = (
        column.copy() for column in (asked["kind"], asked["ledger"], asked["entry"], completed["entry"])
    )  # each is read several times, and lies in the slots far apart
    ended = completed["outcome"] != Outcome.PENDING
    entry = np.where(_NAMES_AN_ENTRY[kind], entry, -1)
    created = np.flatnonzero((ledger < 0) & ended)
    ledger[created] = completed["ledger"][created]
    return ledger, np.where((kind == Kind.ADD) & ended & (assigned >= 0), assigned, entry)


def _table(name: str, rows: Rows, client: int) -> pa.Table:
    return _census(rows) if name == "census" else _operations(rows, client)


def _operations(rows: Rows, client: int) -> pa.Table:
    asked, completed = rows["invoked"], rows["completed"]
    ended = completed["outcome"] != Outcome.PENDING
    ledger, entry = _subject(rows)
    return table_of(
        OPERATIONS,
        {
            "ledger": ledger,
            "entry": entry,
            "client": np.full(len(rows), client),
            "seq": asked["seq"],
            "handle": asked["handle"],
            "kind": asked["kind"],
            "flags": asked["flags"],
            "outcome": completed["outcome"],
            "error": completed["error"],
            "invoked_ns": asked["ns"],
            "completed_ns": np.where(ended, completed["ns"], NEVER),
            "last": asked["last"],
            "lac_before": asked["lac_before"],
            "lac": np.where(ended, completed["lac"], -1),
            "result": np.where(ended, completed["entry"], -1),
            "expected": np.where(ended, completed["expected"], -1),
            "size_bytes": asked["size_bytes"],
            "digest": completed["digest"],
            "origin": completed["origin"],
            "proof": completed["proof"],
        },
    )


def _census(rows: Rows) -> pa.Table:
    asked, completed = rows["invoked"], rows["completed"]
    ended = completed["outcome"] != Outcome.PENDING
    return table_of(
        CENSUS,
        {
            "ledger": asked["ledger"],
            "entry": asked["entry"],
            "pass_number": asked["last"],
            "bookie": asked["handle"],
            "holding": _holding(completed, ended),
            "error": completed["error"],
            "asked_ns": asked["ns"],
            "answered_ns": np.where(ended, completed["ns"], NEVER),
            "digest": completed["digest"],
            "origin": completed["origin"],
            "size_bytes": asked["size_bytes"],
        },
    )


def _holding(completed: Rows, ended: Mask) -> NDArray[np.int64]:
    """What an answer says of the entry; only the bookie's own negatives are absences."""
    there = ended & (completed["error"] == ErrorCode.OK)
    negative = np.isin(completed["error"], (ErrorCode.NO_SUCH_ENTRY, ErrorCode.NO_SUCH_LEDGER))
    proven = completed["proof"] == Proof.PROVES_ITSELF
    return np.select(
        [there & proven, there, ended & negative & (completed["outcome"] == Outcome.OK)],
        [Holding.PRESENT, Holding.DAMAGED, Holding.ABSENT],
        default=Holding.UNKNOWN,
    )


def _unfinished(halves: Words) -> Mask:
    """Whether a half looks as one whose storing was cut off: its first or its last word is missing."""
    return np.asarray((halves[:, 0] == 0) | (halves[:, -1] == 0))


def _slot_name(seq: int) -> str:
    """``slot 1:42`` for the 42nd slot of boot 1."""
    return f"slot {seq >> BOOT_SHIFT}:{seq & ((1 << BOOT_SHIFT) - 1)}"
