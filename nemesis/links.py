"""Faults of whole links: cut, silence, slow one link; isolate all links of one server.

The observer's links are never faulted, so an isolated server is still seen by it. Each fault is
confirmed by the proxy's report on the link afterwards.

Slowing a link waits until the receiver has read the data in transit, and so does a hold of a link that
understands no messages (to ZooKeeper). With a paused receiver this and all later requests would wait
forever: these faults are refused while an end is paused, and slowness is healed after pauses. Cutting is
always possible, and so is holding a link that understands messages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from cluster.interface import CanFilter, Cluster, Links, LinkState, ProcessState, Way
from cluster.messages import HOLDING
from nemesis.registry import FaultContext, HealOrder, Proof, register
from plans.names import DestinationName, Params, ServerName, SourceName
from protocol.addresses import OBSERVER, link_name
from protocol.errors import FaultError, LinkError, UsageError

Pair = tuple[str, str]
_SOUND = LinkState(cut=False, held=(), latency_ms=0, rate_bytes_per_s=0)


class Link(Params):
    """One link, from a client or bookie to a bookie or ZooKeeper."""

    source: SourceName = Field(alias="from")
    destination: DestinationName = Field(alias="to")

    @model_validator(mode="after")
    def _two_ends(self) -> Self:
        if self.source == self.destination and "-" not in self.source:
            raise ValueError(f"`{self.source}` has no link to itself")
        return self


class SlowLink(Link):
    """One link and its slowness, the same each way."""

    latency_ms: int = Field(default=0, ge=0)
    rate_bytes_per_s: int = Field(default=0, ge=0, multiple_of=1000)

    @model_validator(mode="after")
    def _some_slowness(self) -> Self:
        if not (self.latency_ms or self.rate_bytes_per_s):
            raise ValueError("nothing would be slow: give latency_ms or rate_bytes_per_s above 0")
        return self


class Island(Params):
    """One server or client, and how its links end: refused (cut) or silent (hold)."""

    target: ServerName
    by: Literal["cut", "hold"] = "cut"


class _LinkFault(ABC):
    """The common part; each fault defines its links, its action, and the state that confirms it."""

    name: str
    supersedes: frozenset[str] = frozenset()

    @abstractmethod
    def waits_for_receivers(self, params: Any, links: Links, pair: Pair) -> bool:
        """Whether the request for one link waits until the data in transit was read."""

    def pairs(self, params: Any, links: Links) -> Sequence[Pair]:  # noqa: ARG002  # isolate asks the links
        return [(params.source, params.destination)]

    @abstractmethod
    def apply(self, params: Any, links: Links, pair: Pair) -> None:
        """Give the order for one link."""

    @abstractmethod
    def took(self, params: Any, state: LinkState) -> bool:
        """Whether a link in that state shows the fault."""

    def available(self, params: Any, cluster: Cluster) -> str | None:
        pairs = self.pairs(params, cluster.links)
        if not pairs:
            return f"{params.target} has no links that may be faulted"
        for pair in pairs:
            if refusal := no_such_link(pair, cluster.links):
                return refusal
        waiting = [pair for pair in pairs if self.waits_for_receivers(params, cluster.links, pair)]
        return _paused_end(waiting, cluster)

    def target(self, params: Any) -> str:
        return link_name(params.source, params.destination)

    def claims(self, params: Any, cluster: Cluster) -> frozenset[str]:
        return frozenset(link_name(*pair) for pair in self.pairs(params, cluster.links))

    def heal_order(self, params: Any) -> HealOrder:  # noqa: ARG002  # the protocol's
        return HealOrder.LINKS

    def inject(self, params: Any, cluster: Cluster, context: FaultContext) -> Proof:  # noqa: ARG002
        pairs = self.pairs(params, cluster.links)
        for pair in pairs:
            self.apply(params, cluster.links, pair)
        return {"links": [link_name(*pair) for pair in pairs]}

    def confirm(self, params: Any, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        states = self._states(params, cluster)
        for name, state in states.items():
            if not self.took(params, state):
                raise FaultError(f"{self.name} {name} did not take effect; the proxy says {state}")
        return {name: asdict(state) for name, state in states.items()}

    def heal(self, params: Any, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        errors = []
        for pair in self.pairs(params, cluster.links):
            try:
                cluster.links.heal(*pair)
            except LinkError as error:
                errors.append(str(error))
        if errors:
            raise FaultError("; ".join(errors))
        states = self._states(params, cluster)
        for name, state in states.items():
            if state != _SOUND:
                raise FaultError(f"{name} is not healed of {self.name}; the proxy says {state}")
        return {"links": list(states)}

    def _states(self, params: Any, cluster: Cluster) -> dict[str, LinkState]:
        pairs = self.pairs(params, cluster.links)
        return {link_name(*pair): cluster.links.state(*pair) for pair in pairs}


class _Cut(_LinkFault):
    """Connections are closed, new ones refused."""

    name = "cut"
    about = "close a link's connections and refuse new ones"
    params: type[BaseModel] = Link

    def waits_for_receivers(self, params: Any, links: Links, pair: Pair) -> bool:  # noqa: ARG002
        return False

    def apply(self, params: Any, links: Links, pair: Pair) -> None:  # noqa: ARG002
        links.cut(*pair)

    def took(self, params: Any, state: LinkState) -> bool:  # noqa: ARG002
        return state.cut


class Silence(_LinkFault):
    """A silent partition: connections stay open, nothing is forwarded. ``hold`` for a whole link."""

    name = "hold"

    def waits_for_receivers(self, params: Any, links: Links, pair: Pair) -> bool:  # noqa: ARG002
        """True where toxiproxy itself holds."""
        return not _understands_messages(links, pair)

    def apply(self, params: Any, links: Links, pair: Pair) -> None:
        """Hold one way or both."""
        links.hold(*pair, params.way)

    def took(self, params: Any, state: LinkState) -> bool:
        """Exactly the wanted ways are held."""
        wanted = {Way.REQUESTS, Way.ANSWERS} if params.way is Way.BOTH else {params.way}
        return set(state.held) == wanted

    def acted(self, params: Any, cluster: Cluster, injected: Proof) -> Proof:  # noqa: ARG002
        """Number of messages it has kept back, where the link understands messages."""
        pair, links = (params.source, params.destination), cluster.links
        if not isinstance(links, CanFilter) or not links.filters(*pair):
            raise UsageError(f"{link_name(*pair)} counts no messages; only links to bookies do")
        ways = (Way.REQUESTS, Way.ANSWERS) if params.way is Way.BOTH else (params.way,)
        return {"acted": sum(links.rule(*pair, HOLDING[way].id).acted for way in ways)}


class _Slow(_LinkFault):
    """A link with latency or a limited rate."""

    name = "slow"
    about = "delay a link in each direction, or limit its rate"
    params: type[BaseModel] = SlowLink

    def waits_for_receivers(self, params: Any, links: Links, pair: Pair) -> bool:  # noqa: ARG002
        return True

    def heal_order(self, params: Any) -> HealOrder:  # noqa: ARG002
        return HealOrder.SLOWNESS

    def heal(self, params: Any, cluster: Cluster, injected: Proof) -> Proof:
        paused = _paused_end(self.pairs(params, cluster.links), cluster)
        if paused:
            raise FaultError(paused)
        return super().heal(params, cluster, injected)

    def apply(self, params: Any, links: Links, pair: Pair) -> None:
        links.slow(*pair, latency_ms=params.latency_ms, rate_bytes_per_s=params.rate_bytes_per_s)

    def took(self, params: Any, state: LinkState) -> bool:
        return (state.latency_ms, state.rate_bytes_per_s) == (params.latency_ms, params.rate_bytes_per_s)


class _Isolate(_LinkFault):
    """An island: all links from and to one server or client."""

    name = "isolate"
    about = "cut or hold every link to and from one server"
    params: type[BaseModel] = Island

    def waits_for_receivers(self, params: Any, links: Links, pair: Pair) -> bool:
        return params.by == "hold" and not _understands_messages(links, pair)

    def pairs(self, params: Any, links: Links) -> Sequence[Pair]:
        return [pair for pair in links.pairs() if params.target in pair and pair[0] != OBSERVER]

    def target(self, params: Any) -> str:
        return str(params.target)

    def apply(self, params: Any, links: Links, pair: Pair) -> None:
        if params.by == "cut":
            links.cut(*pair)
        else:
            links.hold(*pair, Way.BOTH)

    def took(self, params: Any, state: LinkState) -> bool:
        return state.cut if params.by == "cut" else set(state.held) == {Way.REQUESTS, Way.ANSWERS}


def no_such_link(pair: Pair, links: Links) -> str | None:
    """Why no fault can hit this link (it is the observer's, or does not exist), or None."""
    if pair[0] == OBSERVER:
        return "links of the observer are never faulted"
    if pair not in links.pairs():
        return f"there is no link {link_name(*pair)}"
    return None


def _understands_messages(links: Links, pair: Pair) -> bool:
    return isinstance(links, CanFilter) and links.filters(*pair)


def _paused_end(pairs: Sequence[Pair], cluster: Cluster) -> str | None:
    for name in sorted({end for pair in pairs for end in pair}):
        if cluster.process(name).state is ProcessState.PAUSED:
            return f"{name} is paused and reads nothing; do it before the pause or after the resume"
    return None


register(_Cut())
register(_Slow())
register(_Isolate())
