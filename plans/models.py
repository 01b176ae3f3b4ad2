"""A plan: what should happen, as data.

Frozen models that do not say how a step is run. A plan is read from YAML by
:mod:`plans.load` and from JSON by the same code.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    field_serializer,
    field_validator,
    model_validator,
)

from plans.cluster import ClusterSpec
from plans.defects import SeedDefect
from plans.expected.expectations import PROPERTIES, ExpectationList, Property
from plans.grammar.names import RESERVED, LedgerName, LossyLedger, ModeName, Params
from plans.grammar.sequence import Steps, dump
from plans.reading.document import Tree
from plans.reading.mistakes import checked
from plans.reading.nearest import unknown
from plans.versions import Version
from protocol.addresses import MAX_CLIENTS, NAME, is_autorecovery, is_bookie

Entries = Annotated[int, Field(ge=0)]


def _assert_of_a_property(value: str) -> None:
    name = value.partition("/")[0]
    if name not in PROPERTIES:
        raise ValueError(unknown("property", name, PROPERTIES))


PropertyOrKind = Annotated[str, checked(_assert_of_a_property)]
"""A property, or one of its kinds of finding, as in ``replicas/not_marked``."""
Value = int | float | bool | str
MOST_ROUNDS = 1000
LONGEST_TITLE = 80
_PLAN_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*")


def _assert_new_client(value: str) -> None:
    if not NAME.fullmatch(value):
        raise ValueError(f"`{value}` is no client's name, such as `writer` or `w1` (up to 16 characters)")
    if value in RESERVED or is_bookie(value) or is_autorecovery(value):
        raise ValueError(f"`{value}` is a server's name and cannot be a client's")


def _assert_plan_name(value: str) -> None:
    if not _PLAN_NAME.fullmatch(value):
        raise ValueError(f"`{value}` is no plan's name: lower-case words joined by `/`, as bp46/truncation")


NewClient = Annotated[str, checked(_assert_new_client)]
PlanName = Annotated[str, checked(_assert_plan_name)]


class Source(Params):
    """Which document, and which part of it, the plan comes from."""

    document: str = Field(min_length=1)
    section: str = ""


class Control(Params):
    """What must break what the plan promises: a mode, a release, other parameters, a step or a defect.

    ``set`` gives the plan's parameters other values; a ``step`` is found by its note, and its effect on
    its own ledger or on ``ledger``. With ``property`` the control stands for that property only; a seeded
    ``defect`` must break it. ``nothing`` says why there is no control, of the plan or of that property.
    """

    mode: ModeName | None = None
    version: Version | None = None
    settings: dict[str, Value] | None = Field(default=None, alias="set", min_length=1)
    step: str | None = None
    defect: SeedDefect | None = None
    nothing: str | None = Field(default=None, min_length=1)
    ledger: LedgerName | None = None
    property: Property | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Control:
        kinds = self.model_dump(by_alias=True, exclude={"ledger", "property"})
        given = [name for name, value in kinds.items() if value is not None]
        if len(given) != 1:
            raise ValueError(f"a control is one of {', '.join(kinds)}; given: {', '.join(given) or 'none'}")
        if self.ledger is not None and self.step is None:
            raise ValueError(f"`ledger` belongs to a control by step, not by {given[0]}")
        if self.defect is not None and self.property is None:
            raise ValueError(f"`property` must say what {self.defect} breaks")
        return self


class Limits(Params):
    """Limits of a plan's cost: elapsed time of its steps, appended entries, and faults.

    Checked before anything starts; nothing ends a run that takes longer.
    ``quiet_s`` is how long the end of the run, and of a round, waits for the quiet state.
    """

    run_s: float = Field(default=900, gt=0)
    quiet_s: float = Field(default=90, gt=0)
    entries: int = Field(default=2_000_000, ge=1)
    faults: int = Field(default=1000, ge=1)


class Series(Params):
    """Number of repetitions for published figures: ``rounds`` in one cluster, ``times`` clusters."""

    rounds: int = Field(default=1, ge=1, le=MOST_ROUNDS)
    times: int = Field(default=1, ge=1)


def _one_or_more(value: object) -> object:
    if value == []:
        raise ValueError("`control` must be a control or a list of them, at least one")
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _by_mode(value: object) -> object:
    if not isinstance(value, dict):
        raise ValueError("`expect` must map each mode to what is stated for it")
    return value


class Plan(Params):
    """A whole plan. ``expect`` maps a mode to what is stated for it; a plan has one ``control`` at least.

    ``rounds`` is how often the steps are run in one cluster, each time on fresh ledgers;
    ``series`` how often the plan is run by ``scripts/bench scenarios``. ``allowance`` maps a mode to
    how many explained losses of which ledger are accepted there. Nothing runs beside a plan that is to
    run ``alone``, because what it shows depends on time. Anomalies of ``counting`` count although the
    plan does not require the property.
    """

    name: PlanName
    title: str | None = Field(default=None, min_length=1, max_length=LONGEST_TITLE)
    source: Source
    about: str = Field(min_length=1)
    cluster: ClusterSpec = ClusterSpec()
    clients: tuple[NewClient, ...] = Field(min_length=1, max_length=MAX_CLIENTS)
    modes: tuple[ModeName, ...] = Field(min_length=1)
    required: tuple[Property, ...] = ()
    counting: tuple[PropertyOrKind, ...] | None = None
    control: Annotated[tuple[Control, ...], BeforeValidator(_one_or_more)]
    allowance: dict[ModeName, dict[LossyLedger, Entries]] = Field(default_factory=dict)
    limits: Limits = Limits()
    rounds: int = Field(default=1, ge=1, le=MOST_ROUNDS)
    series: Series | None = None
    alone: bool = False
    vary: dict[str, Value] = Field(default_factory=dict)
    steps: Steps
    expect: Annotated[dict[ModeName, ExpectationList], BeforeValidator(_by_mode)]

    @field_validator("clients", "modes", "required", "counting")
    @classmethod
    def _no_repeats(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        repeated = [name for name, count in Counter(value).items() if count > 1]
        if repeated:
            raise ValueError(f"named more than once: {', '.join(repeated)}")
        return value

    @field_serializer("control", mode="wrap")
    def _alone_if_one(self, control: tuple[Control, ...], dump: SerializerFunctionWrapHandler) -> object:
        controls = dump(control)
        return controls[0] if len(controls) == 1 else controls


def plan_tree(plan: Plan) -> Tree:
    """The plan as a tree of plain values, as ``run.json`` keeps it; :func:`plans.load.load_tree` reads it.

    Defaults are written out, so that a saved plan means the same when a default changes.
    """
    return dump(plan)


def lean_tree(plan: Plan) -> Tree:
    """The plan as a person would write it, without what it states and how it is varied."""
    leave = {"expect", "control", "vary", "series"}
    return plan.model_dump(
        mode="json", by_alias=True, exclude_none=True, exclude_defaults=True, exclude=leave
    )
