"""The registry of workloads: background load that a plan starts and stops; and what one load's members share.

A workload is the parameters that a plan gives it, and the jobs of its members. It operates clients through
the cluster's interface, and opens a new ledger when a fault has broken one. It neither judges nor injects
faults. The clients record their operations themselves.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from random import Random
from typing import ClassVar, TypeVar

from pydantic import Field

from cluster.interface import Cluster
from plans.grammar.names import Clients
from plans.grammar.steps import LedgerShape, Load

Job = Callable[[], None]
"""What one member of a load does until the load ends."""


class Workload(Load, ABC):
    """One load, its parameters as fields; ``totals`` is what it counts, ``ledgers`` where it creates some."""

    kind: ClassVar[str]
    """Its name in plans."""
    totals: ClassVar[Sequence[str]]

    @abstractmethod
    def jobs(self, context: LoadContext) -> Sequence[Job]:
        """What its members do, each in a thread, until the load ends.

        A failed operation of a client is normal. If a client process is gone, its member waits for it.
        """


class WritingLoad(LedgerShape, Workload):
    """The writers, and the shape of the ledgers; rates are for each writer."""

    writers: Clients = Field(min_length=1)
    entries_per_ledger: int = Field(default=1000, ge=1)
    entry_bytes: int = Field(default=1024, ge=64, le=4 * 1024 * 1024)
    outstanding: int = Field(default=100, ge=1, le=100_000)
    rate_per_s: float | None = Field(default=None, gt=0)


WORKLOADS: dict[str, type[Workload]] = {}
AnyWorkload = TypeVar("AnyWorkload", bound=Workload)
T = TypeVar("T")


def register(workload: type[AnyWorkload]) -> type[AnyWorkload]:
    """Register a workload under its kind; a repeated one is a programming error."""
    if workload.kind in WORKLOADS:
        raise ValueError(f"workload {workload.kind!r} is registered twice")
    WORKLOADS[workload.kind] = workload
    return workload


@dataclass(eq=False)
class Rolled:
    """One ledger of a load, from its creation on; ``settled`` when it is closed permanently."""

    ledger: int
    writer: str
    settled: threading.Event = field(default_factory=threading.Event)


Inbox = SimpleQueue[Rolled]
"""Ledgers that wait to be processed by one member."""


def next_in(inbox: SimpleQueue[T], timeout_s: float = 0.0) -> T | None:
    """The next one of an inbox, or None when none comes in time."""
    try:
        return inbox.get(timeout=timeout_s) if timeout_s else inbox.get_nowait()
    except Empty:
        return None


class Totals:
    """Counts for the report, by name."""

    def __init__(self, names: Sequence[str]) -> None:
        self._counts = dict.fromkeys(names, 0)
        self._lock = threading.Lock()

    def add(self, **more: int) -> None:
        """Add to each named count."""
        with self._lock:
            for name, number in more.items():
                self._counts[name] += number

    def counts(self) -> dict[str, int]:
        """All counts up to now."""
        with self._lock:
            return dict(self._counts)


@dataclass(eq=False)
class LoadContext:
    """What the members of one load share. Thread-safe; sends no client commands.

    ``random`` is the load's own stream, which first gives the tag that makes its handles differ from those of
    other loads on the same clients. ``say`` reports progress as a sentence; ``opened(name, ledger)`` names a
    ledger for the evidence. ``heirs`` maps each writer to the inbox of the member that recovers its open
    ledgers; every ledger is sent to the inboxes in ``followers``.
    """

    load: Workload
    cluster: Cluster
    random: Random
    stop: threading.Event
    say: Callable[[str], None]
    opened: Callable[[str, int], None]
    heirs: dict[str, Inbox] = field(default_factory=dict)
    followers: list[Inbox] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.totals = Totals(self.load.totals)
        self._tag = f"{self.random.getrandbits(32):08x}"
        self._handles = 0
        self._lock = threading.Lock()

    def new_handle(self, client: str) -> str:
        """An unused name for a handle."""
        with self._lock:
            self._handles += 1
            return f"{self.load.kind}.{self._tag}.{client}.{self._handles}"

    def created(self, writer: str, ledger: int) -> Rolled:
        """A writer has a new ledger: named for the evidence, announced to every reader."""
        rolled = Rolled(ledger, writer)
        self.totals.add(ledgers=1)
        self.opened(f"{writer}.{ledger}", ledger)
        for inbox in self.followers:
            inbox.put(rolled)
        return rolled

    def work(self) -> dict[str, int]:
        """Run the load until ``stop``, or until all members are done; the totals. An error of one ends it."""
        jobs = self.load.jobs(self)
        with ThreadPoolExecutor(len(jobs), thread_name_prefix=self.load.kind) as pool:
            futures = [pool.submit(self._ending_all, job) for job in jobs]
        for future in futures:
            future.result()
        return self.totals.counts()

    def _ending_all(self, job: Job) -> None:
        try:
            job()
        except BaseException:
            self.stop.set()
            raise
