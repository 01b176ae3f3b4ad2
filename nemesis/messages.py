"""Faults of single messages on one link: drop, hold, delay, duplicate, forge or garble matching messages.

Each is a rule at the proxy. It waits for a matching message from its injection on and is confirmed by
its counter: when it has acted at least once. Several may be on one link; they are ordered by injection,
and the first that acts on a message wins. They do not exclude cut, slow and similar faults of the link.
A hold without any criterion is a silent link (:class:`nemesis.links.Silence`).

A criterion that is left out matches every message of the link that goes that way. An answer has
the kind, the ledger and the entry of its request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from cluster.interface import Cluster
from cluster.messages import Action, Rule, RuleState, Way
from evidence.codes import Message, Status
from nemesis.links import Link, Silence, assert_link
from nemesis.registry import CountingFault, Fault, FaultContext, Proof, register
from plans.grammar.names import (
    PLACEHOLDERS,
    BookieName,
    DestinationName,
    LedgerName,
    Nameable,
    names_in,
    one_of,
)
from protocol.addresses import is_bookie
from protocol.errors import FencepostError, UsageError

_SEED_BITS = 63
_MOST_DELAY_MS = 3_600_000


KINDS = tuple(kind.name.lower() for kind in Message)
STATUSES = tuple(status.name for status in Status if status is not Status.NONE)
_WITHOUT_ENTRY = ("fencing_lac_read", "force", "lac_read", "write_lac")


KindName = Annotated[
    str, one_of("kind of message", KINDS), WithJsonSchema({"enum": list(KINDS), "type": "string"})
]
StatusName = Annotated[
    str, one_of("status", STATUSES), WithJsonSchema({"enum": list(STATUSES), "type": "string"})
]


class Criteria(Nameable, Link):
    """Selects messages of a link, and holds the name that the plan gives the fault.

    ``may_idle`` says that the run proves enough even when no such message was sent; inside chaos,
    whose traffic is unpredictable, it is true unless the plan says otherwise.
    """

    kinds: tuple[KindName, ...] = ()
    ledger: LedgerName | None = None
    entries: tuple[int, int] | None = None
    statuses: tuple[StatusName, ...] = ()
    occurrences: tuple[int, int] | None = None
    probability: float | None = Field(default=None, gt=0, le=1)
    may_idle: bool | None = None

    @property
    def ways(self) -> tuple[Way, ...]:
        """The ways that are meant, one by one."""
        return Way(getattr(self, "way", Way.REQUESTS)).each

    @field_validator("entries", "occurrences")
    @classmethod
    def _first_then_last(cls, value: tuple[int, int] | None, info: ValidationInfo) -> tuple[int, int] | None:
        lowest = 0 if info.field_name == "entries" else 1
        if value is not None and not lowest <= value[0] <= value[1]:
            raise ValueError(f"[{value[0]}, {value[1]}] must be [first, last] with {lowest} <= first <= last")
        return value

    @field_validator("may_idle")
    @classmethod
    def _idle_in_chaos(cls, value: bool | None, info: ValidationInfo) -> bool:
        return names_in(info).chaos if value is None else value

    @model_validator(mode="after")
    def _no_contradiction(self) -> Self:
        bare = [kind for kind in self.kinds if kind in _WITHOUT_ENTRY]
        if self.entries is not None and bare:
            raise ValueError(f"messages of kind `{bare[0]}` name no entry, so `entries` would match none")
        if self.statuses and self.ways != (Way.ANSWERS,):
            raise ValueError("only answers have a status: say `way: answers` with `statuses`")
        return self


def given_criteria(values: Mapping[str, object]) -> dict[str, object]:
    """Of the values of a model's fields, the criteria that select some messages only."""
    names = ("kinds", "ledger", "entries", "statuses", "occurrences", "probability")
    return {name: value for name in names if (value := values.get(name)) not in (None, ())}


