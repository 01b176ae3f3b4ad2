"""Filling the class-data archives: one short cluster whose JVMs write what they loaded as they end.

Takes about ten seconds, once per JVM and release. Never needed: a cluster starts without archives
too, only slower. So no failure here fails a run.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from cluster.local import archives
from cluster.local.settings import LocalSpec
from evidence.folder import RunFolder
from protocol.errors import FencepostError
from protocol.modes import MODES

_LOG = logging.getLogger("fencepost.archives")
_TRAINEE = "trainee"


def train_missing(version: str) -> bool:
    """Make the archives of a release if some are missing and nobody else is at it; whether all are there."""
    if not archives.missing(version):
        return True
    with archives.training_turn(version) as folder:
        roles = archives.missing(version)
        if folder is None or not roles:
            return not roles
        _LOG.info("preparing faster starts of BookKeeper %s (once)", version)
        try:
            with tempfile.TemporaryDirectory(dir=folder, prefix=".training-") as scratch:
                _train(version, roles, Path(scratch))
        except (FencepostError, OSError) as error:
            _LOG.warning("no class-data archives for BookKeeper %s: %s", version, error)
    return not archives.missing(version)


def _train(version: str, roles: list[str], scratch: Path) -> None:
    from cluster.local.backend import LocalBackend  # which trains before it opens

    trained = archives.TrainedArchives(scratch)
    with_client = archives.CLIENT in roles
    spec = LocalSpec(
        RunFolder.create(scratch, "protected"),
        MODES["protected"],
        bookies=1,
        clients=(_TRAINEE,) if with_client else (),
        version=version,
        linked=False,
        observed=False,
        stop_timeout_s=60,  # writing an archive takes seconds
    )
    with LocalBackend(spec, archives=trained).open() as cluster:
        if with_client:
            client = cluster.clients[_TRAINEE]
            quorums = {"ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
            for do, parameters in (
                ("create", {"handle": "h", **quorums}),
                ("append", {"handle": "h", "entries": 100, "entry_bytes": 1024, "outstanding": 10}),
                ("read", {"handle": "h", "first": 0, "last": 99}),
                ("close", {"handle": "h"}),
            ):
                client.call(do, timeout_s=30, **parameters)
    for role in roles:
        archives.keep(version, role, trained.made(role))
