"""Workers that are not ours: what travels to them, and what must be true of them before they get work.

With a standalone master tasks run in processes that its workers started, on machines where Fencepost is not
installed. The code goes there as one zip; the interpreter, the packages and the run folder must be there
already, at the same path. Each of these is looked at first and fails by name.
"""

from __future__ import annotations

import math
import os
import platform
import secrets
import socket
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import Future, wait
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
_SETTLED_S = 2
_LOOKING_S = 0.2
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
    """Our address as the master's machine reaches it; loopback for a local one.

    ``JudgementError`` for a master of another kind, whose workers would not reach us by that.
    """
    if is_local(master):
        return "127.0.0.1"
    host = urlsplit(master.split(",")[0]).hostname if master.startswith("spark://") else None
    if host is None:
        raise JudgementError(
            f"judging cannot use the master {master!r}",
            remedy="name a standalone master, spark://HOST:PORT, or local[N] for N cores of this machine",
        )
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
    _await_workers(context, master)
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


def run_there(
    context: SparkContext, master: str, job: Callable[[], Answer], *, limit_s: float = math.inf
) -> Answer:
    """What a job gives. Spark would wait for ever for a cluster that went away.

    ``JudgementError`` when the master has had no worker for us in ``_PATIENCE_S``, or after ``limit_s``.
    """
    outcome: Future[Answer] = Future()

    def run() -> None:
        try:
            outcome.set_result(job())
        except Exception as error:  # noqa: BLE001  # raised again in the thread that waits
            outcome.set_exception(error)

    threading.Thread(target=run, name="spark-job", daemon=True).start()
    began = seen = time.monotonic()
    while wait([outcome], timeout=_LOOKING_S).not_done:
        now = time.monotonic()
        if _executors(context):
            seen = now
        if now > min(seen + _PATIENCE_S, began + limit_s):
            context.cancelAllJobs()
            raise _no_worker(master)
    return outcome.result()


def _await_workers(context: SparkContext, master: str) -> None:
    """Wait for a worker, and until no other one has joined for ``_SETTLED_S``; Spark itself does not wait."""
    deadline = time.monotonic() + _PATIENCE_S
    joined, since = 0, time.monotonic()
    while (now := time.monotonic()) < deadline and not (joined and now > since + _SETTLED_S):
        if (cores := context.defaultParallelism if _executors(context) else 0) != joined:
            joined, since = cores, now
        time.sleep(_LOOKING_S)
    if not joined:
        raise _no_worker(master)


def _executors(context: SparkContext) -> int:
    """How many executors on workers are ours; Spark lists this process among them."""
    return len(context._jsc.sc().statusTracker().getExecutorInfos()) - 1


def _no_worker(master: str) -> JudgementError:
    return JudgementError(
        f"no worker of {master} has taken a task in {_PATIENCE_S} s",
        remedy="look at the master's page: are its workers alive, and have they cores and 1 GB free?",
    )


def _ask(context: SparkContext, master: str, remedy: str, question: Callable[[], Answer]) -> list[Answer]:
    """The answers of one task for each core that the cluster gave us."""
    count = max(2, context.defaultParallelism)

    def job() -> list[Answer]:
        rows = context.parallelize(range(count), count)
        return rows.mapPartitions(partial(worker.once, question=question)).collect()

    try:
        return run_there(context, master, job, limit_s=_PATIENCE_S)
    except JudgementError:
        raise
    except Exception as error:
        text = str(error)
        known = [cause for mark, cause in _MARKS.items() if mark in text]
        raise JudgementError(
            f"the workers of {master} cannot run tasks: "
            f"{f'{known[0]} ({python_of(master)})' if known else cause_of(text)}",
            remedy=remedy,
        ) from error


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
