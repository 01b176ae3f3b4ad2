"""Faults of single messages on one link: drop, hold, delay, duplicate, forge or garble matching messages.

Each is a rule at the proxy. It waits for a matching message from its injection on and is confirmed by
its counter: when it has acted at least once. Several may be on one link; they are ordered by injection,
and the first that acts on a message wins. They do not exclude cut, slow and similar faults of the link.
A hold without any criterion is a silent link (:class:`nemesis.links.Silence`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from cluster.interface import CanFilter, Cluster
from cluster.messages import Action, Rule, RuleState, Way
from nemesis.criteria import Criteria, Delayed, Filter, Forged, Garbled, Held
from nemesis.links import Silence, no_such_link
from nemesis.registry import FaultContext, HealOrder, Proof, register
from protocol.addresses import link_name
from protocol.errors import FencepostError, LinkError

_SEED_BITS = 63


class _MessageFault:
    """The common part; the faults differ in their action and its parameters."""

    supersedes: frozenset[str] = frozenset()

    def __init__(self, action: Action, about: str, params: type[BaseModel] = Filter) -> None:
        self.name = str(action)
        self.about = about
        self.params = params
        self._action = action

    def available(self, params: Criteria, cluster: Cluster) -> str | None:
        pair = (params.source, params.destination)
        if refusal := no_such_link(pair, cluster.links):
            return refusal
        if not isinstance(cluster.links, CanFilter) or not cluster.links.filters(*pair):
            return f"{link_name(*pair)} understands no messages on this backend"
        return None

    def target(self, params: Criteria) -> str:
        return link_name(params.source, params.destination)

    def claims(self, params: Criteria, cluster: Cluster) -> frozenset[str]:  # noqa: ARG002  # the protocol's
        return frozenset()

    def heal_order(self, params: Criteria) -> HealOrder:  # noqa: ARG002
        return HealOrder.LINKS

    def waits(self, params: Criteria) -> bool:
        return not params.may_idle

    def inject(self, params: Criteria, cluster: Cluster, context: FaultContext) -> Proof:
        name = params.name or f"{self.name}-{context.number}"
        links, pair = _links(cluster), _pair(params)
        put: list[RuleState] = []
        try:
            for way in params.ways:
                put.append(links.put_rule(*pair, self._rule(params, name, way, context)))
        except FencepostError:
            for state in put:
                links.remove_rule(*pair, state.id)
            raise
        return _proof(params, name, put)

    def confirm(self, params: Criteria, cluster: Cluster, injected: Proof) -> Proof:
        return self.acted(params, cluster, injected)

    def acted(self, params: Criteria, cluster: Cluster, injected: Proof) -> Proof:
        name, links, pair = injected["rule"], _links(cluster), _pair(params)
        return _proof(params, name, [links.rule(*pair, one) for one in _ids(params, name)])

    def heal(self, params: Criteria, cluster: Cluster, injected: Proof) -> Proof:
        if not injected:  # It broke off, and left no rule.
            return {}
        name, links, pair = injected["rule"], _links(cluster), _pair(params)
        # Answers first, so that answers to requests that are let go now are not kept back.
        gone = [links.remove_rule(*pair, one) for one in reversed(_ids(params, name))]
        return _proof(params, name, gone[::-1])

    def _rule(self, params: Any, name: str, way: Way, context: FaultContext) -> Rule:
        first, last = params.occurrences or (1, 0)
        return Rule(
            id=_id(params, name, way),
            way=way,
            action=self._action,
            kinds=params.kinds,
            ledger=None if params.ledger is None else context.ledger(params.ledger),
            entries=params.entries,
            statuses=params.statuses,
            first=first,
            last=last,
            probability=params.probability,
            seed=context.random(f"fault/{context.number}/{way}").getrandbits(_SEED_BITS),
            delay_ms=getattr(params, "delay_ms", 0),
            status=getattr(params, "status", ""),
        )


class _Hold:
    """Messages that match are kept back; without a criterion the whole link is silent."""

    name = "hold"
    about = "hold back messages of a link, or all traffic, in one direction or both, until healed"
    params: type[BaseModel] = Held
    supersedes: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self._some = _MessageFault(Action.HOLD, self.about, Held)
        self._all = Silence()

    def available(self, params: Held, cluster: Cluster) -> str | None:
        return self._life(params).available(params, cluster)

    def target(self, params: Held) -> str:
        return self._some.target(params)

    def claims(self, params: Held, cluster: Cluster) -> frozenset[str]:
        return self._life(params).claims(params, cluster)

    def heal_order(self, params: Held) -> HealOrder:
        return self._some.heal_order(params)

    def waits(self, params: Held) -> bool:
        return not params.whole and self._some.waits(params)

    def inject(self, params: Held, cluster: Cluster, context: FaultContext) -> Proof:
        return self._life(params).inject(params, cluster, context)

    def confirm(self, params: Held, cluster: Cluster, injected: Proof) -> Proof:
        return self._life(params).confirm(params, cluster, injected)

    def acted(self, params: Held, cluster: Cluster, injected: Proof) -> Proof:
        return self._life(params).acted(params, cluster, injected)

    def heal(self, params: Held, cluster: Cluster, injected: Proof) -> Proof:
        return self._life(params).heal(params, cluster, injected)

    def _life(self, params: Held) -> Silence | _MessageFault:
        return self._all if params.whole else self._some


def _pair(params: Criteria) -> tuple[str, str]:
    return params.source, params.destination


def _links(cluster: Cluster) -> CanFilter:
    if not isinstance(cluster.links, CanFilter):
        raise LinkError("the links of this cluster understand no messages")
    return cluster.links


def _id(params: Criteria, name: str, way: Way) -> str:
    return name if len(params.ways) == 1 else f"{name}.{way}"


def _ids(params: Criteria, name: str) -> list[str]:
    return [_id(params, name, way) for way in params.ways]


def _proof(params: Criteria, name: str, states: Sequence[RuleState]) -> Proof:
    """What the fault's rules (one for each way) have done; ``number`` finds them in the wire log."""
    numbers = [state.number for state in states]
    return {
        "rule": name,
        "number": numbers[0] if len(numbers) == 1 else numbers,
        "link": link_name(*_pair(params)),
        "matched": sum(state.matched for state in states),
        "acted": sum(state.acted for state in states),
        "released": sum(state.released for state in states),
    }


register(_MessageFault(Action.DROP, "drop messages of a link"))
register(_Hold())
register(_MessageFault(Action.DELAY, "delay messages of a link, while later ones pass", Delayed))
register(_MessageFault(Action.DUPLICATE, "deliver messages of a link twice"))
register(_MessageFault(Action.FORGE, "answer requests with an error instead of the bookie", Forged))
register(_MessageFault(Action.GARBLE, "flip a bit of entries on their way to a bookie", Garbled))
