"""Faults of the metadata store: its content, emptied or put back to a copy, and a bookie's session with it.

To change its content the store has to be down; the next start begins with the other content. Such a fault is
permanent: healing restores nothing. The store keeps its previous log, because it is evidence.

A session expires while the bookie keeps running: its link to the store is cut until the store no longer lists
it as registered. Restoring the link ends the fault, and then the bookie has to register again on its own.

Independent of BookKeeper's paths and of how servers and clients react to the change.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from typing import ClassVar, Literal

from pydantic import Field

from cluster.interface import Cluster, ProcessState, ZooKeeper
from nemesis.links import assert_link
from nemesis.registry import (
    BookieFault,
    FaultContext,
    HealOrder,
    Proof,
    assert_still_down,
    await_effect,
    register,
)
from nemesis.storage import Tampering
from plans.grammar.names import GivenFault
from protocol.addresses import ZOOKEEPER, link_name
from protocol.errors import FaultError, UsageError


class Exchange(Tampering):
    """A fault of the store's content: the store has to be down, and starts again with other content."""

    heal_order: ClassVar[HealOrder] = HealOrder.METADATA
    stays = "the content stays as it was put"

    @abstractmethod
    def put_back(self, store: ZooKeeper) -> Mapping[str, object]:
        """Give the store its other content; the facts of :meth:`ZooKeeper.put_back`."""

    @property
    def target_name(self) -> str:
        return ZOOKEEPER

    def assert_available(self, cluster: Cluster) -> None:
        state = cluster.zookeeper.state
        if state is not ProcessState.DOWN:
            raise UsageError(
                f"{ZOOKEEPER} is {state}, and its content can be changed only while it is down",
                remedy="kill it first",
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
            raise FaultError(f"{ZOOKEEPER} has the same content as before: no transaction was undone")
        return {"undone_transactions": undone}


@register
class WipeMetadata(Exchange):
    """Empty the stopped ZooKeeper: all ledgers, cookies and registrations are gone.

    ``leave: cluster`` leaves what a new cluster has before its first bookie, so that bookies can register. In
    an empty store they cannot, and end by themselves, which is no unplanned death then. Healing restores
    nothing.
    """

    kind = "wipe_metadata"
    leave: Literal["nothing", "cluster"] = "nothing"

    def put_back(self, store: ZooKeeper) -> Mapping[str, object]:
        return store.put_back(None, new_cluster=self.leave == "cluster")

    def inject(self, context: FaultContext) -> Proof:
        done = super().inject(context)
        if self.leave == "nothing":
            # Without the folder of registrations a bookie cannot register again, and shuts down.
            for bookie in context.cluster.bookies.values():
                if bookie.state is not ProcessState.DOWN:
                    bookie.allow_end(context.number)
        return done


@register
class RestoreMetadata(Exchange):
    """Restore a snapshot of the stopped ZooKeeper: metadata goes back in time, or forth again."""

    kind = "restore_metadata"
    to: GivenFault

    def assert_available(self, cluster: Cluster) -> None:
        super().assert_available(cluster)
        if self.to not in cluster.zookeeper.snapshots():
            raise UsageError(f"{ZOOKEEPER} has no snapshot {self.to!r}")

    def put_back(self, store: ZooKeeper) -> Mapping[str, object]:
        return store.put_back(self.to)


@register
class Expire(BookieFault):
    """Cut a bookie off from ZooKeeper until its session there has expired.

    That may take ``timeout_s``. The link stays cut; healing waits ``ready_timeout_s`` at most until the
    bookie has registered again.
    """

    kind = "expire"
    timeout_s: float = Field(default=60, gt=0)
    ready_timeout_s: float = Field(default=120, gt=0)

    def assert_available(self, cluster: Cluster) -> None:
        assert_link((self.target, ZOOKEEPER), cluster.links)
        if self.target not in cluster.metadata.registered():
            raise UsageError(f"{self.target} is not registered, so it has no session that could expire")

    @property
    def occupies(self) -> frozenset[str]:
        return frozenset({link_name(self.target, ZOOKEEPER)})

    def inject(self, context: FaultContext) -> Proof:
        """The link is down until the session is over, and stays down until it is healed."""
        context.cluster.links.cut(self.target, ZOOKEEPER)
        _await_registration(self.target, context.cluster, registered=False, timeout_s=self.timeout_s)
        return {"link": link_name(self.target, ZOOKEEPER)}

    def confirm(self, context: FaultContext) -> Proof:
        cluster = context.cluster
        state = cluster.links.state(self.target, ZOOKEEPER)
        if not state.cut:
            raise FaultError(f"{link_name(self.target, ZOOKEEPER)} is not cut; the proxy says {state}")
        if self.target in cluster.metadata.registered():
            raise FaultError(f"{self.target} is registered again although its link is cut")
        process = cluster.process(self.target)
        return {**asdict(state), "registered": False, "boot": process.boot, "state": str(process.state)}

    def heal(self, context: FaultContext) -> Proof:
        cluster = context.cluster
        cluster.links.heal(self.target, ZOOKEEPER)
        alive = cluster.process(self.target).state is ProcessState.RUNNING
        if alive and cluster.process(ZOOKEEPER).state is ProcessState.RUNNING:
            _await_registration(self.target, cluster, registered=True, timeout_s=self.ready_timeout_s)
        return {"registered": self.target in cluster.metadata.registered()} if alive else {}


def _await_registration(bookie: str, cluster: Cluster, *, registered: bool, timeout_s: float) -> None:
    wanted = "registered" if registered else "no longer registered"

    def reached() -> tuple[bool, str]:
        there = bookie in cluster.metadata.registered()
        if registered and cluster.process(bookie).state is ProcessState.DOWN:
            raise FaultError(f"{bookie} ended on its own instead of registering again")
        return there == registered, f"{bookie} is {'registered' if there else 'not registered'}"

    await_effect(reached, timeout_s, f"{bookie} to be {wanted}")
