"""Copies of a server's files under a name, to be brought back later.

Of a server that runs, a copy is what a backup without a stop would get: files that went meanwhile are left
out, and nothing says that those which stayed fit together. Knows folders, and no server.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from protocol.errors import ServerError

_OF_THE_FILE_SYSTEM = "lost+found"


class Snapshots:
    """The copies of one server, each in a folder of its name below ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, name: str, places: Mapping[str, Path]) -> Path:
        """Copy the places' files, each into a folder of its name. ``ServerError`` if there is such a copy."""
        copy = self._folder / name
        if copy.exists():
            raise ServerError(f"there is a snapshot {name!r} already, at {copy}")
        for place, folder in places.items():
            (copy / place).mkdir(parents=True)
            for path in sorted(folder.rglob("*")):
                if _OF_THE_FILE_SYSTEM not in path.relative_to(folder).parts:
                    _copy(path, copy / place / path.relative_to(folder))
        return copy

    def all(self) -> Mapping[str, Path]:
        """Every copy by its name."""
        return {path.name: path for path in sorted(self._folder.iterdir())} if self._folder.is_dir() else {}


def _copy(path: Path, target: Path) -> None:
    if path.is_dir():
        target.mkdir(exist_ok=True)
        return
    with contextlib.suppress(FileNotFoundError):  # a running server removed it after the listing
        shutil.copy2(path, target)
