"""The layout of a copy of a disk's content in the raw evidence: ``holdings/<bookie>-<boot>/``.

``<place>/locations`` and ``<place>/ledgers`` are RocksDB folders (the index of a storage that has
one), ``<place>/*.txn`` a journal, and ``<place>/lastMark`` (with several journals ``lastMark.0``,
``lastMark.1``, ...) up to where it is not needed, where ``<place>`` is the name that the bookie gives the
source folder. ``copy.json`` is written last: without it a copy is incomplete.

``copy.json``: ``server``, ``boot``, ``began_ns``, ``ended_ns``; ``linked``, the SHA-256 of each file
that is a hard link (a later write into such a file changes the copy as well, and the sum shows it);
``files``, the names of all files, and ``journals``, the places of the journals in the order of their marks,
which older copies do not list;
``failed``, why the copy failed.
"""

from __future__ import annotations

import re
from pathlib import Path

COPY_JSON = "copy.json"
LOCATIONS, LEDGERS = "locations", "ledgers"
INDEX = (LOCATIONS, LEDGERS)
LAST_MARK = "lastMark"
JOURNAL = "journal"
"""How the names of folders that are journals begin, as plans demand."""
JOURNALS = "*.txn"
_NAME = re.compile(r"(b\d+)-(\d+)")


def mark_names(journals: int) -> list[str]:
    """The files with the marks of a bookie's journals, in the order of its ``journalDirectories``.

    Source: the constructor of BookKeeper's ``Journal``.
    """
    return [LAST_MARK] if journals == 1 else [f"{LAST_MARK}.{number}" for number in range(journals)]


def copy_name(server: str, boot: int) -> str:
    """``b1-2``."""
    return f"{server}-{boot}"


def copies(folder: Path) -> list[tuple[str, int, Path]]:
    """(server, boot, folder) of every copy, sorted; folders with other names are ignored."""
    found = ((path, _NAME.fullmatch(path.name)) for path in folder.glob("*/"))
    return sorted((name[1], int(name[2]), path) for path, name in found if name)
