"""Real clusters with a writer, a second client and the observer, and their decoded histories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cluster.interface import Client
from cluster.local.backend import open_cluster
from cluster.processes.settings import RunSpec
from cluster.servers.cluster import Cluster
from evidence.collect.histories import segment_files
from evidence.folder import RunFolder
from evidence.raw.history import decode
from protocol.modes import MODES

RUN_ID = 2**64 - 99
Opener = Callable[..., AbstractContextManager[Cluster]]
Rows = list[dict[str, Any]]
QUORUMS = {"ensemble": 3, "write_quorum": 3, "ack_quorum": 2}


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", "unprotected")


@pytest.fixture
def opened(folder: RunFolder) -> Opener:
    """Opens a cluster without links: ``with opened(version="4.17.2") as cluster``."""

    @contextmanager
    def open_(**spec: Any) -> Iterator[Cluster]:
        settings = {"clients": ("writer", "other"), "linked": False, "run_id": RUN_ID, **spec}
        with open_cluster(RunSpec(folder, MODES["unprotected"], **settings)) as cluster:
            yield cluster

    return open_


@pytest.fixture
def recorded(folder: RunFolder) -> Callable[..., Rows]:
    """Rows of one client's ``operations``, ``census`` or ``watched``; asserts that nothing is damaged."""

    def read(client: str, table: str = "operations", **wanted: int) -> Rows:
        rows: Rows = []
        for file in segment_files(folder.operations):
            if file.client == client:
                segment = decode(file.path.read_bytes(), run_id=RUN_ID)
                assert segment.damage == ()
                rows += segment.table(table).to_pylist()
        return [row for row in rows if all(row[name] == value for name, value in wanted.items())]

    return read


@pytest.fixture
def ask() -> Callable[..., dict[str, Any]]:
    """Commands that must succeed: ``ask(client, "append", handle="h", entries=3)``."""

    def call(client: Client, do: str, **parameters: Any) -> dict[str, Any]:
        reply = client.submit(do, **parameters).result(60)
        assert reply["ok"], reply
        return reply

    return call
