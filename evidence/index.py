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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.wire import ledger_flags

_LEDGER, _PLACE = struct.Struct(">q"), struct.Struct(">qq")


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
    for key, _ in _items(folder, scratch, values=False):
        if len(key) != _PLACE.size:
            raise UnreadableIndexError(f"{folder.name} has a key of {len(key)} bytes")
        keys += key
    return np.frombuffer(bytes(keys), dtype=">i8").astype(np.int64).reshape(-1, 2)


def read_ledgers(folder: Path, scratch: Path) -> KnownLedgers:
    """What a ``ledgers`` folder says; ``UnreadableIndexError``."""
    flags: dict[int, tuple[bool, bool]] = {}
    for key, value in _items(folder, scratch, values=True):
        if len(key) != _LEDGER.size:
            raise UnreadableIndexError(f"{folder.name} has a key of {len(key)} bytes")
        (ledger,) = _LEDGER.unpack(key)
        if ledger >= 0:  # what lies below are flags of the storage itself
            flags[ledger] = ledger_flags(value)
    return KnownLedgers(
        frozenset(flags),
        frozenset(ledger for ledger, (fenced, _) in flags.items() if fenced),
        frozenset(ledger for ledger, (_, limbo) in flags.items() if limbo),
    )


def _items(folder: Path, scratch: Path, *, values: bool) -> Iterator[tuple[bytes, bytes]]:
    with _opened(folder, scratch) as database:
        rows = database.iter()
        rows.seek_to_first()
        while rows.valid():
            yield bytes(rows.key()), bytes(rows.value()) if values else b""
            rows.next()
        rows.status()  # raises where the iterator ended before the data


@contextmanager
def _opened(folder: Path, scratch: Path) -> Iterator[Any]:
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
