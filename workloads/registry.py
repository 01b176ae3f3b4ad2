"""The registry of workloads: background load that a plan starts and stops.

A workload operates clients through the cluster's interface, and opens a new ledger when a fault has
broken one. It neither judges nor injects faults. The clients record their operations themselves.
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
        evidence. A failed operation of a client is normal. If a client process is gone, the workload
        waits until ``stop``.
        """
        ...


WORKLOADS: dict[str, Workload] = {}


def register(workload: Workload) -> Workload:
    """Register a workload under its name; a repeated name is a programming error."""
    if workload.name in WORKLOADS:
        raise ValueError(f"workload {workload.name!r} is registered twice")
    WORKLOADS[workload.name] = workload
    return workload
