"""Faults of whole links: cut, silence, slow one link; isolate all links of one server.

The observer's links are never faulted, so an isolated server is still seen by it. Each fault is
confirmed by the proxy's report on the link afterwards. What it met on links to bookies is part of the proof
of its healing: connections that a cut closed (refused ones are not counted), bytes that were slowed,
messages that were held.

Slowing a link waits until the receiver has read the data in transit, and so does a hold of a link that
understands no messages (to ZooKeeper). With a paused receiver this and all later requests would wait
forever: these faults are refused while an end is paused, and slowness is healed after pauses. Cutting is
always possible, and so is holding a link that understands messages.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from cluster.interface import Cluster, Links, LinkState, ProcessState, Way
from cluster.links import CLEAR, Traffic
from cluster.messages import HOLDING
from nemesis.registry import CountingFault, Fault, FaultContext, HealOrder, Proof, ServerFault, register
from plans.grammar.names import DestinationName, Params, SourceName
from protocol.addresses import OBSERVER, link_name
from protocol.errors import FaultError, FencepostError, UsageError

Pair = tuple[str, str]


class Link(Params):
    """One link, from a client or bookie to a bookie or ZooKeeper."""

    source: SourceName = Field(alias="from")
    destination: DestinationName = Field(alias="to")

    @property
    def pair(self) -> Pair:
        """Its two ends."""
        return self.source, self.destination

    @property
    def target_name(self) -> str:
        """Its name in the evidence."""
        return link_name(*self.pair)

    @model_validator(mode="after")
    def _two_ends(self) -> Self:
        if self.source == self.destination and "-" not in self.source:
            raise ValueError(f"`{self.source}` has no link to itself")
        return self


class LinksFault(Fault):
    """A fault of whole links; each defines its links, its order to them, and the state that confirms it."""

    @abstractmethod
    def pairs(self, links: Links) -> Sequence[Pair]:
        """Its links."""

    @abstractmethod
    def apply(self, links: Links, pair: Pair) -> None:
        """Give the order for one link."""

    @abstractmethod
    def waits_for_receivers(self, links: Links, pair: Pair) -> bool:
        """Whether the order for one link waits until the data in transit was read."""

    @abstractmethod
    def took(self, state: LinkState) -> bool:
        """Whether a link in that state shows the fault."""

    def assert_available(self, cluster: Cluster) -> None:
        pairs = self.pairs(cluster.links)
        if not pairs:
            raise UsageError(f"{self.target_name} has no links that may be faulted")
        waiting = [pair for pair in pairs if self.waits_for_receivers(cluster.links, pair)]
        if reason := _paused_end(waiting, cluster):
            raise UsageError(reason)

    def claims(self, cluster: Cluster) -> frozenset[str]:
        return frozenset(link_name(*pair) for pair in self.pairs(cluster.links))

    @abstractmethod
    def met(self, links: Links, before: Mapping[str, Traffic]) -> Proof:
        """What it has met, of links with this traffic before; all of them count theirs."""

    def inject(self, context: FaultContext) -> Proof:
        links = context.cluster.links
        pairs = self.pairs(links)
        before = {link_name(*pair): links.traffic(*pair) for pair in pairs}
        for pair in pairs:
            self.apply(links, pair)
        return {"links": list(before), "before": {name: one and asdict(one) for name, one in before.items()}}

    def confirm(self, context: FaultContext) -> Proof:
        states = self._states(context.cluster.links)
        for name, state in states.items():
            if not self.took(state):
                raise FaultError(f"{self.kind} {name} did not take effect; the proxy says {state}")
        return {name: asdict(state) for name, state in states.items()}

    def heal(self, context: FaultContext) -> Proof:
        links = context.cluster.links
        met: Proof = {}
        # What it has met is asked first, because healing removes the rules of the links.
        do_each(lambda: met.update(self._met(context)), *(partial(links.heal, *p) for p in self.pairs(links)))
        states = self._states(links)
        for name, state in states.items():
            if state != CLEAR:
                raise FaultError(f"{name} is not healed of {self.kind}; the proxy says {state}")
        return {"links": list(states), **met}

    def _met(self, context: FaultContext) -> Proof:
        """What it has met; nothing after a failed injection, or where a link counts nothing."""
        before = context.injected.get("before", {})
        if not before or None in before.values():
            return {}
        return self.met(context.cluster.links, {name: Traffic(**one) for name, one in before.items()})

    def _states(self, links: Links) -> dict[str, LinkState]:
        return {link_name(*pair): links.state(*pair) for pair in self.pairs(links)}


class LinkFault(Link, LinksFault):
    """A fault of one link."""

    def assert_available(self, cluster: Cluster) -> None:
        assert_link(self.pair, cluster.links)
        super().assert_available(cluster)

    def pairs(self, links: Links) -> Sequence[Pair]:  # noqa: ARG002  # it is always the same
        return [self.pair]


class Partition(LinksFault):
    """A fault by which links carry nothing: connections end, or stay open and are silent."""

    @property
    def silent(self) -> Way | None:
        """The ways that are silent; None where connections are cut."""
        return None

    def apply(self, links: Links, pair: Pair) -> None:
        if self.silent is None:
            links.cut(*pair)
        else:
            links.hold(*pair, self.silent)

    def waits_for_receivers(self, links: Links, pair: Pair) -> bool:
        return self.silent is not None and not links.filters(*pair)

    def met(self, links: Links, before: Mapping[str, Traffic]) -> Proof:
        if self.silent is None:
            return {"closed": sum(one.connections for one in before.values())}
        return _held(links, self.pairs(links), self.silent)

    def took(self, state: LinkState) -> bool:
        return state.cut if self.silent is None else set(state.held) == set(self.silent.each)


@register
class Cut(LinkFault, Partition):
    """Close a link's connections and refuse new ones.

    It ends ``slow`` on the same link, and what the link carries is lost: a server may have executed a request
    whose answer never comes.
    """

    kind = "cut"
    supersedes = frozenset({"slow"})
    """What a slow link carries is lost then: a request was served, and its answer does not come."""


class Silence(LinkFault, Partition, CountingFault):
    """A silent partition: connections stay open, nothing is forwarded. ``hold`` for a whole link."""

    kind = "hold"
    way: Way

    @property
    def silent(self) -> Way:
        return self.way

    def acted(self, context: FaultContext) -> Proof:
        """Number of messages it has kept back, where the link understands messages."""
        links = context.cluster.links
        if not links.filters(*self.pair):
            raise UsageError(f"{self.target_name} counts no messages; only links to bookies do")
        return _held(links, [self.pair], self.way)


@register
class Slow(LinkFault):
    """Delay a link by ``latency_ms`` in each direction, or limit its rate."""

    kind = "slow"
    heal_order: ClassVar[HealOrder] = HealOrder.SLOWNESS
    latency_ms: int = Field(default=0, ge=0)
    rate_bytes_per_s: int = Field(default=0, ge=0, multiple_of=1000)

    @model_validator(mode="after")
    def _some_slowness(self) -> Self:
        if not (self.latency_ms or self.rate_bytes_per_s):
            raise ValueError("nothing would be slow: give latency_ms or rate_bytes_per_s above 0")
        return self

    def apply(self, links: Links, pair: Pair) -> None:
        links.slow(*pair, latency_ms=self.latency_ms, rate_bytes_per_s=self.rate_bytes_per_s)

    def waits_for_receivers(self, links: Links, pair: Pair) -> bool:  # noqa: ARG002  # it always does
        return True

    def met(self, links: Links, before: Mapping[str, Traffic]) -> Proof:
        now = [links.traffic(*pair) for pair in self.pairs(links)]
        passed = sum(one.size_bytes for one in now if one) - sum(one.size_bytes for one in before.values())
        return {"passed_bytes": passed}

    def took(self, state: LinkState) -> bool:
        return (state.latency_ms, state.rate_bytes_per_s) == (self.latency_ms, self.rate_bytes_per_s)

    def heal(self, context: FaultContext) -> Proof:
        if paused := _paused_end([self.pair], context.cluster):
            raise FaultError(paused)
        return super().heal(context)


@register
class Isolate(Partition, ServerFault):
    """Cut or hold every link to and from one server.

    The observer's links to it are left alone.
    """

    kind = "isolate"
    by: Literal["cut", "hold"] = "cut"

    @property
    def silent(self) -> Way | None:
        return None if self.by == "cut" else Way.BOTH

    def pairs(self, links: Links) -> Sequence[Pair]:
        return [pair for pair in links.pairs() if self.target in pair and pair[0] != OBSERVER]


def _held(links: Links, pairs: Sequence[Pair], way: Way) -> Proof:
    """How many messages are or were kept back; only links to bookies count them."""
    held = [links.rule(*pair, HOLDING[one].id) for pair in pairs if links.filters(*pair) for one in way.each]
    return {"acted": sum(rule.acted for rule in held)}


def do_each(*acts: Callable[[], object]) -> None:
    """Do all of it; ``FaultError`` at the end with what failed."""
    errors = []
    for act in acts:
        try:
            act()
        except FencepostError as error:
            errors.append(str(error))
    if errors:
        raise FaultError("; ".join(errors))


def assert_link(pair: Pair, links: Links) -> None:
    """Raise ``UsageError`` if no fault can hit this link: it is the observer's, or does not exist."""
    if pair[0] == OBSERVER:
        raise UsageError("links of the observer are never faulted")
    if pair not in links.pairs():
        raise UsageError(f"there is no link {link_name(*pair)}")


def _paused_end(pairs: Sequence[Pair], cluster: Cluster) -> str | None:
    for name in sorted({end for pair in pairs for end in pair}):
        if cluster.process(name).state is ProcessState.PAUSED:
            return f"{name} is paused and reads nothing; do it before the pause or after the resume"
    return None
