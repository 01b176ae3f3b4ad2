"""A real cluster of plain processes, a ledger in it, and faults that end with a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.local.backend import open_cluster
from cluster.processes.settings import RunSpec
from cluster.servers.cluster import Cluster
from evidence.folder import RunFolder
from nemesis.nemesis import Nemesis
from protocol.modes import MODES


@contextmanager
def running(path: Path, mode: str = "journal", **spec: Any) -> Iterator[Any]:
    """A cluster in this mode, with its run folder below ``path``; ``spec`` as in :class:`RunSpec`."""
    with open_cluster(RunSpec(RunFolder.create(path, mode), MODES[mode], **spec)) as cluster:
        yield cluster
    assert not cluster.hung


@contextmanager
def healing(nemesis: Nemesis) -> Iterator[Nemesis]:
    """Heal every fault at the end of the block, so that the next test finds a whole cluster."""
    try:
        yield nemesis
    finally:
        nemesis.heal()


def write(cluster: Cluster, entries: int, handle: str = "h") -> int:
    """Let the writer make a ledger with entries that every bookie acknowledged, and leave it open."""
    size = len(cluster.bookies)
    sizes = {"ensemble": size, "write_quorum": size, "ack_quorum": size}
    writer = cluster.clients["writer"]
    made = writer.call("create", timeout_s=60, handle=handle, **sizes)
    assert made["ok"], made
    ledger = int(made["ledger"])
    reply = writer.call(
        "append", timeout_s=60, handle=handle, entries=entries, entry_bytes=100, outstanding=10
    )
    assert reply["acked"] == entries
    return ledger
