"""Real clusters for tests, each checked afterwards: nothing of it may be left."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cluster.local.backend import open_cluster
from cluster.processes.settings import RunSpec
from cluster.servers.cluster import Cluster
from cluster.waiting import wait_until
from evidence.folder import RunFolder
from protocol.modes import MODES

Opener = Callable[..., AbstractContextManager[Cluster]]


def processes_in(folder: Path) -> list[str]:
    """Command lines of processes that work in a folder or were given a path in it.

    A folder of another test may begin with its name, and that test run beside this one.
    """
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            where = str((entry / "cwd").readlink())
        except OSError:
            continue
        if f"{folder}/" in line or f"{where}/".startswith(f"{folder}/"):
            found.append(line[:200])
    return found


@pytest.fixture
def run_folder(tmp_path: Path) -> Callable[[str], RunFolder]:
    return lambda name: RunFolder.create(tmp_path / name, "mode")


@pytest.fixture
def opened(tmp_path: Path, run_folder: Callable[[str], RunFolder]) -> Iterator[Opener]:
    """Opens clusters: ``with opened("name", bookies=1, ...) as cluster``; checks at the end."""
    threads = set(threading.enumerate())

    @contextmanager
    def open_(
        name: str = "run", mode: str = "unprotected", *, hangs: bool = False, **spec: Any
    ) -> Iterator[Cluster]:
        with open_cluster(RunSpec(run_folder(name), MODES[mode], **spec)) as cluster:
            yield cluster
        assert bool(cluster.hung) is hangs

    yield open_
    assert processes_in(tmp_path) == []

    def ended() -> tuple[bool, str]:
        more = set(threading.enumerate()) - threads
        return not more, f"{more} run"

    wait_until(ended, 60, "the end of every thread")
