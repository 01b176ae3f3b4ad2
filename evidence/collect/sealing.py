"""Closed evidence against its seal: which raw files are gone, changed, or were added.

Returns only sentences on damage; the other modules of this package read the files' content.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from evidence.collect.histories import segment_of, tables_of
from evidence.folder import RunFolder
from evidence.schemas import TABLES
from evidence.seal import FILES, broken
from evidence.shapes import EndTree


def damage_to_seal(folder: RunFolder, end: EndTree | None) -> dict[Path, str]:
    """File -> how it differs from the seal; empty for a run that was never closed.

    Each sentence begins with the name of the table that the file belongs to, if any. Servers' logs are
    compared only with a seal that lists logs, which older runs' seals do not. Raises ``OSError`` when a file
    cannot be read.
    """
    if end is None:
        return {folder.end_json: "end.json: it is damaged"} if folder.end_json.exists() else {}
    sums = end[FILES]
    there = [folder.run_json, *folder.raw_files()]
    if any((folder.path / name).is_relative_to(folder.servers) for name in sums):
        there += folder.boot_logs()
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as readers:
        found = readers.map(partial(broken, sums, folder.path), there)
        wrong = {path: what for path, what in zip(there, found, strict=True) if what}
    gone = {folder.path / name for name in sums} - set(there)
    wrong |= dict.fromkeys(sorted(gone), "it is missing")
    return {path: f"{_table(folder, path)}: {_name(folder, path)}: {what}" for path, what in wrong.items()}


def _table(folder: RunFolder, path: Path) -> str:
    """The table that a file is evidence for; ``record`` for files that are evidence for all tables."""
    segment = segment_of(path)
    if segment is not None:
        return tables_of(segment.client)
    if path.is_relative_to(folder.holdings):
        return "holdings"
    if path.is_relative_to(folder.servers):
        return "servers"
    table = path.parent.name
    return table if path.is_relative_to(folder.raw) and table in TABLES else "record"


def _name(folder: RunFolder, path: Path) -> str:
    """A file's name; for a log with its server, because every server has a first boot."""
    return f"{path.parent.name}/{path.name}" if path.is_relative_to(folder.servers) else path.name
