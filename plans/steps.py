"""The steps that every plan may use, whatever faults and workloads exist.

Each is a name and a parameter model. Faults bring their own models through the vocabulary that
the loader is given (:func:`vocabulary`); nothing here says how a step is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, Field, SerializeAsAny, ValidationInfo, field_validator, model_validator

from plans.names import (
    BookieName,
    ClientName,
    FaultName,
    GivenFault,
    LedgerName,
    LoadName,
    LogName,
    NewFault,
    Params,
    ServerName,
    StoreName,
    TargetName,
)
from plans.nearest import unknown
from plans.settings import BookieSettings
from plans.shapes import LedgerShape
from plans.versions import Version
from protocol.shell import COMMANDS


class Act(Params):
    """An operation of one client on one ledger of the plan; it has an outcome."""

    needs_handle: ClassVar[bool] = True
    client: ClientName
    ledger: LedgerName


class Create(LedgerShape, Act):
    """Create a ledger and name it; the handle stays open.

    ``bookies`` names the first ensemble in its order, which decides the write set of each entry.
    """

    needs_handle: ClassVar[bool] = False
    digest: Literal["crc32", "crc32c", "mac", "dummy"] = "crc32c"
    deferred: bool = False
    adv: bool = False
    metadata: dict[str, str] = Field(default_factory=dict)
    bookies: tuple[BookieName, ...] | None = None

    @field_validator("bookies")
    @classmethod
    def _an_ensemble(
        cls, value: tuple[BookieName, ...] | None, info: ValidationInfo
    ) -> tuple[BookieName, ...] | None:
        if value is None:
            return value
        ensemble = info.data.get("ensemble", len(value))
        if len(value) != ensemble:
            raise ValueError(f"{len(value)} bookies are named for an ensemble of {ensemble}")
        if len(set(value)) != len(value):
            raise ValueError(f"a bookie is named twice: {', '.join(value)}")
        return value


class Append(Act):
    """Add entries; without ``background`` the step ends when every add has an outcome."""

    entries: int = Field(ge=1)
    entry_bytes: int = Field(default=1024, ge=64, le=4 * 1024 * 1024)
    outstanding: int = Field(default=100, ge=1, le=100_000)
    rate_per_s: float | None = Field(default=None, gt=0)
    background: bool = False
    ids: tuple[int, ...] | None = None

    @field_validator("ids")
    @classmethod
    def _one_for_each(cls, value: tuple[int, ...] | None, info: ValidationInfo) -> tuple[int, ...] | None:
        entries = info.data.get("entries", 0)
        if value is not None and entries and len(value) != entries:
            raise ValueError(f"{len(value)} ids are given for {entries} entries")
        if value is not None and any(number < 0 for number in value):
            raise ValueError(f"ids must be 0 or more, not {min(value)}")
        return value


class Recover(Act):
    """Open with recovery: fence the ledger, recover its end, close it."""

    needs_handle: ClassVar[bool] = False
    attempts: int = Field(default=1, ge=1)
    timeout_s: float = Field(default=60, gt=0)


class Open(Act):
    """Open without recovery, to read what is there."""

    needs_handle: ClassVar[bool] = False


class Close(Act):
    """Close the client's handle; a writer's close ends the ledger."""


class Read(Act):
    """Read entries ``first`` to ``last``; without ``last``, to the end that the handle knows."""

    first: int = Field(default=0, ge=0)
    last: int | None = Field(default=None, ge=0)

    @field_validator("last")
    @classmethod
    def _not_before(cls, value: int | None, info: ValidationInfo) -> int | None:
        first = info.data.get("first", 0)
        if value is not None and value < first:
            raise ValueError(f"last {value} is before first {first}")
        return value


class Lac(Act):
    """Ask for the last add confirmed."""


class Tail(Act):
    """Follow the LAC and read what it covers; without ``background`` until the ledger's end."""

    background: bool = True


class Delete(Act):
    """Delete the ledger."""

    needs_handle: ClassVar[bool] = False


class Force(Act):
    """Make deferred adds durable."""


class Extend(Act):
    """Put the ledger at the end of a log's list, by compare-and-set on the list as it is now."""

    needs_handle: ClassVar[bool] = False
    log: LogName


class ReadLog(Params):
    """Read a whole log, ledger by ledger, without recovery."""

    client: ClientName
    log: LogName


