"""One fault from its planning to its healing: its facts and its state."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from nemesis.registry import Fault, FaultContext, Proof
from plans.names import Nameable


class Life(Enum):
    """The state of a fault; only a fault in force may be healed."""

    INJECTING = auto()
    IN_FORCE = auto()
    HEALING = auto()


@dataclass(eq=False)
class InForce:
    """One fault and the context of its injection; ``healed`` is empty until it is healed.

    ``awaited`` is true while it waits for a trigger and no trigger was observed.
    """

    fault: Fault
    context: FaultContext
    claims: frozenset[str]
    healed: Proof = field(default_factory=dict)
    life: Life = Life.INJECTING
    awaited: bool = False

    @property
    def number(self) -> int:
        """Identifies it in the fault log."""
        return self.context.number

    @property
    def target(self) -> str:
        """The target's name in the evidence."""
        return self.fault.target_name

    @property
    def name(self) -> str | None:
        """The name that the plan gave it, if any."""
        return given_name(self.fault)

    @property
    def told(self) -> str:
        """Its name and target, and how often it acted if it counts that."""
        acted = self.healed.get("acted")
        if acted is None:
            return str(self)
        times = {0: "never acted", 1: "acted once"}.get(acted, f"acted {acted} times")
        return f"{self} ({times})"

    def __str__(self) -> str:
        return str(self.fault)


def given_name(fault: Fault) -> str | None:
    """The name that a plan gives a fault with ``as``, None when it gives none."""
    return fault.name if isinstance(fault, Nameable) else None
