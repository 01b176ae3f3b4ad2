"""The grammar of steps, and the steps that plans themselves make or read.

A step is a model of its parameters; a plan writes it by its class's name (:func:`plans.names.name_of`). The
models here are those that something in ``plans`` makes or reads by its type: what a seed draws (``Chaos``)
and what ends a fault. All others stand with the functions that run them, in ``harness/steps``; the loader
is given them (:class:`Vocabulary`). What ``plans`` must know of a step is said by the classes that it derives
from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import BaseModel, Field, SerializeAsAny, ValidationInfo, field_validator

from plans.names import ClientName, FaultName, LedgerName, Params, ServerName, TargetName
from plans.settings import BookieSettings
from plans.versions import Version

Models = Mapping[str, type[BaseModel]]
"""Models of parameters by their names in plans."""


class HasOutcome(Params):
    """Base of the steps that end ok, failed or unknown: a plan may say with ``outcome`` how."""


class Act(HasOutcome):
    """Base of the operations of one client on one ledger of the plan.

    ``handle`` says what it does with the client's handle on the ledger: it makes a writer's or a reader's,
    or needs a writer's, or either, or none.
    """

    handle: ClassVar[Literal["creates", "opens", "writes", "reads", "none"]] = "reads"
    client: ClientName
    ledger: LedgerName

    def adds(self) -> int:
        """How many entries it adds, for the plan's limit."""
        return 0


class StartsServers(Params):
    """Base of the steps that start servers, perhaps with other settings or of another release."""

    def starts(self) -> tuple[Start, ...]:
        """The starts that it consists of, in their order."""
        raise NotImplementedError


class Start(StartsServers):
    """Start a server or a client that is down, and wait until it is ready, or until it has refused.

    A boot that is not expected to be ``ready`` may end on its own as long as it is not. Without
    ``wait`` the step ends as soon as the process has begun; without ``checked`` it does not wait for the
    preboot check that a bookie begins after a crash under BP-46's protection and does not await itself.
    """

    target: ServerName
    timeout_s: float = Field(default=120, gt=0)
    conf: BookieSettings = Field(default_factory=dict)
    version: Version | None = None
    wait: bool = True
    checked: bool = True
    expect: Literal["ready", "refuses", "any"] = "ready"

    def starts(self) -> tuple[Start, ...]:
        """Itself."""
        return (self,)


class Resume(Params):
    """Continue a paused process."""

    target: ServerName


class Heal(Params):
    """End faults in force: all of them, or those of one kind, or those on one target."""

    kind: FaultName | None = None
    target: TargetName | None = None


class Load(Params):
    """Start a workload in the background; its parameters are beside these two keys."""

    workload: str
    name: str = Field(alias="as", pattern=r"^[a-z][a-z0-9]{0,15}$")
    params: SerializeAsAny[BaseModel] = Params()


class Named(Params):
    """A fault's name with its parameters."""

    name: str
    params: SerializeAsAny[BaseModel]


class Chaos(Params):
    """Faults at random times for ``for_s`` seconds; a seed turns them into timed steps.

    ``every_s`` is the time between two faults, ``restart_after_s`` how long each lasts, both
    lowest and highest. At most ``at_most_down`` processes are down or paused at once. With
    ``settle_timeout_s`` the next fault waits until the cluster is quiet again.
    """

    for_s: float = Field(gt=0)
    every_s: tuple[float, float]
    restart_after_s: tuple[float, float]
    at_most_down: int = Field(default=1, ge=1)
    settle_timeout_s: float | None = Field(default=None, gt=0)
    faults: tuple[Named, ...] = ()

    @field_validator("every_s", "restart_after_s")
    @classmethod
    def _lowest_first(cls, value: tuple[float, float]) -> tuple[float, float]:
        low, high = value
        if not 0 < low <= high:
            raise ValueError(f"[{low:g}, {high:g}] must be [lowest, highest] with 0 < lowest <= highest")
        return value

    @field_validator("settle_timeout_s")
    @classmethod
    def _one_at_a_time(cls, value: float | None, info: ValidationInfo) -> float | None:
        down = info.data.get("at_most_down", 1)
        if value is not None and down > 1:
            raise ValueError(
                f"settle_timeout_s needs at_most_down 1, not {down}: while one is down nothing is quiet"
            )
        return value


CHOSEN = {"chaos": "faults", "load": "workload", "wait_for": "condition"}
"""Steps with a key that names which further parameters they take."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a plan may name: the steps whose parameters are one model, conditions, faults, workloads.

    A fault that takes the name of a step is a programming error: ``ValueError``.
    """

    steps: Models
    conditions: Models
    faults: Models
    workloads: Models

    def __post_init__(self) -> None:
        taken = sorted(set(self.faults) & {*self.steps, *CHOSEN, "together"})
        if taken:
            raise ValueError(f"faults take the names of steps: {', '.join(taken)}")

    @property
    def single(self) -> Models:
        """Every step whose parameters are one model: a fault is a step too."""
        return {**self.steps, **self.faults}
