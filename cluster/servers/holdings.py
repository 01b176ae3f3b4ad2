"""What a bookie's disk held when it died uncleanly, copied before anything else can change it.

Whether a lost entry is explained rests on what its holders' disks held at their deaths, and a boot writes
over that at once (it replays, flushes and compacts). So the index and the part of the journal that a boot
replays are copied into the raw evidence, where they are sealed with everything else: a verdict can be made
from them again on another machine, and a copy that was changed is found out. Entry logs are left out:
the index is written after them, and they are large.

One copy for each death. The code that ends a process, or changes a dead process's disk, calls
``Process.capture_disk`` while the files are as the death left them; the next boot calls it at the
latest. A failed copy is retried. RocksDB's tables and, without ``journalReuseFiles``, the journal's files are
never written into again, so they are linked where the file system allows it. Copies files without
interpreting them.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from cluster.processes.runner import Exit
from evidence.folder import write_json
from evidence.raw.disk_layout import COPY_JSON, INDEX, JOURNALS, copy_name, mark_names
from evidence.raw.journal import NO_MARK, Mark, read_mark, replayed
from evidence.seal import digest
from plans.cluster import of_journal
from protocol.faults import unclean

_CURRENT = "current"
_LINKED = frozenset((".sst", ".txn"))
_USELESS = ("LOCK", "LOG")


class DiskRecord:
    """The copies of one bookie's disk below ``folder``, one for each unclean death."""

    def __init__(self, folder: Path, server: str) -> None:
        self._folder = folder
        self._server = server
        self._taken: set[int] = set()

    def take(self, ended: Exit | None, places: Mapping[str, Path], *, reused: bool = False) -> None:
        """Copy what ``places`` hold after this end, once; nothing after a graceful shutdown.

        ``reused`` says that the bookie writes into old files of its journal again.
        A failure is recorded in the copy itself and raises nothing: the run goes on, and what the disk held
        stays unknown.
        """
        if ended is None or ended.boot in self._taken or not unclean(signal=ended.signal, code=ended.code):
            return
        target = self._folder / copy_name(self._server, ended.boot)
        began_ns, failed = time.monotonic_ns(), ""
        linked: dict[str, str] = {}
        try:
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir(parents=True)
            linked = dict(_copied(places, target, _LINKED - {".txn"} if reused else _LINKED))
            self._taken.add(ended.boot)
        except OSError as error:
            failed = f"{type(error).__name__}: {os.strerror(error.errno or 0)}"
        facts = {"server": self._server, "boot": ended.boot, "linked": linked, "failed": failed}
        times = {"began_ns": began_ns, "ended_ns": time.monotonic_ns()}
        journals = _journals(places)
        target.mkdir(parents=True, exist_ok=True)
        files = sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())
        write_json(target / COPY_JSON, {**facts, **times, "files": files, "journals": journals})


def _copied(places: Mapping[str, Path], target: Path, linkable: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Copy all that matters, and give (path in the copy, SHA-256) of each file that became a link."""
    for path, name in _chosen(places):
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix in linkable and _linked(path, copy):
            yield name, digest(copy)
        elif not copy.exists():
            shutil.copyfile(path, copy)


def _chosen(places: Mapping[str, Path]) -> Iterator[tuple[Path, str]]:
    """(file, its name in a copy): the index, the journals' marks, and each journal from its mark on."""
    for place, folder in sorted(places.items()):
        for name in INDEX:
            for path in sorted((folder / _CURRENT / name).glob("*")):
                if path.is_file() and not path.name.startswith(_USELESS):
                    yield path, f"{place}/{name}/{path.name}"
    journals = _journals(places)
    for journal, name in zip(journals, mark_names(len(journals)), strict=True):
        marks = {place: folder / _CURRENT / name for place, folder in sorted(places.items())}
        marked = {place: path for place, path in marks.items() if path.is_file()}
        yield from ((path, f"{place}/{name}") for place, path in marked.items())
        names = {path.name: path for path in (places[journal] / _CURRENT).glob(JOURNALS)}
        for path in _due(names, max(map(_mark, marked.values()), default=NO_MARK)):
            yield path, f"{journal}/{path.name}"


def _journals(places: Mapping[str, Path]) -> list[str]:
    """The places of the journals, in the order of their marks."""
    return [place for place in places if of_journal(place)]


def _mark(path: Path) -> Mark:
    try:
        return read_mark(path)
    except ValueError:
        return NO_MARK


def _due(names: Mapping[str, Path], mark: Mark) -> list[Path]:
    """The files that a boot will replay; all of them where that is unknown."""
    try:
        return [path for path, _ in replayed(names, mark)]
    except ValueError:
        return sorted(names.values())


def _linked(path: Path, copy: Path) -> bool:
    try:
        copy.hardlink_to(path)
    except OSError:  # another file system, or one without links
        return False
    return True
