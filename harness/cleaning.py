"""Room on the disk: whether it is full, unneeded leftovers of runs, which runs are in progress.

A process that records or judges a mode holds a lock on its ``harness.log``. Where different processes do
these, their parent holds the whole run in between. The kernel frees a lock with its process, so a killed
harness never blocks cleaning.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from pathlib import Path

from cluster.docker.images import ping, socket_path
from cluster.docker.labels import RUN_LABEL, abandoned
from evidence.folder import RunFolder, every_run, left_scratch, modes_of
from protocol.addresses import ZOOKEEPER
from protocol.errors import ServerError

UNPACKED = ".bundle-"
"""Begins the name of a folder in which a process reads a bundle."""
DIRECTORIES = ("data", "disks", "lives", "snapshots")
"""Folders under ``servers/<name>/``: a server's own files, those of former lives, copies of them, disks."""
_LOGGED = ("data", "lives")
"""Of ZooKeeper's folders those with its log, which a run that ended early has in no other form."""
_FULL_BYTES = 16_000_000


@contextmanager
def in_use(folder: RunFolder) -> Iterator[None]:
    """Mark a mode's folder as in use for as long as the block lasts; waits for another user of it."""
    with folder.harness_log.open("a") as log:
        fcntl.flock(log, fcntl.LOCK_EX)
        yield


def is_in_use(folder: RunFolder) -> bool:
    """Whether a running process uses the folder."""
    return _is_locked(folder.harness_log)


def held(run: Path) -> ExitStack:
    """Keep a whole run from being cleaned until the result is closed; a run may be held several times."""
    lock = os.open(run, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    stack = ExitStack()
    stack.callback(os.close, lock)
    return stack


def _is_locked(path: Path) -> bool:
    try:
        # NFS locks a file exclusively only by a descriptor that may write; locks of folders stay local.
        lock = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def drop_directories(folder: RunFolder) -> None:
    """Remove the servers' own directories of a run, and scratch; logs, configuration and evidence stay."""
    for path in _directories(folder):
        shutil.rmtree(path)


def leftovers(results: Path, *, tables: bool, runs: bool) -> Iterator[tuple[Path, int]]:
    """Folders that may be deleted, with their sizes in bytes; nothing of a run that is in progress.

    With ``runs`` they are folders of whole runs. Among them is what killed readers of bundles unpacked.
    """
    for path in chain(left_scratch(results, UNPACKED), _leftovers(results, tables=tables, runs=runs)):
        # An image is larger than the space that it takes.
        found = (file.lstat() for file in path.rglob("*") if file.is_file())
        yield path, sum(min(one.st_size, one.st_blocks * 512) for one in found)


def _leftovers(results: Path, *, tables: bool, runs: bool) -> Iterator[Path]:
    for run in every_run(results):
        modes = modes_of(run)
        if _is_locked(run) or any(map(is_in_use, modes)):
            continue
        if runs:
            yield run
            continue
        yield from chain.from_iterable(map(_directories, modes))
        yield from (mode.tables for mode in modes if tables and mode.tables.is_dir())


def abandoned_containers() -> dict[str, list[str]]:
    """Containers and networks by run, of runs whose harness is gone; none without an engine."""
    try:
        ping(socket_path())
    except OSError:
        return {}
    from cluster.docker.engine import Engine  # it loads the SDK, which takes long

    with closing(Engine()) as engine:
        return abandoned([*engine.containers(RUN_LABEL), *engine.networks(RUN_LABEL)])


def remove_containers(run: str) -> None:
    """Remove a run's containers and networks from the engine."""
    from cluster.docker.engine import Engine

    with closing(Engine()) as engine:
        engine.sweep(f"{RUN_LABEL}={run}")


def unmount_below(folder: Path) -> None:
    """Unmount the disks of a run in containers whose harness and keeper were killed, the innermost first."""
    points = [
        line.split()[1].replace("\\040", " ") for line in Path("/proc/self/mounts").read_text().splitlines()
    ]
    place = f"{folder.absolute()}/"
    for point in reversed([point for point in points if point.startswith(place)]):
        done = subprocess.run(["umount", point], capture_output=True, text=True)
        if done.returncode != 0:
            raise ServerError(f"{point} cannot be unmounted: {done.stderr.strip()}")


def _directories(folder: RunFolder) -> list[Path]:
    """Removable parts of a mode's folder; ZooKeeper's log only when it was read into the raw evidence."""
    found = {path for name in DIRECTORIES for path in folder.servers.glob(f"*/{name}")}
    if not folder.transactions.exists():
        found -= {folder.server(ZOOKEEPER) / name for name in _LOGGED}
    return sorted(path for path in (*found, folder.scratch) if path.is_dir())


def full_disk(results: Path) -> str:
    """A sentence when the disk under ``results`` is full, else nothing."""
    place = results.absolute()
    free = shutil.disk_usage(next(one for one in (place, *place.parents) if one.exists())).free
    return f"the disk under {results} is full ({free / 1e6:.0f} MB free)" if free < _FULL_BYTES else ""
