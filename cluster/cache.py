"""The cache of fetched and derived files, and its locks between processes.

The folder is ``FENCEPOST_CACHE``, else ``XDG_CACHE_HOME/fencepost``, else ``~/.cache/fencepost``.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from protocol.errors import PrerequisiteError


def cache_root() -> Path:
    """The cache's folder; not created here."""
    own = os.environ.get("FENCEPOST_CACHE")
    if own:
        return Path(own).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser().resolve() / "fencepost"


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold an advisory lock on ``path``; the kernel releases it when the process ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise PrerequisiteError(
            f"the cache {path.parent} cannot be written: {error.strerror}",
            remedy="Set FENCEPOST_CACHE to a folder that this user can write.",
        ) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
