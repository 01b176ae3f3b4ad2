"""The shared state of the members of one load: ledgers, totals, handle names, and their end.

Thread-safe. Sends no client commands.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from random import Random

Job = Callable[[], None]
"""What one member of a crew does until the load ends."""


@dataclass(eq=False)
class Rolled:
    """One ledger of a load, from its creation on; ``settled`` when it is closed permanently."""

    ledger: int
    writer: str
    settled: threading.Event = field(default_factory=threading.Event)


Inbox = SimpleQueue[Rolled]
"""Ledgers that wait to be processed by one member."""


def next_in(inbox: Inbox, timeout_s: float = 0.0) -> Rolled | None:
    """The next ledger of an inbox, or None when none comes in time."""
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


class Crew:
    """The shared part of one load.

    ``kind`` is the load's. ``random`` is its own stream, which first gives the tag that makes its
    handles differ from those of other loads on the same clients. ``totals`` names what is counted.
    ``heirs`` maps each writer to the inbox of the member that recovers the ledgers it leaves open; every
    ledger is sent to the inboxes in ``followers``.
    """

    def __init__(
        self,
        kind: str,
        *,
        random: Random,
        stop: threading.Event,
        say: Callable[[str], None],
        opened: Callable[[str, int], None],
        totals: Sequence[str],
    ) -> None:
        self.random = random
        self.stop = stop
        self.say = say
        self.totals = Totals(totals)
        self.heirs: dict[str, Inbox] = {}
        self.followers: list[Inbox] = []
        self._kind = kind
        self._opened = opened
        self._tag = f"{random.getrandbits(32):08x}"
        self._handles = 0
        self._lock = threading.Lock()

    def new_handle(self, client: str) -> str:
        """An unused name for a handle."""
        with self._lock:
            self._handles += 1
            return f"{self._kind}.{self._tag}.{client}.{self._handles}"

    def created(self, writer: str, ledger: int) -> Rolled:
        """A writer has a new ledger: named for the evidence, announced to every reader."""
        rolled = Rolled(ledger, writer)
        self.totals.add(ledgers=1)
        self._opened(f"{writer}.{ledger}", ledger)
        for inbox in self.followers:
            inbox.put(rolled)
        return rolled

    def leave(self, rolled: Rolled) -> None:
        """Pass a ledger that its writer leaves open to the member that recovers it."""
        self.heirs[rolled.writer].put(rolled)

    def work(self, jobs: Sequence[Job]) -> dict[str, int]:
        """Run all jobs in parallel until the load ends; an error of one ends the load and is raised."""
        with ThreadPoolExecutor(len(jobs), thread_name_prefix=self._kind) as pool:
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
