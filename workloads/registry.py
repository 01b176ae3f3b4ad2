"""The registry of workloads: background load that a plan starts and stops.

A workload is the parameters that a plan gives it, and the jobs of its members. It operates clients through
the cluster's interface, and opens a new ledger when a fault has broken one. It neither judges nor injects
faults. The clients record their operations themselves.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from random import Random
from typing import ClassVar, TypeVar

from pydantic import field_validator

from cluster.interface import Cluster
from plans.names import Params, named_once
from workloads.crew import Crew, Job


class Workload(Params, ABC):
    """One load, its parameters as fields; ``totals`` is what it counts, ``ledgers`` where it creates some."""

    kind: ClassVar[str]
    """Its name in plans."""
    about: ClassVar[str]
    totals: ClassVar[Sequence[str]]

    @field_validator("writers", "readers", "recoverers", check_fields=False)
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return named_once(value, "client")

    @abstractmethod
    def jobs(self, cluster: Cluster, crew: Crew) -> Sequence[Job]:
        """What its members do, each in a thread, until the load ends.

        A failed operation of a client is normal. If a client process is gone, its member waits for it.
        """

    def run(
        self,
        cluster: Cluster,
        *,
        random: Random,
        stop: threading.Event,
        say: Callable[[str], None],
        opened: Callable[[str, int], None],
    ) -> dict[str, int]:
        """Run until ``stop``, or until all members are done; the totals. An error of one ends the load.

        ``say`` reports progress as a sentence; ``opened(name, ledger)`` names a ledger for the evidence.
        """
        crew = Crew(self.kind, random=random, stop=stop, say=say, opened=opened, totals=self.totals)
        return crew.work(self.jobs(cluster, crew))


WORKLOADS: dict[str, type[Workload]] = {}
AnyWorkload = TypeVar("AnyWorkload", bound=Workload)


def register(workload: type[AnyWorkload]) -> type[AnyWorkload]:
    """Register a workload under its kind; a repeated one is a programming error."""
    if workload.kind in WORKLOADS:
        raise ValueError(f"workload {workload.kind!r} is registered twice")
    WORKLOADS[workload.kind] = workload
    return workload
