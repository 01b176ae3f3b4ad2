"""The run's ZooKeeper: one process whose transaction log is evidence, and another that may follow it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster.configuration import Properties, java_properties, quorum_properties, zookeeper_properties
from cluster.metadata import NEW_CLUSTER
from cluster.processes.process import ProcessState, Rung, Store
from cluster.processes.runner import ZOOKEEPER as ROLE
from cluster.processes.runner import Launch
from cluster.processes.site import JavaProgram, Site
from cluster.servers import offline
from cluster.servers.answers import listening, reply
from evidence.shapes import Transaction
from protocol.addresses import FOLLOWER, ZOOKEEPER
from protocol.errors import ServerError

MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_DATA = "data"


class ZooKeeper(Store):
    """ZooKeeper; its data, and so the transaction log of its present life, is in ``data``.

    A snapshot of it has all that it has acknowledged, for that is logged before.
    """

    def __init__(self, site: Site, name: str = ZOOKEEPER) -> None:
        super().__init__(name, site)
        self.address = site.addresses.direct(name)

    def places(self) -> Mapping[str, Path]:
        """Where its snapshots and its log are."""
        return {_DATA: self.folder / _DATA}

    def put_back(self, to: str | None, *, new_cluster: bool = False) -> Transaction:
        """Start again with the content of the snapshot ``to``, or with no content; the old log is kept.

        ``new_cluster`` adds the content of a new cluster. The store continues its transaction numbers, so
        that its clients reconnect. Facts: ``life`` (from 2), ``zxid`` of the new content, ``from`` the last
        transaction in it, ``last`` the last transaction before the end, as hexadecimal numbers.
        """
        with self._order:
            if self.state is not ProcessState.DOWN:
                raise ServerError(
                    f"the content of {self.name} can be changed only while it is down, not {self.state}"
                )
            copy = None if to is None else self.snapshots()[to] / _DATA
            nodes = NEW_CLUSTER if new_cluster else {}
            return offline.put_back(
                self.folder, self.version, copy=copy, nodes=nodes, at_ns=time.monotonic_ns()
            )

    def _launch(self, boot: int) -> Launch:
        data = self.folder / _DATA
        data.mkdir(exist_ok=True)
        settings = zookeeper_properties(folder=str(self.folder), address=self.address)
        if self._site.spec.following:
            (data / "myid").write_text("1" if self.name == ZOOKEEPER else "2")
            settings |= self._quorum()
        conf = self.folder / "zookeeper.conf"
        conf.write_text(java_properties(settings))
        return self._site.launch(JavaProgram(MAIN, self.version, self.folder, boot, ROLE), [str(conf)])

    def _quorum(self) -> Properties:
        addresses = self._site.addresses
        votes = self.name == ZOOKEEPER
        leader = addresses.direct(ZOOKEEPER)[0] if votes else addresses.following
        return quorum_properties(leader, addresses.direct(FOLLOWER)[0], votes=votes)

    def _rungs(self) -> Sequence[Rung]:
        return (
            ("listening", lambda: listening(self.address)),
            # A starting server answers too, but says that it does not serve.
            ("answering", lambda: b"Mode:" in reply(self.address, b"srvr")),
        )
