"""Writes a bundle: small enough for an issue, and without private information.

Texts are redacted, so their sums in the seal are recomputed; ``bundle.json`` lists the original sums.
A file that differed from the seal before still differs: redaction repairs nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evidence.folder import FoundRun, RunFolder, json_text
from evidence.seal import FILES, is_whole, resealed
from harness.provenance import named_commit
from protocol.errors import EvidenceError
from reports.page.stored import stored_modes
from reports.page.writing import NAME as PAGE
from reports.page.writing import page
from reports.redaction import Redactor, redacted_run, redactor_for

FORMAT = 1
FACTS, README = "bundle.json", "README.md"
CORE, OPERATIONS, LOGS, FRAMES, HOLDINGS, DIRECTORIES = (
    "plan, verdict, faults, events of servers, metadata",
    "clients' histories",
    "logs",
    "wire log",
    "copies of disks' indexes",
    "bookies' directories",
)
ORDER = (OPERATIONS, LOGS, FRAMES, HOLDINGS)
"""Groups of files. A bundle that would be too large drops groups from the end of this list."""
_RAW = {"operations": OPERATIONS, "frames": FRAMES, "holdings": HOLDINGS}
_OF_A_BOOKIE = ("data", "lives", "snapshots")
_WHOLE = ("verdict.json", "summary.md", "shrunk.yaml")
LIMIT_BYTES = 25_000_000
_TEXT_BYTES = 256 << 20
_CHUNK_BYTES = 1 << 20
_ALIKE = (2020, 1, 1, 0, 0, 0)
"""The time of every member: the same run makes the same bytes."""


@dataclass(frozen=True)
class Member:
    """A file of a run: where it is, its name in the bundle, its group, the mode that it belongs to."""

    path: Path
    name: str
    group: str
    mode: str


def mode_members(folder: RunFolder, *, full: bool) -> Iterator[Member]:
    """The files of one mode; with ``full`` bookies' directories too."""
    for path in _files(folder, full=full):
        relative = path.relative_to(folder.path)
        group = _group(relative.parts, set(folder.run()["bookies"]), full=full)
        if group:
            yield Member(path, f"{folder.mode}/{relative.as_posix()}", group, folder.mode)


def _files(folder: RunFolder, *, full: bool) -> Iterator[Path]:
    yield from (path for path in (folder.run_json, folder.verdict_json, folder.harness_log) if path.is_file())
    places = [folder.raw, folder.servers] if full else [folder.raw, *folder.servers.glob("*/boot-*")]
    for place in places:
        found = [place] if place.is_file() else sorted(place.rglob("*"))
        yield from (path for path in found if path.is_file() and not path.is_symlink())


def _group(parts: tuple[str, ...], bookies: set[str], *, full: bool) -> str:
    """The group of a file by its path below the mode's folder; empty for an excluded file."""
    if parts[0] == "raw":
        return _RAW.get(parts[1], CORE)
    if parts[0] != "servers":
        return CORE
    if len(parts) == 3 and parts[2].startswith("boot-"):
        return LOGS if parts[2].endswith(".log") else CORE
    return DIRECTORIES if full and parts[1] in bookies and parts[2] in _OF_A_BOOKIE else ""


@dataclass
class Bundle:
    """What went in: members with their size, what was left out and why, which texts were changed."""

    path: Path
    files: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    redacted: dict[str, str] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """Size of the archive file."""
        return self.path.stat().st_size


def write_bundle(found: FoundRun, target: Path, *, full: bool, limit_bytes: int = LIMIT_BYTES) -> Bundle:
    """Write the run (the modes that were meant) to ``target``; groups that do not fit are left out, by name.

    ``full`` has no limit and adds bookies' directories. Written whole or not at all; ``EvidenceError``
    when the disk refuses.
    """
    redactor = redactor_for(found)
    contents = _Contents(redactor)
    members = [one for folder in found.modes for one in mode_members(folder, full=full)]
    members += [Member(found.path / name, name, CORE, "") for name in _WHOLE if (found.path / name).is_file()]
    bundle = Bundle(target)
    texts = {PAGE: redactor.text(page(stored_modes(found))).encode()}
    page_bytes = len(zlib.compress(texts[PAGE], 6)) + 4096
    kept = members if full else _fitting(members, contents, bundle, limit_bytes - page_bytes)
    for folder in found.modes:
        _reseal(folder, contents, kept)
    bundle.redacted = {
        name: was for name, was in sorted(contents.was.items()) if name in {k.name for k in kept}
    }
    texts[README] = _readme(found, bundle).encode()
    texts[FACTS] = _facts(found, bundle, full=full)
    fresh = target.with_name(f".{target.name}-{os.getpid()}")
    try:
        _write(fresh, texts, kept, contents)
        fresh.replace(target)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise EvidenceError(
            f"cannot write {target}: {error.strerror}", remedy="-o names another file"
        ) from error
    bundle.files = len(kept)
    return bundle


