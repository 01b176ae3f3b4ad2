"""The common parameters of faults that act on single messages: which messages, how often, by what name.

A criterion that is left out matches every message of the link that goes that way. An answer has
the kind, the ledger and the entry of its request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema, field_validator, model_validator

from cluster.messages import Way
from evidence.codes import Message, Status
from nemesis.links import Link
from plans.names import LedgerName, Nameable, names_in
from plans.nearest import unknown

KINDS = tuple(kind.name.lower() for kind in Message)
STATUSES = tuple(status.name for status in Status if status is not Status.NONE)
_WITHOUT_ENTRY = ("fencing_lac_read", "force", "lac_read", "write_lac")


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


def given_criteria(values: Mapping[str, Any]) -> dict[str, Any]:
    """Of the values of a model's fields, the criteria that select some messages only."""
    names = ("kinds", "ledger", "entries", "statuses", "occurrences", "probability")
    return {name: value for name in names if (value := values.get(name)) not in (None, ())}
