"""A bookie's index, read without a bookie: which entries and ledgers its storage knows.

Source: ``EntryLocationIndex`` and ``LedgerMetadataIndex`` of DbLedgerStorage, BookKeeper 4.14 to 4.18. Both
are RocksDB: ``locations`` has a key of ledger and entry id for each entry, ``ledgers`` a message
``LedgerData`` under each ledger's id. Numbers are big-endian. RocksDB writes into a folder that it opens,
also for reading, so it opens a copy in ``scratch``. An iterator of it ends without a word at a damaged
block; its status is asked for that.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from rocksdict import Rdict

_LEDGER, _PLACE = struct.Struct(">q"), struct.Struct(">qq")
_FENCED, _LIMBO = 2, 5
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class UnreadableIndexError(ValueError):
    """The index is missing or incomplete; the message says which."""


@dataclass(frozen=True, slots=True)
class KnownLedgers:
    """What the ``ledgers`` index says: the ledgers there are, those fenced, those in limbo."""

    known: frozenset[int]
    fenced: frozenset[int]
    limbo: frozenset[int]


def read_locations(folder: Path, scratch: Path) -> NDArray[np.int64]:
    """Every (ledger, entry) of a ``locations`` folder, ascending; ``UnreadableIndexError``."""
    keys = bytearray()
    for key, _ in _items(folder, scratch, _PLACE, values=False):
        keys += key
    return np.frombuffer(keys, dtype=">i8").astype(np.int64).reshape(-1, 2)


def read_ledgers(folder: Path, scratch: Path) -> KnownLedgers:
    """What a ``ledgers`` folder says; ``UnreadableIndexError``."""
    known: dict[int, dict[int, int]] = {}
    for key, value in _items(folder, scratch, _LEDGER, values=True):
        (ledger,) = _LEDGER.unpack(key)
        if ledger >= 0:  # what lies below are flags of the storage itself
            known[ledger] = _flags(value)
    return KnownLedgers(
        frozenset(known),
        frozenset(ledger for ledger, flags in known.items() if flags.get(_FENCED)),
        frozenset(ledger for ledger, flags in known.items() if flags.get(_LIMBO)),
    )


def _items(
    folder: Path, scratch: Path, layout: struct.Struct, *, values: bool
) -> Iterator[tuple[bytes, bytes]]:
    """Keys, which must be of this layout, and values where they are asked for."""
    with _opened(folder, scratch) as database:
        rows = database.iter()
        rows.seek_to_first()
        while rows.valid():
            key = bytes(rows.key())
            if len(key) != layout.size:
                raise UnreadableIndexError(f"{folder.name} has a key of {len(key)} bytes")
            yield key, bytes(rows.value()) if values else b""
            rows.next()
        rows.status()  # raises where the iterator ended before the data


@contextmanager
def _opened(folder: Path, scratch: Path) -> Iterator[Rdict]:
    """A RocksDB folder, opened as it is; what RocksDB raises becomes ``UnreadableIndexError``."""
    from rocksdict import AccessType, Options, Rdict

    if not (folder / "CURRENT").is_file():
        raise UnreadableIndexError(f"there is no index in RocksDB ({folder.name}/CURRENT)")
    copy = scratch / folder.name
    try:
        shutil.copytree(folder, copy)
        database = Rdict(str(copy), Options(raw_mode=True), access_type=AccessType.read_only())
        try:
            yield database
        finally:
            database.close()
    except UnreadableIndexError:
        raise
    except Exception as error:  # RocksDB's errors have no common class
        text = str(error).replace(str(copy), folder.name)
        raise UnreadableIndexError(f"RocksDB cannot read {folder.name}: {text}") from error
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _flags(message: bytes) -> dict[int, int]:
    """The numbers in a message of protobuf by their field; of a torn message those before the tear.

    Read by hand, because a worker of a cluster need not have protobuf.
    """
    found: dict[int, int] = {}
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            found[tag >> 3], at = _varint(message, at)
        elif kind == _BYTES:
            size, at = _varint(message, at)
            at += size
        elif kind in (_FIXED32, _FIXED64):
            at += 4 if kind == _FIXED32 else 8
        else:
            break
    return found


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message):
        byte = message[at]
        value, at, shift = value | (byte & 0x7F) << shift, at + 1, shift + 7
        if byte < 0x80:
            break
    return value, at
