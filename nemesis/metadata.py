"""Faults of the metadata store's content: emptied, or put back to what it was when a copy was taken.

The store has to be down; the next start begins with the other content. Such a fault is permanent:
healing restores nothing. The store keeps its previous log, because it is evidence. Independent of
BookKeeper's paths and of how servers and clients react to the change.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from cluster.interface import Cluster, ProcessState, ZooKeeper
from nemesis.registry import FaultContext, HealOrder, Proof, assert_still_down, register
from nemesis.storage import Tampering
from plans.names import GivenFault
from protocol.addresses import ZOOKEEPER
from protocol.errors import FaultError, UsageError


class Exchange(Tampering):
    """A fault of the store's content: the store has to be down, and starts again with other content."""

    heal_order: ClassVar[HealOrder] = HealOrder.METADATA
    stays = "the content stays as it was put"

    @abstractmethod
    def put_back(self, store: ZooKeeper) -> Mapping[str, Any]:
        """Give the store its other content; the facts of :meth:`ZooKeeper.put_back`."""

    @property
    def target_name(self) -> str:
        return ZOOKEEPER

    def assert_available(self, cluster: Cluster) -> None:
        state = cluster.zookeeper.state
        if state is not ProcessState.DOWN:
            raise UsageError(
                f"{ZOOKEEPER} is {state}, and its content is its own until it is down: kill it first"
            )

    def inject(self, context: FaultContext) -> Proof:
        store = context.cluster.zookeeper
        facts = self.put_back(store)
        return {"boot": store.boot, **{key: facts[key] for key in ("life", "zxid", "from", "last")}}

    def confirm(self, context: FaultContext) -> Proof:
        """Something was undone, and the store was not started meanwhile."""
        store, injected = context.cluster.zookeeper, context.injected
        assert_still_down(store, injected["boot"])
        undone = int(injected["last"], 16) - int(injected["from"], 16)
        if undone <= 0:
            raise FaultError(f"nothing was written since that, so {ZOOKEEPER} is what it was")
        return {"undone_transactions": undone}


@register
class WipeMetadata(Exchange):
    """What is left: ``nothing`` at all, or what a new ``cluster`` has before its first bookie."""

    kind = "wipe_metadata"
    about = "empty the stopped ZooKeeper: all ledgers, cookies and registrations are gone"
    leave: Literal["nothing", "cluster"] = "nothing"

    def put_back(self, store: ZooKeeper) -> Mapping[str, Any]:
        return store.put_back(None, new_cluster=self.leave == "cluster")

    def inject(self, context: FaultContext) -> Proof:
        done = super().inject(context)
        if self.leave == "nothing":
            # Without the folder of registrations a bookie cannot register again, and shuts down.
            for bookie in context.cluster.bookies.values():
                if bookie.state is not ProcessState.DOWN:
                    bookie.allow_end()
        return done


@register
class RestoreMetadata(Exchange):
    """The snapshot of the store that is brought back."""

    kind = "restore_metadata"
    about = "restore a snapshot of the stopped ZooKeeper: metadata goes back in time"
    to: GivenFault

    def assert_available(self, cluster: Cluster) -> None:
        super().assert_available(cluster)
        if self.to not in cluster.zookeeper.snapshots():
            raise UsageError(f"{ZOOKEEPER} has no snapshot {self.to!r}")

    def put_back(self, store: ZooKeeper) -> Mapping[str, Any]:
        return store.put_back(self.to)
