"""The parameters of faults that act on single messages: which messages, how often, and by what name.

A criterion that is left out matches every message of the link that goes that way. An answer has
the kind, the ledger and the entry of its request.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from cluster.messages import Way
from evidence.codes import Message, Status
from nemesis.links import Link
from plans.names import PLACEHOLDERS, BookieName, DestinationName, LedgerName, Nameable, names_in
from plans.nearest import unknown
from protocol.addresses import is_bookie

KINDS = tuple(kind.name.lower() for kind in Message)
STATUSES = tuple(status.name for status in Status if status is not Status.NONE)
_WITHOUT_ENTRY = ("fencing_lac_read", "force", "lac_read", "write_lac")
_MOST_DELAY_MS = 3_600_000


def _kind(value: str) -> str:
    if value not in KINDS:
        raise ValueError(unknown("kind of message", value, KINDS))
    return value


def _status(value: str) -> str:
    if value not in STATUSES:
        raise ValueError(unknown("status", value, STATUSES))
    return value


KindName = Annotated[str, AfterValidator(_kind), WithJsonSchema({"enum": list(KINDS), "type": "string"})]
StatusName = Annotated[
    str, AfterValidator(_status), WithJsonSchema({"enum": list(STATUSES), "type": "string"})
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
        way = Way(getattr(self, "way", Way.REQUESTS))
        return (Way.REQUESTS, Way.ANSWERS) if way is Way.BOTH else (way,)

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


class Filter(Criteria):
    """Messages of one way of a link to a bookie."""

    destination: BookieName = Field(alias="to")
    way: Literal["requests", "answers"] = "requests"


class Delayed(Filter):
    """Messages that are delayed, and by how much."""

    delay_ms: int = Field(ge=1, le=_MOST_DELAY_MS)


class Forged(Filter):
    """Requests that are answered without the bookie, or answers that are replaced, with an error."""

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


class Garbled(Filter):
    """Adds whose entry reaches the bookie with other bytes than the client gave it."""

    way: Literal["requests"] = "requests"
    kinds: tuple[KindName, ...] = ("add",)

    @field_validator("kinds")
    @classmethod
    def _bring_an_entry(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        allowed = {"add", "recovery_add"}
        if not value or not set(value) <= allowed:
            raise ValueError(f"only messages of kind `add` and `recovery_add` can be garbled, not {value}")
        return value


class Held(Criteria):
    """Messages that are kept back, one way or both; without a criterion all of the link.

    ``way`` is both without a criterion, else requests, when the plan does not say.
    """

    destination: DestinationName = Field(alias="to")
    way: Way | None = None

    @property
    def whole(self) -> bool:
        """Whether all messages of the link are meant, so that it is silent."""
        return not any(_criteria(dict(self)).values())

    @field_validator("way")
    @classmethod
    def _usual_way(cls, value: Way | None, info: ValidationInfo) -> Way:
        return value or (Way.REQUESTS if any(_criteria(info.data).values()) else Way.BOTH)

    @model_validator(mode="after")
    def _understood(self) -> Self:
        if not self.whole and not is_bookie(self.destination) and self.destination not in PLACEHOLDERS:
            raise ValueError(
                f"messages to {self.destination} are indistinguishable; hold the whole link, or name a bookie"
            )
        return self


def _criteria(values: dict[str, Any]) -> dict[str, Any]:
    names = ("kinds", "ledger", "entries", "statuses", "occurrences", "probability")
    return {name: value for name in names if (value := values.get(name)) not in (None, ())}