class MessageFault(Criteria, CountingFault):
    """A rule on messages of one link; its kind is the rule's action."""

    def assert_available(self, cluster: Cluster) -> None:
        assert_link(self.pair, cluster.links)
        if not cluster.links.filters(*self.pair):
            raise UsageError(f"{self.target_name} understands no messages on this backend")

    @property
    def waits(self) -> bool:
        return not self.may_idle

    def inject(self, context: FaultContext) -> Proof:
        name = self.name or f"{self.kind}-{context.number}"
        links = context.cluster.links
        put: list[RuleState] = []
        try:
            for way in self.ways:
                put.append(links.put_rule(*self.pair, self._rule(self._id(name, way), way, context)))
        except FencepostError:
            for state in put:
                links.remove_rule(*self.pair, state.id)
            raise
        return self._proof(name, put)

    def confirm(self, context: FaultContext) -> Proof:
        return self.acted(context)

    def acted(self, context: FaultContext) -> Proof:
        name, links = context.injected["rule"], context.cluster.links
        return self._proof(name, [links.rule(*self.pair, self._id(name, way)) for way in self.ways])

    def heal(self, context: FaultContext) -> Proof:
        if not context.injected:  # It broke off, and left no rule.
            return {}
        name, links = context.injected["rule"], context.cluster.links
        # Answers first, so that answers to requests that are let go now are not kept back.
        gone = [links.remove_rule(*self.pair, self._id(name, way)) for way in reversed(self.ways)]
        return self._proof(name, gone[::-1])

    def _id(self, name: str, way: Way) -> str:
        return name if len(self.ways) == 1 else f"{name}.{way}"

    def _rule(self, rule: str, way: Way, context: FaultContext) -> Rule:
        first, last = self.occurrences or (1, 0)
        return Rule(
            id=rule,
            way=way,
            action=Action(self.kind),
            kinds=self.kinds,
            ledger=None if self.ledger is None else context.ledger(self.ledger),
            entries=self.entries,
            statuses=self.statuses,
            first=first,
            last=last,
            probability=self.probability,
            seed=context.random(f"fault/{context.number}/{way}").getrandbits(_SEED_BITS),
            delay_ms=getattr(self, "delay_ms", 0),
            status=getattr(self, "status", ""),
        )

    def _proof(self, name: str, states: Sequence[RuleState]) -> Proof:
        """What the fault's rules (one for each way) have done; ``number`` finds them in the wire log."""
        numbers = [state.number for state in states]
        return {
            "rule": name,
            "number": numbers[0] if len(numbers) == 1 else numbers,
            "link": self.target_name,
            "matched": sum(state.matched for state in states),
            "acted": sum(state.acted for state in states),
            "released": sum(state.released for state in states),
        }


class Filter(MessageFault):
    """Messages of one way of a link to a bookie."""

    destination: BookieName = Field(alias="to")
    way: Literal["requests", "answers"] = "requests"


@register
class Drop(Filter):
    """Drop messages of a link."""

    kind = "drop"


@register
class Hold(MessageFault):
    """Hold back messages of a link, or all traffic, in one direction or both, until healed.

    Messages behind a held one pass. Without criteria the link is silent and ``way`` is ``both``, else
    ``requests``, when the plan does not say. What was kept back goes on when it is healed, unless its
    connection was closed meanwhile; on a link to ZooKeeper it is lost.
    """

    kind = "hold"
    destination: DestinationName = Field(alias="to")
    way: Way | None = None

    @field_validator("way")
    @classmethod
    def _usual_way(cls, value: Way | None, info: ValidationInfo) -> Way:
        return value or (Way.REQUESTS if given_criteria(info.data) else Way.BOTH)

    @model_validator(mode="after")
    def _understood(self) -> Self:
        if not self.whole and not is_bookie(self.destination) and self.destination not in PLACEHOLDERS:
            raise ValueError(
                f"messages to {self.destination} are indistinguishable; hold the whole link, or name a bookie"
            )
        return self

    @property
    def whole(self) -> bool:
        """Whether all messages of the link are meant, so that it is silent."""
        return not given_criteria(dict(self))

    @property
    def acting(self) -> Fault:
        if not self.whole:
            return self
        return Silence.model_construct(source=self.source, destination=self.destination, way=self.way)


@register
class Delay(Filter):
    """Delay messages of a link by ``delay_ms``, while later ones pass."""

    kind = "delay"
    delay_ms: int = Field(ge=1, le=_MOST_DELAY_MS)


@register
class Duplicate(Filter):
    """Deliver messages of a link twice."""

    kind = "duplicate"


@register
class Forge(Filter):
    """Answer requests with an error instead of the bookie.

    Such a request never reaches the bookie. With ``way: answers`` its answer is replaced by one with
    ``status``.
    """

    kind = "forge"
    status: StatusName
    kinds: tuple[KindName, ...] = Field(min_length=1)

    @field_validator("kinds")
    @classmethod
    def _answerable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if "other" in value:
            raise ValueError("messages of kind `other` cannot be forged")
        return value

    @field_validator("status")
    @classmethod
    def _error(cls, value: str) -> str:
        if value == Status.EOK.name:
            raise ValueError("`EOK` cannot be forged, for an answer without an error has content")
        return value


@register
class Garble(Filter):
    """Flip a bit of entries on their way to a bookie, after the client has computed their checksum."""

    kind = "garble"
    way: Literal["requests"] = "requests"
    kinds: tuple[KindName, ...] = ("add",)

    @field_validator("kinds")
    @classmethod
    def _bring_an_entry(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        allowed = {"add", "recovery_add"}
        if not value or not set(value) <= allowed:
            raise ValueError(f"only messages of kind `add` and `recovery_add` can be garbled, not {value}")
        return value
