"""Take away what set-up made: in this checkout, and in the cache that all checkouts share."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import stamp
from stamp import AGENT_JAR, BUILD, CLIENT_JAR, PROXY, VENV

_CACHED = (
    "packages", "packages.lock", "setup.lock", "uv-*", "go-*", ".uv-*", ".go-*", "go", "maven", "bookkeeper",
    "class-data", "benchmark", "compiler",
)  # fmt: skip
"""What Fencepost puts into its cache; all other files there stay."""


def remove() -> list[str]:
    """Remove it all; the lines that say what was removed and how much disk that freed."""
    cache = stamp.cache_root()
    places = [VENV, BUILD, CLIENT_JAR.parent, AGENT_JAR.parent, PROXY.parent]
    cached = [path for pattern in _CACHED for path in sorted(cache.glob(pattern))]
    seen: set[tuple[int, int]] = set()
    lines = []
    for path in [*cached, *places]:
        if path.exists():
            freed_mb = round(_size(path, seen) / 1e6)
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            lines += [f"removed {path}: {freed_mb} MB"] if freed_mb else []
    if cache.is_dir() and not any(cache.iterdir()):
        cache.rmdir()
    if any(str(cache) in line for line in lines):
        lines.append("Other checkouts shared the cache: they fetch again what they need of it.")
    return lines or ["there is nothing to remove"]


def _size(path: Path, seen: set[tuple[int, int]]) -> int:
    """Bytes on disk below ``path``; a file of several names counts where it is met first."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            status = os.lstat(os.path.join(folder, name))  # noqa: PTH118, tens of thousands of files
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_blocks * 512
    return total
