"""Whether there is room for evidence: before a run, and when one has failed.

A full disk shows itself in many ways (a server that ends without a word, a record that cannot be
written); here is the one sentence that names it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from protocol.errors import PrerequisiteError

NEEDED_BYTES = 512_000_000
"""What one mode of a short run takes while it runs: write-ahead files, histories, tables."""
_FULL_BYTES = 16_000_000


def require_space(results: Path) -> None:
    """Raise ``PrerequisiteError`` when the disk under ``results`` has too little room for a run."""
    free = _free_bytes(results)
    if free < NEEDED_BYTES:
        raise PrerequisiteError(
            f"the disk under {results} has {free / 1e6:.0f} MB of free space, "
            f"a run needs {NEEDED_BYTES / 1e6:.0f} MB",
            remedy="free some, or name another folder with --results",
        )


def full_disk(results: Path) -> str:
    """A sentence when the disk under ``results`` is full, else nothing."""
    free = _free_bytes(results)
    return f"the disk under {results} is full ({free / 1e6:.0f} MB free)" if free < _FULL_BYTES else ""


def _free_bytes(results: Path) -> int:
    place = results.absolute()
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free
