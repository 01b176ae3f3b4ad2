"""A bookie's journal, read without a bookie: which entries and marks its next boot will replay.

Source: ``Journal#scanJournal`` and ``JournalChannel`` of BookKeeper 4.14 to 4.18, which write one format.
A file is a header (the magic word and a version; 512 bytes from version 5 on), then records: four bytes
of length, then as many bytes that begin with ledger and entry id. A negative entry id is a mark: the
ledger's key, its fence, an explicit LAC. Padding fills blocks, a length of zero ends the file, for it is
written ahead with zeros. All numbers are big-endian.

Total: any bytes give a result. A last record that was cut is counted, as a bookie passes over it; a
impossible length ends the reading with a reason, as it ends a bookie's boot. Records have no
checksums, so this does not prove that a record is intact.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAGIC = b"BKLG"
NEWEST = 6
KEY, FENCE, FORCE, EXPLICIT_LAC = -0x1000, -0x2000, -0x4000, -0x8000
PADDING = -0x100
MARK_BYTES = 16
_NAME = re.compile(r"([0-9a-f]{1,16})\.txn")
_LENGTH, _PLACE = struct.Struct(">i"), struct.Struct(">qq")
_PADDED_FROM, _HEADED_FROM = 5, 2
_HEADER_BYTES, _OLD_HEADER_BYTES = 512, 8


class Mark(NamedTuple):
    """Up to where the journal is not needed any more: id of a file, and an offset in it (bytes)."""

    journal: int
    offset_bytes: int


NO_MARK = Mark(0, 0)


@dataclass(frozen=True, slots=True)
class Records:
    """What some of a journal holds: entries as rows of (ledger, entry), marks by the ledger they are of.

    Marks of other kinds are left out. ``torn`` is how many bytes a last record had that was cut.
    ``broken`` says why what follows could not be read, empty when all was.
    """

    places: NDArray[np.int64]
    keyed: frozenset[int] = frozenset()
    fenced: frozenset[int] = frozenset()
    torn: int = 0
    broken: str = ""


def journal_id(name: str) -> int | None:
    """The id of a journal file by its name, None for other files."""
    match = _NAME.fullmatch(name)
    return int(match[1], 16) if match else None


def read_mark(path: Path) -> Mark:
    """The content of ``lastMark``, ``NO_MARK`` before the first mark; ``ValueError`` when it is torn."""
    if not path.exists():
        return NO_MARK
    data = path.read_bytes()
    if len(data) != MARK_BYTES:
        raise ValueError(f"{path.name} has {len(data)} bytes, not {MARK_BYTES}")
    return Mark(*_PLACE.unpack(data))


def replayed(names: Mapping[str, Path], mark: Mark) -> list[tuple[Path, int]]:
    """The files that a boot replays, oldest first, each with the offset at which it begins (0: the start).

    ``ValueError`` when the file that the mark names is gone: a bookie refuses to boot then.
    """
    known = sorted((number, path) for name, path in names.items() if (number := journal_id(name)) is not None)
    due = [(number, path) for number, path in known if number >= mark.journal]
    if mark.journal > 0 and (not due or due[0][0] != mark.journal):
        raise ValueError(f"the journal {mark.journal:x}.txn, from which a boot must replay, is not there")
    return [(path, mark.offset_bytes if number == mark.journal else 0) for number, path in due]


def parse(data: bytes, begin: int = 0) -> Records:
    """The records of one journal file from an offset on; from the first one if it is not positive."""
    version = _version(data)
    if not 1 <= version <= NEWEST:
        return _records([], broken=f"its version is {version}, known are 1 to {NEWEST}")
    found: list[tuple[int, int]] = []
    at = begin if begin > 0 else _first(version)
    while len(data) - at >= _LENGTH.size:
        start, (length,), at = at, _LENGTH.unpack_from(data, at), at + _LENGTH.size
        if length == 0:
            return _records(found)
        padding = length == PADDING and version >= _PADDED_FROM
        if padding:
            if len(data) - at < _LENGTH.size:
                break
            (length,), at = _LENGTH.unpack_from(data, at), at + _LENGTH.size
        if length < (0 if padding else _PLACE.size):
            return _records(found, broken=f"the record at {start} has the length {length}")
        if at + length > len(data):
            return _records(found, torn=len(data) - start)
        if not padding:
            found.append(_PLACE.unpack_from(data, at))
        at += length
    return _records(found, torn=max(0, len(data) - at))


def _version(data: bytes) -> int:
    headed = data[: len(MAGIC)] == MAGIC and len(data) >= _OLD_HEADER_BYTES
    return int(_LENGTH.unpack_from(data, len(MAGIC))[0]) if headed else 1


def _first(version: int) -> int:
    if version >= _PADDED_FROM:
        return _HEADER_BYTES
    return _OLD_HEADER_BYTES if version >= _HEADED_FROM else 0


def _records(found: list[tuple[int, int]], *, torn: int = 0, broken: str = "") -> Records:
    """Ledger and entry of each record as entries and marks."""
    marks = [(ledger, entry) for ledger, entry in found if entry < 0]
    return Records(
        places=np.array([place for place in found if place[1] >= 0], dtype=np.int64).reshape(-1, 2),
        keyed=frozenset(ledger for ledger, mark in marks if mark == KEY),
        fenced=frozenset(ledger for ledger, mark in marks if mark == FENCE),
        torn=torn,
        broken=broken,
    )
