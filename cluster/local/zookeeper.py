"""The run's ZooKeeper: one plain process whose transaction log is evidence."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from cluster.answers import listening
from cluster.configuration import java_properties, zookeeper_properties
from cluster.local.archives import ZOOKEEPER as ROLE
from cluster.local.jvm import JavaProgram
from cluster.local.ladder import Rung
from cluster.local.process import Launch, LocalProcess
from cluster.local.site import Site
from protocol.addresses import ZOOKEEPER

MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_ASK_TIMEOUT_S = 1.0


class LocalZooKeeper(LocalProcess):
    """ZooKeeper; its data, and so its transaction log, is in ``data``."""

    def __init__(self, site: Site) -> None:
        super().__init__(ZOOKEEPER, site.folder(ZOOKEEPER), site.keeper, site.events)
        self._site = site
        self.address = site.addresses.direct(ZOOKEEPER)

    def _launch(self, boot: int) -> Launch:
        (self.folder / "data").mkdir(exist_ok=True)
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
