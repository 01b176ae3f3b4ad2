"""The seal of closed evidence: every raw file with its SHA-256, and a sum over the list itself.

A missing line, or a missing file of lines, leaves no trace in the rest; only a list that was written
when the evidence was closed shows it. The sums equal those of ``sha256sum``. Does not interpret the
files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

FILES: Final = "files"
SEAL: Final = "seal"
NOT_SEALED = "it was not there when the evidence was closed"
CHANGED = "it is not what it was when the evidence was closed"


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex; ``OSError`` when it cannot be read."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(tree: Mapping[str, object], root: Path, files: list[Path]) -> dict[str, object]:
    """The tree with the sums of ``files`` (by path below ``root``), and with its own."""
    sums = {path.relative_to(root).as_posix(): digest(path) for path in files}
    return resealed(tree, sums)


def resealed(tree: Mapping[str, object], sums: Mapping[str, str]) -> dict[str, object]:
    """A tree with other sums of its files (by path below the run), and its own sum recomputed."""
    whole = {**{key: value for key, value in tree.items() if key != SEAL}, FILES: dict(sums)}
    return {**whole, SEAL: _sum(whole)}


def is_whole(tree: Mapping[str, object]) -> bool:
    """Whether a sealed tree is as it was written."""
    return tree.get(SEAL) == _sum({key: value for key, value in tree.items() if key != SEAL})


def broken(sums: Mapping[str, str], root: Path, path: Path) -> str:
    """Why an existing file differs from the sealed file; empty when it does not."""
    known = sums.get(path.relative_to(root).as_posix())
    if known is None:
        return NOT_SEALED
    return "" if digest(path) == known else CHANGED


def _sum(tree: Mapping[str, object]) -> str:
    text = json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
