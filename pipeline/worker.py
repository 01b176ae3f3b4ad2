"""What runs in Spark's Python workers: one task's function, and what a worker is asked before it gets work.

An error travels back as a sentence, so that the driver can say what failed without a traceback. Imports
nothing but the standard library: a worker that lacks a package can still say so.

As a program it is the daemon that Spark starts on this machine: it forks a worker for each core. It imports
what tasks need first, so that workers share it instead of importing it once more each.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import platform
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple, TypeVar

Answer = TypeVar("Answer")
Task = TypeVar("Task")
_PRELOADED = ("pipeline.decoding", "pipeline.judge")


def preload(_: None = None) -> None:
    """Import what a worker's first real task would; a task itself, which wants an argument."""
    for name in _PRELOADED:
        importlib.import_module(name)


def daemon() -> None:
    """Spark's own daemon, in a process that has imported everything; ends when Spark does.

    Spark imports after the fork, because a thread that an import begins is not in the child. The only thread
    here is Arrow's for an allocator that workers do not use; ``OPENBLAS_NUM_THREADS`` leaves out the others.
    """
    from pyspark.daemon import manager

    importlib.import_module("pyspark.worker")
    preload()
    gc.freeze()  # a collection would write to every shared page
    manager()


def answers(tasks: Iterable[bytes], function: Callable[[Task], object]) -> Iterator[bytes]:
    """For each pickled task a pickled (ok, result or error text)."""
    for task in tasks:
        try:
            answer = pickle.dumps((True, function(pickle.loads(task))))  # noqa: S301  # our own driver's
        except Exception as error:  # noqa: BLE001  # the driver raises it again as a JudgementError
            answer = pickle.dumps((False, f"{type(error).__name__}: {error}"))
        yield answer


class WorkerInfo(NamedTuple):
    """One worker process: its host and interpreter, package -> version (empty: not installed), and memory.

    ``core_bytes`` is the memory that is available to each core of the host.
    """

    host: str
    python: str
    executable: str
    packages: dict[str, str]
    core_bytes: int


def about(packages: Iterable[str]) -> WorkerInfo:
    """Host, interpreter, package versions and memory of this process."""
    memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    available_kib = int(memory["MemAvailable"].split()[0])
    return WorkerInfo(
        socket.gethostname(),
        platform.python_version(),
        sys.executable,
        {name: _version(name) for name in packages},
        available_kib * 1024 // (os.cpu_count() or 1),
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


def once(_: Iterable[object], question: Callable[[], Answer]) -> Iterator[Answer]:
    """The answer to a question, once for a partition."""
    yield question()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


if __name__ == "__main__":
    daemon()
