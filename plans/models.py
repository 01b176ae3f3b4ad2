"""A plan: what should happen, as data.

Frozen models that do not say how a step is run. A plan is read from YAML by
:mod:`plans.load` and from JSON by the same code; :mod:`plans.tree` turns it back.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, SerializeAsAny, field_validator, model_validator

from plans.conditions import AnyCondition
from plans.defects import Cure, SeedDefect, assert_once
from plans.disks import Disks
from plans.expectations import Expectation, Property
from plans.names import RESERVED, LedgerName, LossyLedger, ModeName, Params, ServerName
from plans.racks import Racks, assert_placed
from plans.settings import BookieSettings, Settings
from plans.versions import Version
from protocol.addresses import MAX_AUTORECOVERY, MAX_BOOKIES, MAX_CLIENTS, NAME, is_autorecovery, is_bookie

Outcome = Literal["ok", "unknown", "fail", "any"]
Entries = Annotated[int, Field(ge=0)]
Value = int | float | bool | str
MOST_ROUNDS = 1000
LONGEST_TITLE = 80
_PLAN_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*")


def _new_client(value: str) -> str:
    if not NAME.fullmatch(value):
        raise ValueError(f"`{value}` is no client's name, such as `writer` or `w1` (up to 16 characters)")
    if value in RESERVED or is_bookie(value) or is_autorecovery(value):
        raise ValueError(f"`{value}` is a server's name and cannot be a client's")
    return value


def _plan_name(value: str) -> str:
    if not _PLAN_NAME.fullmatch(value):
        raise ValueError(f"`{value}` is no plan's name: lower-case words joined by `/`, as bp46/truncation")
    return value


NewClient = Annotated[str, AfterValidator(_new_client)]
PlanName = Annotated[str, AfterValidator(_plan_name)]


class Source(Params):
    """Which document, and which part of it, the plan comes from."""

    document: str = Field(min_length=1)
    section: str = ""


class ClusterSpec(Params):
    """The servers: how many bookies, which releases, which settings over the mode's own, which disks.

    ``autorecovery`` is how many processes repair what lost bookies held: ``ar1`` to ``arN``. With
    ``racks`` every write set should spread over ``min_racks`` of them. ``loss`` is what a `kill` of a
    bookie takes with it (:mod:`plans.loss`). ``seed_defects`` are broken promises of BookKeeper, put into its
    processes by the agent (:mod:`plans.defects`), and ``cures`` mended causes of findings.
    """

    bookies: int = Field(default=3, ge=1, le=MAX_BOOKIES)
    version: Version | None = None
    versions: dict[ServerName, Version] = Field(default_factory=dict)
    bookie_conf: BookieSettings = Field(default_factory=dict)
    client_conf: Settings = Field(default_factory=dict)
    autorecovery: int = Field(default=0, ge=0, le=MAX_AUTORECOVERY)
    autorecovery_conf: Settings = Field(default_factory=dict)
    disks: Disks | None = None
    loss: Literal["process", "power"] = "process"
    racks: Racks = Field(default_factory=dict)
    min_racks: int = Field(default=2, ge=1)
    seed_defects: tuple[SeedDefect, ...] = ()
    cures: tuple[Cure, ...] = ()

    @field_validator("seed_defects", "cures")
    @classmethod
    def _seeded_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        assert_once(value)
        return value

    @property
    def changes(self) -> tuple[str, ...]:
        """What the agent changes: seeded defects, then cures."""
        return (*self.seed_defects, *self.cures)

    @model_validator(mode="after")
    def _placed(self) -> ClusterSpec:
        if self.racks:
            assert_placed(self.racks, self.bookies, self.min_racks)
        return self


class Control(Params):
    """What must break what the plan promises: a mode, a release, other parameters, a step or a defect.

    ``settings`` are values of the plan's parameters; a ``step`` is found by its note, and its effect on its
    own ledger or on ``ledger``. With ``property`` the control stands for that property only; a seeded
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
        kinds = {
            "mode": self.mode,
            "version": self.version,
            "set": self.settings,
            "step": self.step,
            "defect": self.defect,
            "nothing": self.nothing,
        }
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

    Checked before anything starts (:mod:`plans.resolve`); nothing ends a run that takes longer.
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


class Timing(Params):
    """When a step begins: not before ``at_s`` of the enclosing block, nor before ``when`` holds."""

    at_s: float | None = Field(default=None, ge=0)
    when: SerializeAsAny[AnyCondition] | None = None
    note: str = ""


class StepSpec(Timing):
    """One step: its name in the vocabulary and its parameters, an instance of that name's model.

    ``outcome`` is how an act of a client must end; steps of other kinds keep ``ok``.
    """

    name: str
    params: SerializeAsAny[BaseModel]
    outcome: Outcome = "ok"


class Together(Timing):
    """Sequences of steps that run at the same time; the block ends when the last of them ends."""

    branches: tuple[tuple[StepSpec | Together, ...], ...]


Step = StepSpec | Together


class Plan(Params):
    """A whole plan. ``expect`` maps a mode to what is stated for it; a plan has one ``control`` at least.

    ``rounds`` is how often the steps are run in one cluster, each time on fresh ledgers;
    ``series`` how often the plan is run by ``scripts/bench scenarios``. ``allowance`` maps a mode to
    how many explained losses of which ledger are accepted there. Nothing runs beside a plan that is to
    run ``alone``, because what it shows depends on time.
    """

    name: PlanName
    title: str | None = Field(default=None, min_length=1, max_length=LONGEST_TITLE)
    source: Source
    about: str = Field(min_length=1)
    cluster: ClusterSpec = ClusterSpec()
    clients: tuple[NewClient, ...] = Field(min_length=1, max_length=MAX_CLIENTS)
    modes: tuple[ModeName, ...] = Field(min_length=1)
    required: tuple[Property, ...] = ()
    control: tuple[Control, ...] = ()
    allowance: dict[ModeName, dict[LossyLedger, Entries]] = Field(default_factory=dict)
    limits: Limits = Limits()
    rounds: int = Field(default=1, ge=1, le=MOST_ROUNDS)
    series: Series | None = None
    alone: bool = False
    vary: dict[str, Value] = Field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    expect: dict[ModeName, tuple[Expectation, ...]] = Field(default_factory=dict)

    @field_validator("clients", "modes", "required")
    @classmethod
    def _no_repeats(cls, value: Any) -> Any:
        repeated = [name for name, count in Counter(value).items() if count > 1]
        if repeated:
            raise ValueError(f"named more than once: {', '.join(repeated)}")
        return value
