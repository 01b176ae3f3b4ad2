"""The registry of workloads: background load that a plan starts and stops.

A workload drives clients through the cluster's interface and rolls over what faults break; it
judges nothing and injects nothing. Its operations are recorded by the clients themselves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random
from typing import Any, Protocol

from pydantic import BaseModel

from cluster.interface import Cluster


class Workload(Protocol):
    """One kind of load; ``run`` works until ``stop`` is set and returns totals for the report."""

    name: str
    about: str
    params: type[BaseModel]

    def run(
        self,
        params: Any,
        cluster: Cluster,
        *,
        random: Random,
        stop: threading.Event,
        say: Callable[[str], None],
        opened: Callable[[str, int], None],
    ) -> dict[str, int]:
        """Do the work on the clients that ``params`` names.

        ``say`` reports progress as a sentence; ``opened(name, ledger)`` names a ledger for the
        evidence. A failed operation of a client is normal; it waits until ``stop`` for a client
        process that is gone.
        """
        ...


WORKLOADS: dict[str, Workload] = {}


def register(workload: Workload) -> Workload:
    """Register a workload under its name; a repeated name is a programming error."""
    if workload.name in WORKLOADS:
        raise ValueError(f"workload {workload.name!r} is registered twice")
    WORKLOADS[workload.name] = workload
    return workload
