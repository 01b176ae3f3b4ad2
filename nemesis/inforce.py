"""One fault from its planning to its healing: its facts and its state."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from pydantic import BaseModel

from nemesis.registry import Fault, LiesInWait, Proof
from plans.names import Nameable


class Life(Enum):
    """The state of a fault; only a fault in force may be healed."""

    INJECTING = auto()
    IN_FORCE = auto()
    HEALING = auto()


@dataclass(eq=False)
class InForce:
    """One fault; ``number`` identifies it in the fault log. A proof is empty until its phase is done.

    ``awaited`` is true while it waits for a trigger and no trigger was observed.
    """

    number: int
    fault: Fault
    params: BaseModel
    target: str
    claims: frozenset[str]
    injected: Proof = field(default_factory=dict)
    healed: Proof = field(default_factory=dict)
    life: Life = Life.INJECTING
    awaited: bool = False

    @property
    def name(self) -> str | None:
        """The name that the plan gave it, if any."""
        return given_name(self.params)

    @property
    def told(self) -> str:
        """Its name and target, and how often it acted if it counts that."""
        acted = self.healed.get("acted")
        if acted is None:
            return str(self)
        times = {0: "never acted", 1: "acted once"}.get(acted, f"acted {acted} times")
        return f"{self} ({times})"

    @property
    def counting(self) -> LiesInWait | None:
        """The fault, if it counts how often it was triggered; None when it does not."""
        fault: Any = self.fault
        return fault if isinstance(fault, LiesInWait) else None

    def __str__(self) -> str:
        return f"{self.fault.name} {self.target}"


def given_name(params: BaseModel) -> str | None:
    """The name that a plan gives a fault with ``as``, None when it gives none."""
    return params.name if isinstance(params, Nameable) else None
