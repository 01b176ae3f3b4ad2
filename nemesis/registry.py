"""The registry of faults, and their phases: available, inject, confirm, heal.

A fault is the parameters of its step in a plan, and what it does with them; its class is registered under
the step's name. Faults know the cluster's interface, never the plan's other steps, the evidence's judges
or how servers are made. They keep no state between calls: :mod:`nemesis.nemesis` passes the context of one
injection to every phase. Most are confirmed at once; a fault that waits for a trigger is confirmed when it
was triggered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from random import Random
from typing import Any, ClassVar, TypeVar

from pydantic import Field

from cluster.interface import Bookie, Cluster, Process, ProcessState
from cluster.waiting import wait_until
from plans.grammar.names import BookieName, Bookies, Params, ServerName
from protocol.errors import FaultError, NotReadyError, UsageError
from protocol.faults import EFFECTS

Proof = dict[str, Any]


class HealOrder(IntEnum):
    """The order in which faults are healed: processes start after the processes that they need."""

    LINKS = 0
    METADATA = 1
    DISKS = 2
    BOOKIES = 3
    CLIENTS = 4
    SLOWNESS = 5


def no_ledger(name: str) -> int:
    """Raise ``UsageError``: there is no such ledger."""
    raise UsageError(f"ledger {name!r} was not created yet")


@dataclass(slots=True)
class FaultContext:
    """One injection of a fault: its cluster, and the facts of the run that it may use."""

    cluster: Cluster
    number: int = 0
    """The fault's number in the fault log."""
    ledger: Callable[[str], int] = no_ledger
    """Gives the id of a ledger that the plan names; ``UsageError`` when there is none yet."""
    random: Callable[[str], Random] = Random
    """Gives the run's random stream of a name."""
    injected: Proof = field(default_factory=dict)
    """What ``inject`` returned; empty before that and after a failed injection."""


class Fault(Params, ABC):
    """One fault: its parameters as fields, its life as methods. The caller takes all times.

    Its docstring is what the documentation of plans says of it.
    """

    kind: ClassVar[str]
    """Its name in plans and in the fault log."""
    supersedes: ClassVar[frozenset[str]] = frozenset()
    """Kinds of fault that this one ends when it hits the same thing (a killed process is not paused)."""

    @classmethod
    def unavailable_reason(cls) -> str | None:
        """Why this machine does not support such faults, or None when it seems to."""
        return None

    @property
    @abstractmethod
    def target_name(self) -> str:
        """The target's name in the evidence: ``b1``, ``writer-b2``."""

    @property
    def acting(self) -> Fault:
        """The fault whose life this one has: another where its parameters make it one of another family."""
        return self

    @property
    def occupies(self) -> frozenset[str]:
        """Processes, disks and links that it occupies; each has at most one fault at a time."""
        return frozenset()

    def claims(self, cluster: Cluster) -> frozenset[str]:  # noqa: ARG002  # few depend on the cluster
        """What it occupies on this cluster; links are known only there."""
        return self.occupies

    @property
    def heal_order(self) -> HealOrder:
        """Its position in the order of healing."""
        return HealOrder.LINKS

    @property
    def takes_down(self) -> tuple[str, ...]:
        """The processes that it ends; it is healed when the last of them is started."""
        return ()

    @property
    def waits(self) -> bool:
        """Whether it is confirmed only when it was triggered (see :class:`CountingFault`)."""
        return False

    @abstractmethod
    def assert_available(self, cluster: Cluster) -> None:
        """Raise ``UsageError`` with the reason if it cannot be injected here."""

    @abstractmethod
    def inject(self, context: FaultContext) -> Proof:
        """Inject the fault; returns the facts that are known then."""

    @abstractmethod
    def confirm(self, context: FaultContext) -> Proof:
        """Facts that show it took effect; ``FaultError`` when it did not."""

    @abstractmethod
    def heal(self, context: FaultContext) -> Proof:
        """Undo it, wait until undone, and return the facts that show it.

        Must work after a failed injection, and again after a failed healing.
        """

    def assert_as_planned(self, context: FaultContext) -> None:
        """Raise ``ContradictedError`` when it took effect but its server did otherwise than it must."""

    def abandon(self, context: FaultContext) -> None:
        """End what it does in this process: the run ends and does not heal it, its servers end next."""

    def __str__(self) -> str:
        return f"{self.kind} {self.target_name}"


