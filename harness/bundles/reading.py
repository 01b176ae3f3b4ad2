"""Reads an untrusted bundle: everything is examined before anything is unpacked.

Refused by name: what is no archive or is truncated, paths that lead out of it, links, names that are there
twice, members that overlap, encryption, other compression, and what would grow beyond the limits. Members
are read with their checksum, and never more bytes of one than the archive announced. A stored run is opened
the same way, whether it is a folder or a bundle.
"""

from __future__ import annotations

import json
import re
import shutil
import stat
import tempfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from evidence.folder import FoundRun, find_run, left_scratch, modes_of, scratch_name
from harness.bundles.writing import FACTS, FORMAT
from harness.cleaning import UNPACKED
from plans.reading.document import Tree
from protocol.errors import EvidenceError, UsageError

MOST_MEMBERS = 50_000
MOST_BYTES = 16 << 30
MOST_GROWTH = 300
_SMALL_BYTES = 256 << 20
"""Below this an archive may grow as it likes: zeros compress a thousandfold."""
_MOST_FACTS_BYTES = 16 << 20
_LOCAL_HEADER_BYTES = 30
_PART = re.compile(r"[^\x00-\x1f\x7f\\/:*?\"<>|]{1,200}")
_RUN_NAME = re.compile(r"\d{8}T\d{6}Z(\.\d+)?-\d+")
_JUDGED = re.compile(
    r"[^/]+/(run\.json|verdict\.json|harness\.log|raw/.+|servers/[^/]+/boot-[^/]+)|[^/]+\.(json|md|yaml)"
)
"""What judging, explaining and replaying read; bookies' directories and the report stay in the archive."""


def is_bundle(reference: str) -> bool:
    """Whether the user's reference to a run is an archive: an existing file, or a name like that of one."""
    return Path(reference).is_file() or reference.endswith(".zip")


@contextmanager
def opened(results: Path, reference: str, *, tables: bool = False) -> Iterator[FoundRun]:
    """The run that ``reference`` names: a bundle, or what :func:`evidence.folder.find_run` knows.

    Of a bundle the evidence is put below ``results`` while the block lasts: nothing stays, nor what killed
    processes left there, and the bundle never changes. ``tables`` collects it, which takes a Spark session;
    its verdict stays the one that it came with. Raises ``UsageError`` when there is no such run,
    ``EvidenceError`` for a bundle that is damaged or hostile.
    """
    if not is_bundle(reference):
        yield find_run(results, reference)
        return
    results.mkdir(parents=True, exist_ok=True)
    for left in left_scratch(results, UNPACKED):
        shutil.rmtree(left, ignore_errors=True)
    with (
        examined(Path(reference)) as archive,
        tempfile.TemporaryDirectory(prefix=scratch_name(UNPACKED), dir=results) as scratch,
    ):
        path = archive.place(Path(scratch))
        found = FoundRun(path, modes_of(path))
        if not found.modes:
            raise EvidenceError(f"{reference} holds no run")
        if gone := {*archive.facts.get("modes", ())} - {folder.mode for folder in found.modes}:
            raise EvidenceError(f"{reference} lacks run.json of the mode {min(gone)}, which was in it once")
        if tables:
            from harness.judging import judging

            with judging(results) as judge:
                for folder in found.modes:
                    judge.collect(folder)
        yield found


@dataclass(frozen=True)
class Archive:
    """An examined bundle: its members by name, and ``bundle.json``."""

    path: Path
    archive: zipfile.ZipFile
    members: Mapping[str, zipfile.ZipInfo]
    facts: Tree

    def place(self, folder: Path) -> Path:
        """Put what judging reads below ``folder``, one member after the other; the run's folder there.

        Raises ``EvidenceError`` when a member is damaged, or the disk has no room for them.
        """
        run = folder / str(self.facts["run"])
        wanted = [info for name, info in sorted(self.members.items()) if _JUDGED.fullmatch(name)]
        needed, free = sum(info.file_size for info in wanted), shutil.disk_usage(folder).free
        if needed > free // 2:
            raise EvidenceError(
                f"{self.path} needs {needed >> 20:,} MiB, {folder} has {free >> 20:,} MiB free",
                remedy="--results names a folder on another disk",
            )
        for info in wanted:
            target = run / info.filename
            target.parent.mkdir(parents=True, exist_ok=True)
            with (
                _reading(self.path, info.filename),
                self.archive.open(info) as source,
                target.open("wb") as sink,
            ):
                shutil.copyfileobj(source, sink)
        return run