def _write(path: Path, texts: Mapping[str, bytes], kept: Iterable[Member], contents: _Contents) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(texts.items()):
            archive.writestr(_info(name), text)
        for member in sorted(kept, key=lambda one: one.name):
            info = _info(member.name)
            info.file_size = member.path.stat().st_size
            with archive.open(info, "w") as stream:
                for chunk in contents.chunks(member):
                    stream.write(chunk)


class _Contents:
    """The bytes of members as they go in: texts redacted, and remembered where that changed them."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.changed: dict[str, bytes] = {}
        self.was: dict[str, str] = {}

    def chunks(self, member: Member) -> Iterable[bytes]:
        small = member.path.stat().st_size <= _TEXT_BYTES
        if member.name not in self.changed and small and _is_text(member.path):
            self._redact(member)
        return [self.changed[member.name]] if member.name in self.changed else _chunks(member.path)

    def _redact(self, member: Member) -> None:
        raw = member.path.read_bytes()
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            return
        own = member.path.name == "run.json" and member.name.count("/") == 1
        clean = (redacted_run(text, self._redactor) if own else self._redactor.text(text)).encode()
        if clean != raw:
            self.changed[member.name] = clean
            self.was[member.name] = hashlib.sha256(raw).hexdigest()


def _fitting(members: list[Member], contents: _Contents, bundle: Bundle, left_bytes: int) -> list[Member]:
    """The core, then group after group for each mode as long as it fits."""
    kept = [one for one in members if one.group == CORE]
    left_bytes -= sum(_size(one, contents) for one in kept)
    for group in ORDER:
        for mode in dict.fromkeys(one.mode for one in members):
            chosen = [one for one in members if (one.group, one.mode) == (group, mode)]
            size = sum(_size(one, contents) for one in chosen)
            if size <= left_bytes:
                kept += chosen
                left_bytes -= size
            elif chosen:
                bundle.left_out[f"{mode}: {group}"] = size
    return kept


def _size(member: Member, contents: _Contents) -> int:
    """About what a member takes in the archive."""
    packer = zlib.compressobj(6)
    packed = sum(len(packer.compress(chunk)) for chunk in contents.chunks(member))
    return packed + len(packer.flush()) + 2 * len(member.name) + 120


def _reseal(folder: RunFolder, contents: _Contents, kept: Iterable[Member]) -> None:
    """Give texts that were redacted their new sums in ``end.json``, where the old ones were right."""
    members = {one.name: one for one in kept if one.mode == folder.mode}
    for member in members.values():
        contents.chunks(member)
    name = f"{folder.mode}/{folder.end_json.relative_to(folder.path).as_posix()}"
    end = folder.end()
    if end is None or name not in members:
        return
    text = contents.changed.get(name, folder.end_json.read_bytes()).decode()
    sums: dict[str, str] = dict(end[FILES])
    for path, listed in end[FILES].items():
        inside = f"{folder.mode}/{path}"
        if inside in contents.changed and contents.was[inside] == listed:
            sums[path] = hashlib.sha256(contents.changed[inside]).hexdigest()
    fresh = resealed(json.loads(text), sums)
    assert is_whole(fresh)  # noqa: S101  # otherwise the bundle would be reported as damaged
    contents.was.setdefault(name, hashlib.sha256(folder.end_json.read_bytes()).hexdigest())
    contents.changed[name] = json_text(fresh).encode()


def _is_text(path: Path) -> bool:
    with path.open("rb") as stream:
        return b"\0" not in stream.read(_CHUNK_BYTES)


def _chunks(path: Path) -> Iterable[bytes]:
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            yield chunk


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _ALIKE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o100644 << 16
    return info


def _facts(found: FoundRun, bundle: Bundle, *, full: bool) -> bytes:
    run = found.modes[0].run()
    tree: Mapping[str, object] = {
        "format": FORMAT,
        "run": found.path.name,
        "scenario": run["scenario"],
        "modes": [folder.mode for folder in found.modes],
        "full": full,
        "left_out": bundle.left_out,
        "redacted": bundle.redacted,
    }
    return json_text(tree).encode()


def _readme(found: FoundRun, bundle: Bundle) -> str:
    run = found.modes[0].run()
    out = "; left out for its size: " + ", ".join(bundle.left_out) if bundle.left_out else ""
    commit = named_commit(run["commit"], run["dirty"])
    return (
        f"A run of Fencepost (commit {commit}): {run['scenario']}, seed {run['seed']}, "
        f"BookKeeper {run['bookkeeper']}{out}.\n"
        "report.html shows it; `fencepost check`, `explain`, `report` and `replay` take this archive.\n"
    )
