"""What the tables of a run hold: ``collected.json`` beside them, written last and read first.

It says how many buckets and rows there are and what is damaged, so that judging needs nothing else, and by
which code the tables were made: facts that rest on other rules are not used.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

from evidence.folder import RunFolder, read_json, write_json
from protocol.errors import EvidenceError

FORMAT = 5
_SUMMARY = "collected.json"
CHECKOUT = Path(__file__).resolve().parent.parent
FOLDERS = ("protocol", "plans", "evidence", "checkers", "pipeline")
"""The code that collects and judges; none of it imports another folder."""


def sources() -> list[Path]:
    """The files of that code."""
    return sorted(source for folder in FOLDERS for source in (CHECKOUT / folder).rglob("*.py"))


@cache
def code_stamp() -> str:
    """A checksum of that code."""
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources())).hexdigest()


@dataclass(frozen=True, slots=True)
class Collection:
    """What a collection holds: number of buckets, rows by table, sentences on damage (sorted), its code."""

    buckets: int
    rows: Mapping[str, int]
    damage: tuple[str, ...]
    code: str = field(default_factory=code_stamp)


def write_collection(tables: Path, collection: Collection) -> None:
    """Record what was collected, last of all files."""
    write_json(tables / _SUMMARY, {"format": FORMAT, **asdict(collection)})


def read_collection(folder: RunFolder) -> Collection:
    """What was collected; ``EvidenceError`` when nothing was, or by another version."""
    path = folder.tables / _SUMMARY
    if not path.is_file():
        raise EvidenceError(
            f"{folder.path} has no tables", remedy=f"`fencepost check {folder.path}` makes them"
        )
    tree = read_json(path)
    if tree.get("format") != FORMAT:
        raise EvidenceError(
            f"{path} has format {tree.get('format')!r}, not {FORMAT}",
            remedy=f"`fencepost check {folder.path}` makes them again",
        )
    return Collection(int(tree["buckets"]), dict(tree["rows"]), tuple(tree["damage"]), tree.get("code", ""))
