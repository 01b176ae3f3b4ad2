"""Which faults this machine has, for plans that are drawn here."""

from __future__ import annotations

from cluster import disks
from harness.vocabulary import words
from nemesis.registry import FAULTS, NeedsMachine
from plans.steps import faults_in


def offered_faults() -> frozenset[str]:
    """The names of all faults that this machine supports."""
    return frozenset(
        name for name in faults_in(words()) if name in FAULTS and unavailable_reason(name) is None
    )


def unavailable_reason(name: str) -> str | None:
    """Why this machine does not have the fault, or None when it seems to."""
    fault = FAULTS[name]
    if name == "power_loss" and (reason := disks.unavailable_reason("ext4")) is not None:
        return reason
    return fault.unavailable_reason() if isinstance(fault, NeedsMachine) else None
