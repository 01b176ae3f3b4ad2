"""The run's ZooKeeper: one process whose transaction log is evidence."""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cluster import offline
from cluster.answers import listening
from cluster.configuration import java_properties, zookeeper_properties
from cluster.interface import ProcessState
from cluster.metadata import NEW_CLUSTER
from cluster.servers.jvm import JavaProgram
from cluster.servers.ladder import Rung
from cluster.servers.process import OwnedProcess
from cluster.servers.programs import ZOOKEEPER as ROLE
from cluster.servers.runner import Launch
from cluster.servers.site import Site
from cluster.servers.snapshots import Snapshots
from protocol.addresses import ZOOKEEPER
from protocol.errors import ServerError

MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_DATA = "data"
_ASK_TIMEOUT_S = 1.0


class ZooKeeperServer(OwnedProcess):
    """ZooKeeper; its data, and so the transaction log of its present life, is in ``data``."""

    def __init__(self, site: Site) -> None:
        super().__init__(ZOOKEEPER, site.folder(ZOOKEEPER), site.runner, site.events)
        self._site = site
        self._snapshots = Snapshots(self.folder / "snapshots")
        self.address = site.addresses.direct(ZOOKEEPER)

    def places(self) -> Mapping[str, Path]:
        """Where its snapshots and its log are."""
        return {_DATA: self.folder / _DATA}

    def snapshot(self, name: str) -> Path:
        """Copy its data as they are now; what it has acknowledged is in them, for it is logged before."""
        return self._snapshots.take(name, self.places())

    def snapshots(self) -> Mapping[str, Path]:
        """The copies by their names."""
        return self._snapshots.all()

    def put_back(self, to: str | None, *, new_cluster: bool = False) -> Mapping[str, Any]:
        """Exchange its content; see :class:`cluster.interface.ZooKeeper`."""
        with self._order:
            if self.state is not ProcessState.DOWN:
                raise ServerError(f"{self.name} is {self.state}, and its content is its own until it is down")
            copy = None if to is None else self._snapshots.all()[to] / _DATA
            return offline.put_back(
                self.folder,
                self._site.spec.version_of(ZOOKEEPER),
                copy=copy,
                nodes=NEW_CLUSTER if new_cluster else {},
                at_ns=time.monotonic_ns(),
            )

    def _launch(self, boot: int) -> Launch:
        (self.folder / _DATA).mkdir(exist_ok=True)
        conf = self.folder / "zookeeper.conf"
        conf.write_text(java_properties(zookeeper_properties(folder=str(self.folder), address=self.address)))
        program = JavaProgram(MAIN, self._site.spec.version_of(ZOOKEEPER), self.folder, boot, ROLE)
        return self._site.launch(program, [str(conf)])

    def _rungs(self) -> Sequence[Rung]:
        return (Rung("listening", lambda: listening(self.address)), Rung("answering", self._answers))

    def _answers(self) -> bool:
        """Whether ``srvr`` is answered by a server that serves; a starting one says that it does not."""
        try:
            with socket.create_connection(self.address, timeout=_ASK_TIMEOUT_S) as connection:
                connection.sendall(b"srvr")
                return b"Mode:" in _all(connection)
        except OSError:
            return False


def _all(connection: socket.socket) -> bytes:
    parts = b""
    while part := connection.recv(4096):
        parts += part
    return parts
