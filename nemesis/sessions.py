"""Expiry of a bookie's ZooKeeper session, while the bookie itself keeps running.

Its link to the store is cut until the store no longer lists the bookie as registered. Restoring the link
ends the fault, and then the bookie has to register again on its own. This fault tests what a bookie does
in between, and whether it registers again.
"""

from __future__ import annotations

from dataclasses import asdict

from pydantic import Field

from cluster.interface import Cluster, ProcessState
from nemesis.links import assert_link
from nemesis.registry import BookieFault, FaultContext, Proof, await_effect, register
from protocol.addresses import ZOOKEEPER, link_name
from protocol.errors import FaultError, UsageError


@register
class Expire(BookieFault):
    """The bookie whose session expires, and the time limits of the expiry and of the new registration."""

    kind = "expire"
    about = "cut a bookie off from ZooKeeper until its session there has expired"
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
        _await(self.target, context.cluster, registered=False, timeout_s=self.timeout_s)
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
            _await(self.target, cluster, registered=True, timeout_s=self.ready_timeout_s)
        return {"registered": self.target in cluster.metadata.registered()} if alive else {}


def _await(bookie: str, cluster: Cluster, *, registered: bool, timeout_s: float) -> None:
    wanted = "registered" if registered else "no longer registered"

    def reached() -> tuple[bool, str]:
        there = bookie in cluster.metadata.registered()
        if registered and cluster.process(bookie).state is ProcessState.DOWN:
            raise FaultError(f"{bookie} ended on its own instead of registering again")
        return there == registered, f"{bookie} is {'registered' if there else 'not registered'}"

    await_effect(reached, timeout_s, f"{bookie} to be {wanted}")
