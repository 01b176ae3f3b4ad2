"""What a worker is asked before it gets work: runs there, so it imports nothing but the standard library."""

from __future__ import annotations

import os
import platform
import socket
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple


class WorkerInfo(NamedTuple):
    """One worker process: its host, its interpreter, and package -> version (empty: not installed)."""

    host: str
    python: str
    executable: str
    packages: dict[str, str]


def about(packages: Iterable[str]) -> WorkerInfo:
    """Host, interpreter and package versions of this process."""
    import sys

    return WorkerInfo(
        socket.gethostname(),
        platform.python_version(),
        sys.executable,
        {name: _version(name) for name in packages},
    )


def sees(folder: str, token: str, content: str) -> tuple[str, str]:
    """Host, and what is wrong with the way this process sees ``folder``; empty when nothing is.

    The driver has put a file ``token`` there; this process reads it and puts another beside it.
    """
    host, path = socket.gethostname(), Path(folder) / token
    try:
        if path.read_text() != content:
            return host, "sees another folder under that path"
        path.with_name(f"{token}-{host}-{os.getpid()}").write_text(content)
    except OSError as error:
        return host, f"cannot use it: {error.strerror} ({error.filename})"
    return host, ""


def each(_: Iterator[Any], function: Any, arguments: tuple[Any, ...]) -> Iterator[Any]:
    """``function`` once for a partition."""
    yield function(*arguments)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
