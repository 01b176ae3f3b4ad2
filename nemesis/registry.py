"""The registry of faults, and their phases: available, inject, confirm, heal.

A fault is one object registered under one name; its ``params`` model is the step's parameters in
a plan. Faults know the cluster's interface, never the plan's other steps, the evidence's judges
or how servers are made. They keep no state between calls: :mod:`nemesis.active` passes the proof of
the injection to the later phases. Most are confirmed at once; a fault that waits for a trigger is
confirmed when it was triggered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from random import Random
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel

from cluster.interface import Cluster
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


@dataclass(frozen=True, slots=True)
class FaultContext:
    """The facts of a run that a fault may use.

    ``number`` is its own in the fault log; ``ledger`` gives the id of a ledger that the plan names,
    ``UsageError`` when it is not there yet; ``random`` the run's random stream of a name.
    """

    number: int
    ledger: Callable[[str], int]
    random: Callable[[str], Random]


class Fault(Protocol):
    """One kind of fault. All times are taken by the caller around the calls."""

    name: str
    about: str
    params: type[BaseModel]
    supersedes: frozenset[str]
    """Kinds of fault that this one ends when it hits the same thing (a killed process is not paused)."""

    def available(self, params: Any, cluster: Cluster) -> str | None:
        """Why this fault cannot be injected here, or None when it can."""
        ...

    def target(self, params: Any) -> str:
        """The target's name in the evidence: ``b1``, ``writer-b2``."""
        ...

    def claims(self, params: Any, cluster: Cluster) -> frozenset[str]:
        """Processes and links that it occupies; each has at most one fault at a time."""
        ...

    def heal_order(self, params: Any) -> HealOrder:
        """Its position in the order of healing."""
        ...

    def inject(self, params: Any, cluster: Cluster, context: FaultContext) -> Proof:
        """Inject the fault; returns the facts that are known then."""
        ...

    def confirm(self, params: Any, cluster: Cluster, injected: Proof) -> Proof:
        """Facts that show it took effect; ``FaultError`` when it did not."""
        ...

    def heal(self, params: Any, cluster: Cluster, injected: Proof) -> Proof:
        """Undo it, wait until undone, and return the facts that show it.

        Must work after a failed injection (``injected`` is then empty), and again after a failed healing.
        """
        ...


@runtime_checkable
class LiesInWait(Protocol):
    """A fault that waits for a trigger (an optional power of ``Fault``).

    Its rule is confirmed when it is injected, but the fault only when it was triggered.
    """

    def waits(self, params: Any) -> bool:
        """Whether it waits for a trigger with these parameters; if not, it is confirmed like any other."""
        ...

    def acted(self, params: Any, cluster: Cluster, injected: Proof) -> Proof:
        """What it has done up to now; ``acted`` is the count. ``heal`` returns the same at the end."""
        ...


@runtime_checkable
class TakesDown(Protocol):
    """A fault that ends processes (an optional power of ``Fault``), which a start brings back."""

    def takes_down(self, params: Any) -> tuple[str, ...]:
        """The processes that it ends; it is healed when the last of them is started."""
        ...


@runtime_checkable
class NeedsMachine(Protocol):
    """A fault that not every machine allows (an optional power of ``Fault``)."""

    def unavailable_reason(self) -> str | None:
        """Why this machine does not support it, or None when it seems to."""
        ...


FAULTS: dict[str, Fault] = {}


def register(fault: Fault) -> Fault:
    """Register a fault under its name; a repeated name, or missing effects, is a programming error."""
    if fault.name in FAULTS:
        raise ValueError(f"fault {fault.name!r} is registered twice")
    if fault.name not in EFFECTS:
        raise ValueError(f"fault {fault.name!r} has no line in protocol/faults.py that says what it does")
    FAULTS[fault.name] = fault
    return fault
