"""Workers that are not ours: what travels to them, and what must be true of them before they get work.

With a master other than ``local[...]`` tasks run in processes that a cluster manager started, on machines
where Fencepost is not installed. The code goes there as one zip; the interpreter, the packages and the
run folder must be there already, at the same path. Each of these is looked at first and fails by name.
"""

from __future__ import annotations

import os
import platform
import secrets
import socket
import sys
import threading
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

from evidence.collection import CHECKOUT, sources
from pipeline import worker
from pipeline.jvm import cause_of
from protocol.errors import JudgementError

if TYPE_CHECKING:
    from pyspark import SparkContext

PACKAGES = ("numpy", "pyarrow", "rocksdict")
Answer = TypeVar("Answer")
_PATIENCE_S = 300
_MARKS = {
    "PYTHON_VERSION_MISMATCH": "the workers' Python is of another version than the driver's",
    "Cannot run program": "the workers have no such Python",
}


def is_local(master: str) -> bool:
    """Whether tasks run in processes of our own."""
    return master == "local" or master.startswith("local[")


def python_of(master: str) -> str:
    """The interpreter that tasks run in; of a cluster ``PYSPARK_PYTHON``, else its own ``python3``."""
    return sys.executable if is_local(master) else os.environ.get("PYSPARK_PYTHON", "python3")


def own_address(master: str) -> str:
    """Our address as the master's machine reaches it; loopback for a local one."""
    host = None if is_local(master) else urlsplit(master.split(",")[0]).hostname
    if host is None:
        return "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way, suppress(OSError):
        way.connect((host, 9))  # Sends nothing: only the route is looked up.
        return str(way.getsockname()[0])
    return "127.0.0.1"


def code_zip(folder: Path) -> Path:
    """All code that tasks need as one zip in ``folder``; the same checkout gives the same bytes."""
    path = folder / "fencepost-code.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as whole:
        for source in sources():
            name = zipfile.ZipInfo(source.relative_to(CHECKOUT).as_posix())
            whole.writestr(name, source.read_bytes(), zipfile.ZIP_DEFLATED)
    return path


def check_workers(context: SparkContext, master: str) -> int:
    """Ask workers for their Python and packages; ``JudgementError`` names the first that is not as ours.

    Returns the memory that is available to each core, in bytes: the least of all.
    """
    python = python_of(master)
    remedy = (
        f"let PYSPARK_PYTHON name a Python {platform.python_version()} that every worker has at that path, "
        f"with {' '.join(f'{name}=={metadata.version(name)}' for name in PACKAGES)}"
    )
    found = _ask(context, master, remedy, partial(worker.about, PACKAGES))
    for about in found:
        where = f"worker {about.host} ({about.executable})"
        if _minor(about.python) != _minor(platform.python_version()):
            raise JudgementError(
                f"{where} runs Python {about.python}, the driver {platform.python_version()}", remedy=remedy
            )
        for name, version in about.packages.items():
            if version != metadata.version(name):
                raise JudgementError(
                    f"{where} has {f'{name} {version}' if version else f'no {name}'}, "
                    f"the driver {name} {metadata.version(name)}",
                    remedy=f"install {name}=={metadata.version(name)} for {python} on every worker",
                )
    return min(about.core_bytes for about in found)


def check_folder(context: SparkContext, master: str, folder: Path) -> None:
    """Let workers read and write in ``folder``; ``JudgementError`` names the first that cannot."""
    token, content = f".workers-{os.getpid()}", secrets.token_hex(16)
    path = folder / token
    remedy = "--results must name a folder that every worker sees at the same path, and may write in"
    try:
        path.write_text(content)
        for host, wrong in _ask(context, master, remedy, partial(worker.sees, str(folder), token, content)):
            if wrong:
                raise JudgementError(f"{folder}: worker {host} {wrong}", remedy=remedy)
        if not list(folder.glob(f"{token}-*")):
            raise JudgementError(f"{folder}: what workers write there is not seen here", remedy=remedy)
    except OSError as error:
        raise JudgementError(f"{folder}: cannot write there: {error.strerror}", remedy=remedy) from error
    finally:
        for left in folder.glob(f"{token}*"):
            left.unlink(missing_ok=True)


def _ask(context: SparkContext, master: str, remedy: str, question: Callable[[], Answer]) -> list[Answer]:
    """The answers of one task for each core that the cluster gave us."""
    answers: list[list[Answer] | Exception] = []
    count = max(2, context.defaultParallelism)

    def run() -> None:
        try:
            rows = context.parallelize(range(count), count)
            answers.append(rows.mapPartitions(partial(worker.once, question=question)).collect())
        except Exception as error:  # noqa: BLE001  # raised again below, in the thread that waits
            answers.append(error)

    asking = threading.Thread(target=run, name="spark-workers", daemon=True)
    asking.start()
    asking.join(_PATIENCE_S)
    if not answers:
        context.cancelAllJobs()
        raise JudgementError(
            f"no worker of {master} has taken a task in {_PATIENCE_S} s",
            remedy="look at the master's page: are its workers alive, and have they cores and 1 GB free?",
        )
    if isinstance(answers[0], Exception):
        text = str(answers[0])
        known = [cause for mark, cause in _MARKS.items() if mark in text]
        raise JudgementError(
            f"the workers of {master} cannot run tasks: "
            f"{f'{known[0]} ({python_of(master)})' if known else cause_of(text)}",
            remedy=remedy,
        )
    return answers[0]


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
