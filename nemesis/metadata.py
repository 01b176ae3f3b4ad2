"""Faults of the metadata store's content: emptied, or put back to what it was when a copy was taken.

The store has to be down; the next start begins with the other content. Such a fault is permanent:
healing restores nothing. The store keeps its previous log, because it is evidence. Independent of
BookKeeper's paths and of how servers and clients react to the change.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import BaseModel

from cluster.interface import CanPutBack, CanRefuse, Cluster, ProcessState
from nemesis.registry import FaultContext, HealOrder, Proof, register
from nemesis.storage import Tampering
from plans.names import GivenFault, Params
from protocol.addresses import ZOOKEEPER
from protocol.errors import FaultError


class Emptied(Params):
    """What is left: ``nothing`` at all, or what a new ``cluster`` has before its first bookie."""

    leave: Literal["nothing", "cluster"] = "nothing"
    snapshot: ClassVar[str | None] = None

    @property
    def new_cluster(self) -> bool:
        """Whether the store begins with what a new cluster has."""
        return self.leave == "cluster"


class Restored(Params):
    """The snapshot of the store that is brought back."""

    to: GivenFault
    new_cluster: ClassVar[bool] = False

    @property
    def snapshot(self) -> str:
        """The name of the copy."""
        return self.to


class _Exchange(Tampering):
    """The common part of both: the store has to be down, and starts again with other content."""

    def target(self, params: Any) -> str:  # noqa: ARG002  # the protocol's
        return ZOOKEEPER

    def heal_order(self, params: Any) -> HealOrder:  # noqa: ARG002
        return HealOrder.METADATA

    def available(self, params: Any, cluster: Cluster) -> str | None:
        """Only while it is down."""
        store = cluster.process(ZOOKEEPER)
        if not isinstance(store, CanPutBack):
            return f"the content of {ZOOKEEPER} cannot be exchanged on this backend"
        if store.state is not ProcessState.DOWN:
            return f"{ZOOKEEPER} is {store.state}, and its content is its own until it is down: kill it first"
        wanted = params.snapshot
        return None if wanted in (None, *store.snapshots()) else f"{ZOOKEEPER} has no snapshot {wanted!r}"

    def inject(self, params: Any, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        store: Any = cluster.process(ZOOKEEPER)
        facts = store.put_back(params.snapshot, new_cluster=params.new_cluster)
        return {"boot": store.boot, **{key: facts[key] for key in ("life", "zxid", "from", "last")}}

    def confirm(self, params: Any, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        """Something was undone, and the store was not started meanwhile."""
        store = cluster.process(ZOOKEEPER)
        if store.state is not ProcessState.DOWN or store.boot != injected["boot"]:
            raise FaultError(f"{ZOOKEEPER} is {store.state} in boot {store.boot}: it was started meanwhile")
        undone = int(injected["last"], 16) - int(injected["from"], 16)
        if undone <= 0:
            raise FaultError(f"nothing was written since that, so {ZOOKEEPER} is what it was")
        return {"undone_transactions": undone}

    def heal(self, params: Any, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        """The content is not restored."""
        return {"stays": "the content stays as it was put"}


class _Wipe(_Exchange):
    name = "wipe_metadata"
    about = "empty the stopped ZooKeeper: all ledgers, cookies and registrations are gone"
    params: type[BaseModel] = Emptied

    def inject(self, params: Emptied, cluster: Cluster, context: FaultContext) -> Proof:
        done = super().inject(params, cluster, context)
        if params.leave == "nothing":
            # Without the folder of registrations a bookie cannot register again, and shuts down.
            for bookie in cluster.bookies.values():
                if bookie.state is not ProcessState.DOWN and isinstance(bookie, CanRefuse):
                    bookie.allow_end()
        return done


class _Restore(_Exchange):
    name = "restore_metadata"
    about = "restore a snapshot of the stopped ZooKeeper: metadata goes back in time"
    params: type[BaseModel] = Restored


register(_Wipe())
register(_Restore())
