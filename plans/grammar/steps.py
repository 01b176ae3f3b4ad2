"""The grammar of steps and conditions, and those of them that plans themselves make.

A step or a condition is a model of its parameters; a plan writes it by its class's name
(:func:`plans.grammar.names.name_of`). The models here are the ones which ``plans`` itself makes by
its type: what ends a fault, and what a schedule waits for. All others are beside the functions that
run them, in ``harness/steps`` and ``harness/conditions``; the loader is given them. What ``plans`` must
know of a step is said by the classes that it derives from. Every condition but ``elapsed`` says how
long waiting may take.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from plans.cluster import BookieSettings
from plans.grammar.names import (
    ClientName,
    FaultName,
    LedgerName,
    Params,
    ServerName,
    TargetName,
    name_of,
    names_in,
)
from plans.versions import Version
from protocol.quorums import Quorums


class LedgerShape(Params):
    """Ensemble, write quorum and ack quorum; E >= WQ >= AQ >= 1, and no more than the plan's bookies."""

    ensemble: int = Field(default=3, ge=1)
    write_quorum: int = Field(default=3, ge=1)
    ack_quorum: int = Field(default=2, ge=1)

    @field_validator("ensemble")
    @classmethod
    def _enough_bookies(cls, value: int, info: ValidationInfo) -> int:
        bookies = names_in(info).bookies
        if bookies is not None and value > len(bookies):
            raise ValueError(f"ensemble {value} is more than the plan's {len(bookies)} bookies")
        return value

    @field_validator("ack_quorum")
    @classmethod
    def _ordered(cls, value: int, info: ValidationInfo) -> int:
        if "ensemble" in info.data and "write_quorum" in info.data:
            Quorums(info.data["ensemble"], info.data["write_quorum"], value)
        return value


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

    Properties in ``conf`` change from here on. A boot that is not expected to be ``ready`` may end on its own
    as long as it is not. Without ``wait`` the step ends as soon as the process has begun, and such a boot may
    end on its own for ``timeout_s`` only; without ``checked`` it does not wait for the preboot check that a
    bookie begins after a crash under BP-46's protection and does not await itself.
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
    """Base of workloads: which one is started in the background, and the name of this load of it."""

    workload: str
    name: str = Field(alias="as", pattern=r"^[a-z][a-z0-9]{0,15}$")


class _Named(Params):
    condition: str = ""

    @field_validator("condition")
    @classmethod
    def _its_own(cls, value: str) -> str:
        if value not in ("", name_of(cls)):
            raise ValueError(f"`condition` is `{name_of(cls)}` here, not `{value}`")
        return name_of(cls)


class Condition(_Named):
    """A state of the cluster; waiting longer than ``timeout_s`` ends the steps, and the run is judged."""

    timeout_s: float = Field(default=120, gt=0)


class RecordedCondition(Condition):
    """A condition that the reader has no model for, kept as it was written."""

    model_config = ConfigDict(extra="allow")

    @field_validator("condition")
    @classmethod
    def _its_own(cls, value: str) -> str:
        return value


class Quiet(Condition):
    """Every bookie runs, is registered and answering, and none is in limbo or repairing.

    Where that does not come, ``otherwise: finish`` leaves out the steps that are left: the run is healed,
    observed and judged as it is.
    """

    otherwise: Literal["error", "finish"] = "error"


class Elapsed(_Named):
    """``for_s`` seconds have passed since the step began: an idle interval that a scenario needs."""

    for_s: float = Field(gt=0)


AnyCondition = Condition | Elapsed
