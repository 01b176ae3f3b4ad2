"""Decodes one file of a client's history: slots to rows of ``operations`` and ``census``.

Reads bytes and judges nothing. Each half of a slot carries its own CRC-32. A client that was killed
may leave its last invocation and a few outcomes half stored; such halves show it, for a half is
stored in one sweep over zeros and neither its first nor its last eight bytes are ever all zero. A
torn invocation at the end is cut and a torn outcome is no outcome. Everything else that does not
agree is damage, named by sequence number, and its slot yields no row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evidence.codes import NEVER, ErrorCode, Holding, Kind, Outcome, Proof
from evidence.crc import crc32
from evidence.history_layout import (
    BOOT_SHIFT,
    CRC_AT,
    FILE_BYTES,
    HEADER,
    SLOT,
    SLOT_BYTES,
    SLOTS,
    is_torn_header,
    wrong_header,
    wrong_length,
)
from evidence.schemas import CENSUS, OPERATIONS

__all__ = ["BOOT_SHIFT", "SLOTS", "SLOT_BYTES", "Segment", "decode", "decode_segment"]

_WORDS = SLOT_BYTES // 8
_NAMED_DAMAGES = 20

Array = NDArray[Any]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Segment:
    """What one file holds.

    ``slots`` counts the used slots, damaged ones included. ``torn`` counts halves that the
    client's end left unfinished. ``watched`` has the columns of ``operations``. ``damage`` are
    sentences, empty for a sound file.
    """

    client: int
    first_seq: int
    slots: int
    operations: pa.Table
    census: pa.Table
    watched: pa.Table
    torn: int = 0
    damage: tuple[str, ...] = ()


def decode_segment(path: Path, *, run_id: int) -> Segment:
    """The rows of the file at ``path``; ``OSError`` when it cannot be read, never for its content."""
    return decode(path.read_bytes(), run_id=run_id)


def decode(data: bytes, *, run_id: int) -> Segment:
    """The rows of a file's bytes; a file of zeros was prepared and never used."""
    slots = max(0, len(data) - SLOT_BYTES) // SLOT_BYTES
    words: Array = np.frombuffer(data, "<i8", count=slots * _WORDS, offset=min(SLOT_BYTES, len(data)))
    stored = words.reshape(slots, 2, _WORDS // 2)
    written: Array = stored[:, :, 0] != 0
    written[~written] = stored[~written].any(axis=1)  # few, as a rule: a stored half begins with a number
    used = int(np.flatnonzero(written.any(axis=1))[-1]) + 1 if written.any() else 0
    wrong = wrong_header(data[:SLOT_BYTES], run_id)
    if wrong:
        excused = used == 0 and (len(data) < FILE_BYTES or is_torn_header(data[:SLOT_BYTES]))
        return _segment(0, 0, stored[:0], damage=() if excused else (wrong,))
    header = np.frombuffer(data, dtype=HEADER, count=1)[0]
    return _decode(
        stored[:used], written[:used], int(header["client"]), int(header["first_seq"]), wrong_length(data)
    )


def _decode(
    stored: Array,
    written: NDArray[np.bool_],
    client: int,
    first_seq: int,
    damage: tuple[str, ...],
    *,
    cut: bool = False,
) -> Segment:
    invoked, completed = stored[:, 0], stored[:, 1]
    due = first_seq + np.arange(len(stored), dtype=np.int64)
    sound = _sound(invoked) & (invoked[:, 0] == due)
    if not cut and len(stored) and not sound[-1] and not written[-1, 1] and _unfinished(invoked[-1:])[0]:
        # Invocations are stored one after the other, so that only the last one can be torn.
        whole = _decode(stored[:-1], written[:-1], client, first_seq, damage, cut=True)
        return replace(whole, torn=whole.torn + 1)
    lacking = written[:, 1] & ~_sound(completed)
    torn = lacking & _unfinished(completed)
    broken = lacking & ~torn
    blank = ~written[:, 0]
    named = (
        *damage,
        *_named("is missing", due[blank]),
        *_named("has a damaged invocation", due[~sound & ~blank]),
        *_named("has a damaged outcome", due[sound & broken]),
    )
    if torn.any():
        stored = stored.copy()
        stored[torn, 1] = 0
    rows = _segment(client, first_seq, stored, sound & ~broken, damage=named)
    return replace(rows, torn=int(torn.sum()))


def _segment(
    client: int,
    first_seq: int,
    stored: Array,
    keep: Mask | None = None,
    *,
    damage: tuple[str, ...] = (),
) -> Segment:
    rows = stored.reshape(-1).view(SLOT)
    used = len(rows)
    if keep is not None:
        rows = _chosen(rows, keep)
    kind = rows["invoked"]["kind"]
    of_census, of_watch = kind == Kind.CENSUS, kind == Kind.WATCHED
    return Segment(
        client=client,
        first_seq=first_seq,
        slots=used,
        operations=_operations(_chosen(rows, ~of_census & ~of_watch), client),
        census=_census(_chosen(rows, of_census)),
        watched=_operations(_chosen(rows, of_watch), client),
        damage=damage,
    )


def _chosen(rows: Array, mask: Mask) -> Array:
    return rows if mask.all() else rows[mask]


def _operations(rows: Array, client: int) -> pa.Table:
    asked, told = rows["invoked"], rows["completed"]
    kind, ended = asked["kind"], told["outcome"] != Outcome.PENDING
    assigned = (kind == Kind.ADD) & ended & (told["entry"] >= 0)
    of_entry = np.isin(kind, (Kind.ADD, Kind.READ, Kind.ENTRY, Kind.FORCE))
    entry = np.where(assigned, told["entry"], np.where(of_entry, asked["entry"], -1))
    return _table(
        OPERATIONS,
        ledger=np.where((asked["ledger"] < 0) & ended, told["ledger"], asked["ledger"]),
        entry=entry,
        client=np.full(len(rows), client),
        seq=asked["seq"],
        handle=asked["handle"],
        kind=kind,
        flags=asked["flags"],
        outcome=told["outcome"],
        error=told["error"],
        invoked_ns=asked["ns"],
        completed_ns=np.where(ended, told["ns"], NEVER),
        last=asked["last"],
        lac_before=asked["lac_before"],
        lac=np.where(ended, told["lac"], -1),
        result=np.where(ended, told["entry"], -1),
        expected=np.where(ended, told["expected"], -1),
        size_bytes=asked["size_bytes"],
        digest=told["digest"],
        origin=told["origin"],
        proof=told["proof"],
    )


def _census(rows: Array) -> pa.Table:
    asked, told = rows["invoked"], rows["completed"]
    ended = told["outcome"] != Outcome.PENDING
    return _table(
        CENSUS,
        ledger=asked["ledger"],
        entry=asked["entry"],
        pass_number=asked["last"],
        bookie=asked["handle"],
        holding=_holding(told, ended),
        error=told["error"],
        asked_ns=asked["ns"],
        answered_ns=np.where(ended, told["ns"], NEVER),
        digest=told["digest"],
        origin=told["origin"],
        size_bytes=asked["size_bytes"],
    )


def _holding(told: Array, ended: Mask) -> Array:
    """What an answer says of the entry; only the bookie's own negatives are absences."""
    there = ended & (told["error"] == ErrorCode.OK)
    negative = np.isin(told["error"], (ErrorCode.NO_SUCH_ENTRY, ErrorCode.NO_SUCH_LEDGER))
    proven = told["proof"] == Proof.PROVES_ITSELF
    return np.select(
        [there & proven, there, ended & negative & (told["outcome"] == Outcome.OK)],
        [Holding.PRESENT, Holding.DAMAGED, Holding.ABSENT],
        default=Holding.UNKNOWN,
    )


def _table(schema: pa.Schema, **columns: Array) -> pa.Table:
    arrays = [pa.array(columns[field.name].astype(field.type.to_pandas_dtype())) for field in schema]
    return pa.table(arrays, schema=schema)


def _sound(halves: Array) -> Mask:
    """Whether each half (eight words) agrees with its own checksum."""
    octets = halves.view(np.uint8)
    stored = octets[:, CRC_AT:].view("<u4").reshape(-1)
    return np.asarray(crc32(octets[:, :CRC_AT]) == stored)


def _unfinished(halves: Array) -> Mask:
    """Whether a half looks as one whose storing was cut off: its first or its last word is missing."""
    return np.asarray((halves[:, 0] == 0) | (halves[:, -1] == 0))


def _named(what: str, seqs: NDArray[np.int64]) -> list[str]:
    named = [f"slot {_slot_name(int(seq))} {what}" for seq in seqs[:_NAMED_DAMAGES]]
    if len(seqs) > _NAMED_DAMAGES:
        named.append(f"{len(seqs) - _NAMED_DAMAGES} more, up to slot {_slot_name(int(seqs[-1]))}: {what}")
    return named


def _slot_name(seq: int) -> str:
    """``1:42`` for the 42nd slot of boot 1."""
    return f"{seq >> BOOT_SHIFT}:{seq & ((1 << BOOT_SHIFT) - 1)}"
