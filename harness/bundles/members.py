"""Which files of a run belong into a bundle, in groups that go in or stay out as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evidence.folder import RunFolder

CORE, OPERATIONS, LOGS, FRAMES, HOLDINGS, DIRECTORIES = (
    "plan, verdict, faults, events of servers, metadata",
    "clients' histories",
    "logs",
    "wire log",
    "copies of disks' indexes",
    "bookies' directories",
)
ORDER = (OPERATIONS, LOGS, FRAMES, HOLDINGS)
"""Groups in the order in which they are dropped last to first where a bundle would be too large."""
_RAW = {"operations": OPERATIONS, "frames": FRAMES, "holdings": HOLDINGS}
_OF_A_BOOKIE = ("data", "lives", "snapshots")
_WHOLE = ("verdict.json", "summary.md", "shrunk.yaml")


@dataclass(frozen=True)
class Member:
    """A file of a run: where it is, its name in the bundle, its group, the mode that it belongs to."""

    path: Path
    name: str
    group: str
    mode: str


def whole_members(run: Path) -> Iterator[Member]:
    """The files about the run as a whole."""
    for name in _WHOLE:
        if (run / name).is_file():
            yield Member(run / name, name, CORE, "")


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
