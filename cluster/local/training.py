"""Filling the class-data archives: one short cluster whose JVMs write what they loaded as they end.

Takes some seconds, once per JVM and release. Never needed: a cluster starts without archives
too, only slower. So no failure here fails a run.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from cluster.commands import within
from cluster.local import archives
from cluster.servers.client import Client
from cluster.servers.cluster import Cluster
from cluster.servers.runner import BOOKIE, CLIENT, ZOOKEEPER
from cluster.servers.settings import RunSpec
from evidence.folder import RunFolder
from plans.steps import LedgerShape
from protocol.errors import FencepostError
from protocol.java import write_base_archive
from protocol.modes import MODES

Opened = Callable[[RunSpec, archives.Archives], AbstractContextManager[Cluster]]
"""A new cluster whose JVMs use these archives."""

_LOG = logging.getLogger("fencepost.archives")
_TRAINEE = "trainee"
_FAILED: set[tuple[str, frozenset[str]]] = set()
"""Releases for which this process failed: a machine that is busy now will be busy for the next scenario."""


def train_missing(version: str, opened: Opened) -> bool:
    """Create missing archives of a release unless another process does so; returns whether all exist."""
    if not archives.missing(version):
        return True
    with archives.training_turn(version) as folder:
        roles = archives.missing(version)
        if folder is None or not roles or not write_base_archive():
            return not roles
        _LOG.info("preparing faster starts of BookKeeper %s (once)", version)
        for part in (frozenset({BOOKIE, ZOOKEEPER}), frozenset({CLIENT})):
            if part & set(roles) and (version, part) not in _FAILED:
                _try_to_train(version, part, folder, opened)
    return not archives.missing(version)


def _try_to_train(version: str, roles: frozenset[str], folder: Path, opened: Opened) -> None:
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".training-") as scratch:
            _train(version, roles, Path(scratch), opened)
    except (FencepostError, OSError) as error:
        _FAILED.add((version, roles))
        _LOG.warning("no class-data archives for BookKeeper %s: %s", version, error)


def _train(version: str, roles: frozenset[str], scratch: Path, opened: Opened) -> None:
    trained = archives.TrainedArchives(scratch, roles)
    spec = RunSpec(
        RunFolder.create(scratch, "protected"),
        MODES["protected"],
        bookies=1,
        clients=(_TRAINEE,) if CLIENT in roles else (),
        version=version,
        linked=False,
        observed=False,
        stop_timeout_s=180,  # writing an archive takes seconds
    )
    with opened(spec, trained) as cluster:
        for client in cluster.clients.values():
            _exercise(client)
    for role in roles:
        archives.keep(version, role, trained.made(role))


def _exercise(client: Client) -> None:
    """A little of everything that a client does often."""
    commands = within(client, 120)
    commands.create("h", LedgerShape(ensemble=1, write_quorum=1, ack_quorum=1))
    commands.append("h", 100, entry_bytes=1024, outstanding=10)
    commands.read("h", 0, 99)
    commands.close("h")