class CountingFault(Fault):
    """A fault that acts on later events, and counts how often it did."""

    @abstractmethod
    def acted(self, context: FaultContext) -> Proof:
        """What it has done up to now; ``acted`` is the count. ``heal`` returns the same at the end."""


class ServerFault(Fault):
    """A fault of one server or client."""

    target: ServerName

    @property
    def target_name(self) -> str:
        return self.target


class BookieFault(ServerFault):
    """A fault of one bookie."""

    target: BookieName


class MayEndBookie(BookieFault):
    """A fault for which a bookie may shut itself down; healing starts it again."""

    words: ClassVar[tuple[bytes, ...]]
    """What the bookie's log says when the fault hits it."""
    ready_timeout_s: float = Field(default=120, gt=0)

    def logged(self, context: FaultContext) -> dict[str, int]:
        """The bookie's boot, and the size of its log now."""
        bookie = context.cluster.bookie(self.target)
        return {"boot": bookie.boot, "log_bytes": bookie.log.stat().st_size if bookie.log.exists() else 0}

    def noticed(self, context: FaultContext) -> Proof:
        """How many lines of the bookie's log since the injection have these words."""
        bookie, before = context.cluster.bookie(self.target), context.injected.get("logged")
        if not before or not bookie.log.exists():
            return {}
        since = before["log_bytes"] if before["boot"] == bookie.boot else 0
        lines = bookie.log.read_bytes()[since:].splitlines()
        return {"noticed": sum(any(words in line for words in self.words) for line in lines)}

    def again(self, bookie: Bookie, *, was_up: bool) -> Proof:
        """Start a bookie that was stopped for healing or shut itself down; the facts of its boot."""
        gave_up = bookie.refusal()
        if bookie.state is not ProcessState.DOWN or (gave_up is None and not was_up):
            return {}
        bookie.start()
        bookie.wait_ready(self.ready_timeout_s)
        return {"boot": bookie.boot, "gave_up": str(gave_up) if gave_up else ""}


class BookiesFault(Fault):
    """A fault of several bookies at once."""

    targets: Bookies = Field(min_length=1)

    @property
    def target_name(self) -> str:
        return ",".join(self.targets)

    @property
    def occupies(self) -> frozenset[str]:
        return frozenset(f"the disk of {target}" for target in self.targets)

    def bookies(self, cluster: Cluster) -> list[Bookie]:
        """The bookies that it hits."""
        return [cluster.bookie(target) for target in self.targets]


def assert_still_down(process: Process, boot: int) -> None:
    """``FaultError`` unless the process has been down since that boot."""
    if process.state is not ProcessState.DOWN or process.boot != boot:
        raise FaultError(
            f"{process.name} was to stay down after boot {boot}, but it is {process.state} "
            f"in boot {process.boot}: it was started meanwhile"
        )


def await_effect(
    look: Callable[[], tuple[bool, str]], timeout_s: float, what: str, failure: str = ""
) -> None:
    """Wait until ``look`` sees it; ``FaultError``, ``failure`` first, when it does not in time."""
    try:
        wait_until(look, timeout_s, what)
    except NotReadyError as error:
        raise FaultError(f"{failure}{error}", remedy=error.remedy) from error


FAULTS: dict[str, type[Fault]] = {}
AnyFault = TypeVar("AnyFault", bound=Fault)


def register(fault: type[AnyFault]) -> type[AnyFault]:
    """Register a fault under its kind; a repeated name, or missing effects, is a programming error."""
    if fault.kind in FAULTS:
        raise ValueError(f"fault {fault.kind!r} is registered twice")
    if fault.kind not in EFFECTS:
        raise ValueError(f"fault {fault.kind!r} has no line in protocol/faults.py that says what it does")
    FAULTS[fault.kind] = fault
    return fault
