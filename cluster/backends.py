"""The backends by name. Each is imported on first use, so that only its users load an engine's SDK."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Protocol

from cluster.processes.settings import RunSpec
from cluster.servers.cluster import Cluster
from protocol.errors import UsageError

NAMES = ("local", "docker")


class Backend(Protocol):
    """One way to run a cluster on this machine; a module ``cluster/<name>/backend.py``."""

    network: str
    """First number of all its addresses, as ``run.json`` has them before one is leased."""

    def prepare(self, versions: Sequence[str], results: Path) -> None:
        """Make sure that clusters of these releases can run with folders below ``results``.

        Raises ``PrerequisiteError`` with what is missing.
        """
        ...

    def open_cluster(self, spec: RunSpec) -> AbstractContextManager[Cluster]:
        """A context manager with a new cluster, which is ready inside and removed at the end."""
        ...


def backend(name: str) -> Backend:
    """The backend of that name; ``UsageError`` for an unknown name."""
    if name not in NAMES:
        there = " and ".join(f"`{one}`" for one in NAMES)
        raise UsageError(f"backend {name!r} does not exist; there are {there}", remedy="leave --backend out")
    found: Backend = import_module(f"cluster.{name}.backend")
    return found