@contextmanager
def examined(path: Path) -> Iterator[Archive]:
    """Open a bundle; ``EvidenceError`` names what is wrong with it."""
    if not path.exists():
        raise UsageError(f"there is no bundle {path}", remedy="`fencepost bundle RUN` makes one")
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise EvidenceError(
            f"{path} is no bundle, or is truncated: {error}", remedy="ask for it again; `unzip -t` tests it"
        ) from error
    with archive:
        members = _members(path, archive)
        yield Archive(path, archive, members, _facts(path, archive, members))


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    listed = archive.infolist()
    if len(listed) > MOST_MEMBERS:
        _refuse(path, f"it has {len(listed):,} members, more than {MOST_MEMBERS:,}")
    for info in listed:
        _examine(path, info)
    _only_once(path, [info.filename for info in listed])
    _apart(path, archive, listed)
    total, size = sum(info.file_size for info in listed), path.stat().st_size
    if total > MOST_BYTES or (total > _SMALL_BYTES and total > MOST_GROWTH * size):
        _refuse(path, f"its {size:,} bytes would become {total:,}")
    return {info.filename: info for info in listed if not info.is_dir()}


def _examine(path: Path, info: zipfile.ZipInfo) -> None:
    name = info.orig_filename
    parts = name.rstrip("/").split("/") if info.is_dir() else name.split("/")
    if not all(_PART.fullmatch(part) and part not in (".", "..") for part in parts):
        _refuse(path, f"member {name!r} has a name that leads elsewhere or is invalid")
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or (kind == stat.S_IFDIR) > info.is_dir():
        _refuse(path, f"member {name!r} is a link or another special file")
    if info.flag_bits & 0x1:
        _refuse(path, f"member {name!r} is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        _refuse(path, f"member {name!r} is compressed by method {info.compress_type}")


def _only_once(path: Path, names: list[str]) -> None:
    """No name twice, also where disks do not tell capital letters apart; no file where a folder is."""
    files: set[str] = set()
    folders: set[str] = set()
    for name in names:
        same = unicodedata.normalize("NFC", name).casefold()
        if same in files or (not name.endswith("/") and f"{same}/" in files):
            _refuse(path, f"member {name!r} is there twice")
        files.add(same)
        pieces = same.rstrip("/").split("/")
        folders |= {"/".join(pieces[:number]) for number in range(1, len(pieces))}
    for name in sorted(files & folders):
        _refuse(path, f"member {name!r} is a file and a folder")


def _apart(path: Path, archive: zipfile.ZipFile, listed: list[zipfile.ZipInfo]) -> None:
    """Members must not overlap: an overlapping member would be unpacked many times."""
    reached = 0
    for info in sorted(listed, key=lambda one: one.header_offset):
        if info.header_offset < reached:
            _refuse(path, f"member {info.filename!r} overlaps another")
        reached = info.header_offset + _LOCAL_HEADER_BYTES + info.compress_size
    if reached > archive.start_dir:
        _refuse(path, "its last member reaches into its directory")


def _facts(path: Path, archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]) -> Tree:
    info = members.get(FACTS)
    if info is None or info.file_size > _MOST_FACTS_BYTES:
        raise EvidenceError(
            f"{path} has no {FACTS}, so it is no bundle", remedy="`fencepost bundle` makes one"
        )
    with _reading(path, FACTS):
        text = archive.read(info)
    try:
        tree = json.loads(text)
    except ValueError as error:
        raise EvidenceError(f"{path}: {FACTS} is damaged: {error}") from error
    if not isinstance(tree, dict) or tree.get("format") != FORMAT:
        seen = tree.get("format") if isinstance(tree, dict) else type(tree).__name__
        raise EvidenceError(f"{path}: {FACTS} has format {seen!r}, this version reads {FORMAT}")
    if not _RUN_NAME.fullmatch(str(tree.get("run"))):
        _refuse(path, f"it names its run {tree.get('run')!r}")
    return tree


@contextmanager
def _reading(path: Path, name: str) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError) as error:
        raise EvidenceError(f"{path}: member {name!r} is damaged: {error}") from error


def _refuse(path: Path, why: str) -> NoReturn:
    raise EvidenceError(f"{path} is refused: {why}", remedy="do not unpack it; ask who made it")
