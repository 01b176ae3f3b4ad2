"""The registry of faults, and the life that each has: available, inject, confirm, heal, confirm.

A fault is one object registered under one name; its ``params`` model is the step's parameters in
a plan. Faults know the cluster's interface, never the plan's other steps, the evidence's judges
or how servers are made.
"""

from __future__ import annotations

from typing import Any, Protocol

from pydantic import BaseModel

from cluster.interface import Cluster

Proof = dict[str, Any]


class Fault(Protocol):
    """One kind of fault. All times are taken by the caller around the calls."""

    name: str
    about: str
    params: type[BaseModel]

    def available(self, params: Any, cluster: Cluster) -> str | None:
        """Why this fault cannot be injected here, or None when it can."""
        ...

    def target(self, params: Any) -> str:
        """What it hits, as the evidence shall name it: ``b1``, ``writer-b2``."""
        ...

    def inject(self, params: Any, cluster: Cluster) -> None:
        """Do it; return when the order is given."""
        ...

    def confirm(self, params: Any, cluster: Cluster) -> Proof:
        """Facts that show it took effect; ``FaultError`` when it did not."""
        ...

    def heal(self, params: Any, cluster: Cluster) -> Proof:
        """Undo it, wait until undone, and return the facts that show it."""
        ...


FAULTS: dict[str, Fault] = {}


def register(fault: Fault) -> Fault:
    """Enter a fault under its name; a name taken twice is a programming error."""
    if fault.name in FAULTS:
        raise ValueError(f"fault {fault.name!r} is registered twice")
    FAULTS[fault.name] = fault
    return fault
