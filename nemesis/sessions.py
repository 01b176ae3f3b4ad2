"""Expiry of a bookie's ZooKeeper session, while the bookie itself keeps running.

Its link to the store is cut until the store no longer lists the bookie as registered. Restoring the link
ends the fault, and then the bookie has to register again on its own. This fault tests what a bookie does
in between, and whether it registers again.
"""

from __future__ import annotations

from dataclasses import asdict

from pydantic import BaseModel, Field

from cluster.interface import Cluster, ProcessState
from cluster.waiting import wait_until
from nemesis.links import no_such_link
from nemesis.registry import FaultContext, HealOrder, Proof, register
from plans.names import BookieName, Params
from protocol.addresses import ZOOKEEPER, link_name
from protocol.errors import FaultError, NotReadyError


class Expiry(Params):
    """The bookie whose session expires, and the time limits of the expiry and of the new registration."""

    target: BookieName
    timeout_s: float = Field(default=60, gt=0)
    ready_timeout_s: float = Field(default=120, gt=0)


class _Expire:
    """The link is down until the session is over, and stays down until it is healed."""

    name = "expire"
    about = "cut a bookie off from ZooKeeper until its session there has expired"
    params: type[BaseModel] = Expiry
    supersedes: frozenset[str] = frozenset()

    def available(self, params: Expiry, cluster: Cluster) -> str | None:
        if refusal := no_such_link((params.target, ZOOKEEPER), cluster.links):
            return refusal
        if params.target not in cluster.metadata.registered():
            return f"{params.target} is not registered, so it has no session that could expire"
        return None

    def target(self, params: Expiry) -> str:
        return params.target

    def claims(self, params: Expiry, cluster: Cluster) -> frozenset[str]:  # noqa: ARG002  # the protocol's
        return frozenset({link_name(params.target, ZOOKEEPER)})

    def heal_order(self, params: Expiry) -> HealOrder:  # noqa: ARG002
        return HealOrder.LINKS

    def inject(self, params: Expiry, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        cluster.links.cut(params.target, ZOOKEEPER)
        _await(params.target, cluster, registered=False, timeout_s=params.timeout_s)
        return {"link": link_name(params.target, ZOOKEEPER)}

    def confirm(self, params: Expiry, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        state = cluster.links.state(params.target, ZOOKEEPER)
        if not state.cut:
            raise FaultError(f"{link_name(params.target, ZOOKEEPER)} is not cut; the proxy says {state}")
        if params.target in cluster.metadata.registered():
            raise FaultError(f"{params.target} is registered again although its link is cut")
        process = cluster.process(params.target)
        return {**asdict(state), "registered": False, "boot": process.boot, "state": str(process.state)}

    def heal(self, params: Expiry, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        cluster.links.heal(params.target, ZOOKEEPER)
        alive = cluster.process(params.target).state is ProcessState.RUNNING
        if alive and cluster.process(ZOOKEEPER).state is ProcessState.RUNNING:
            _await(params.target, cluster, registered=True, timeout_s=params.ready_timeout_s)
        return {"registered": params.target in cluster.metadata.registered()} if alive else {}


def _await(bookie: str, cluster: Cluster, *, registered: bool, timeout_s: float) -> None:
    wanted = "registered" if registered else "no longer registered"

    def reached() -> tuple[bool, str]:
        there = bookie in cluster.metadata.registered()
        if registered and cluster.process(bookie).state is ProcessState.DOWN:
            raise FaultError(f"{bookie} ended on its own instead of registering again")
        return there == registered, f"{bookie} is {'registered' if there else 'not registered'}"

    try:
        wait_until(reached, timeout_s, f"{bookie} to be {wanted}")
    except NotReadyError as error:
        raise FaultError(str(error)) from error


register(_Expire())
