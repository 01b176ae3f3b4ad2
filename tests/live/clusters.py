"""A real cluster of plain processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.local.backend import open_cluster
from cluster.processes.settings import RunSpec
from evidence.folder import RunFolder
from protocol.modes import MODES


@contextmanager
def running(path: Path, mode: str = "journal", **spec: Any) -> Iterator[Any]:
    """A cluster in this mode, with its run folder below ``path``; ``spec`` as in :class:`RunSpec`."""
    with open_cluster(RunSpec(RunFolder.create(path, mode), MODES[mode], **spec)) as cluster:
        yield cluster