class Census(Params):
    """Ask every bookie for each entry of one ledger, or of all. Passes are numbered in order."""

    ledger: LedgerName | None = None


class Touch(Params):
    """Write a ledger's metadata unchanged: its version grows, as after another client's change."""

    ledger: LedgerName


class LongIds(Params):
    """Let the metadata store give out ids beyond 31 bits to clients that have not created a ledger yet."""


class Start(Params):
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


class Roll(Params):
    """Restart servers one after the other; each is ready and checked before the next."""

    targets: tuple[ServerName, ...] = Field(min_length=1)
    how: Literal["stop", "kill"] = "stop"
    timeout_s: float = Field(default=120, gt=0)
    conf: BookieSettings = Field(default_factory=dict)
    version: Version | None = None

    @field_validator("targets")
    @classmethod
    def _each_once(cls, value: tuple[ServerName, ...]) -> tuple[ServerName, ...]:
        if len(set(value)) != len(value):
            raise ValueError(f"a server is named twice: {', '.join(value)}")
        return value

    def starts(self) -> tuple[Start, ...]:
        """The starts that it consists of, in their order."""
        return tuple(
            Start(target=target, timeout_s=self.timeout_s, conf=self.conf, version=self.version)
            for target in self.targets
        )


class Snapshot(Params):
    """Copy what a bookie or ZooKeeper has stored, under a name by which a fault can bring it back."""

    target: StoreName
    name: NewFault = Field(alias="as")


class Admin(Params):
    """One of BookKeeper's own admin commands; its end is the step's outcome, a time-out is unknown.

    ``anyway`` gives it also where BookKeeper's documents say that its target must be down.
    """

    command: str
    target: BookieName | None = None
    timeout_s: float = Field(default=120, gt=0)
    anyway: bool = False

    @field_validator("command")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in COMMANDS:
            raise ValueError(unknown("admin command", value, COMMANDS))
        return value

    @model_validator(mode="after")
    def _about_a_bookie(self) -> Self:
        targeted = COMMANDS[self.command].targeted
        if targeted != (self.target is not None):
            raise ValueError(f"`{self.command}` {'needs a' if targeted else 'takes no'} `target`")
        return self


class Resume(Params):
    """Continue a paused process."""

    target: ServerName


class Heal(Params):
    """End faults in force: all of them, or those of one kind, or those on one target."""

    kind: FaultName | None = None
    target: TargetName | None = None


class Release(Params):
    """End the fault named with ``as``; messages that it held continue."""

    fault: GivenFault


class Load(Params):
    """Start a workload in the background; its parameters are beside these two keys."""

    workload: str
    name: str = Field(alias="as", pattern=r"^[a-z][a-z0-9]{0,15}$")
    params: SerializeAsAny[BaseModel] = Params()


class EndLoad(Params):
    """Stop a workload and wait for its last outcomes."""

    load: LoadName = Field(alias="as")


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


STEPS: dict[str, type[BaseModel]] = {
    "admin": Admin,
    "append": Append,
    "census": Census,
    "close": Close,
    "create": Create,
    "delete": Delete,
    "end_load": EndLoad,
    "extend": Extend,
    "force": Force,
    "heal": Heal,
    "lac": Lac,
    "open": Open,
    "read": Read,
    "read_log": ReadLog,
    "recover": Recover,
    "release": Release,
    "resume": Resume,
    "roll": Roll,
    "snapshot": Snapshot,
    "start": Start,
    "tail": Tail,
    "touch": Touch,
    "long_ids": LongIds,
}
"""Steps whose parameters are one model."""

CHOSEN = {"chaos": "faults", "load": "workload", "wait_for": "condition"}
"""Steps with a key that names which further parameters they take."""

Vocabulary = Mapping[str, type[BaseModel]]
"""Step name to parameter model: the project's own steps and the faults."""


def vocabulary(faults: Mapping[str, type[BaseModel]]) -> dict[str, type[BaseModel]]:
    """The project's own steps and ``faults`` (name to model) together.

    A fault that takes the name of a step is a programming error: ``ValueError``.
    """
    taken = sorted(set(faults) & (set(STEPS) | set(CHOSEN) | {"together"}))
    if taken:
        raise ValueError(f"faults take the names of steps: {', '.join(taken)}")
    return {**STEPS, **faults}


def faults_in(words: Vocabulary) -> dict[str, Any]:
    """The part of a vocabulary that is faults."""
    return {name: model for name, model in words.items() if name not in STEPS}
