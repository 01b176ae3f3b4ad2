"""What stored runs hold that nobody needs any more, and which of them are still at work.

A run at work holds a lock on its ``harness.log``; the kernel frees it with the process, so a
killed harness never blocks cleaning.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evidence.folder import RunFolder

DIRECTORIES = "data"
"""Name of the folder under ``servers/<name>/`` in which a server keeps its own files."""


@contextmanager
def at_work(folder: RunFolder) -> Iterator[None]:
    """Mark a run's folder as in use for as long as the block lasts."""
    with folder.harness_log.open("a") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        yield


def is_at_work(folder: RunFolder) -> bool:
    """Whether a living process is at work in the folder."""
    if not folder.harness_log.exists():
        return False
    with folder.harness_log.open("a") as log:
        try:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def drop_directories(folder: RunFolder) -> None:
    """Remove the servers' own directories of a run; logs, configuration and evidence stay."""
    for path in _directories(folder):
        shutil.rmtree(path)


def leftovers(results: Path, *, tables: bool, runs: bool) -> Iterator[tuple[Path, int]]:
    """Folders that may go, each with its size in bytes; nothing of a run that is at work."""
    for run_json in sorted(results.rglob("run.json")):
        folder = RunFolder(run_json.parent)
        if is_at_work(folder):
            continue
        chosen = [folder.path] if runs else _directories(folder)
        if tables and not runs and folder.tables.is_dir():
            chosen = [*chosen, folder.tables]
        for path in chosen:
            yield path, sum(file.lstat().st_size for file in path.rglob("*") if file.is_file())


def _directories(folder: RunFolder) -> list[Path]:
    return sorted(path for path in folder.servers.glob(f"*/{DIRECTORIES}") if path.is_dir())
