"""What the writers, readers and closers of one append load share: ledgers, totals, handle names.

Thread-safe. Knows no client command.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue


@dataclass(eq=False)
class Rolled:
    """One ledger of a load, from its creation on; ``settled`` when it is closed for good."""

    ledger: int
    writer: str
    settled: threading.Event = field(default_factory=threading.Event)


Inbox = SimpleQueue[Rolled]
"""Ledgers that somebody shall take care of."""


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
        """All counts so far."""
        with self._lock:
            return dict(self._counts)


class Crew:
    """The shared part of one load.

    ``tag`` makes its handles differ from those of other loads on the same clients; ``heirs`` maps
    each writer to the inbox of whoever recovers what it leaves open.
    """

    def __init__(
        self,
        tag: str,
        stop: threading.Event,
        say: Callable[[str], None],
        opened: Callable[[str, int], None],
    ) -> None:
        self.stop = stop
        self.say = say
        self.totals = Totals(
            ("ledgers", "acked", "unknown", "failed", "closed", "rolled", "recovered", "read")
        )
        self.heirs: dict[str, Inbox] = {}
        self.followers: list[Inbox] = []
        self._opened = opened
        self._tag = tag
        self._handles = 0
        self._lock = threading.Lock()

    def new_handle(self, client: str) -> str:
        """A handle's name that nobody uses."""
        with self._lock:
            self._handles += 1
            return f"append.{self._tag}.{client}.{self._handles}"

    def created(self, writer: str, ledger: int) -> Rolled:
        """A writer has a new ledger: named for the evidence, announced to every reader."""
        rolled = Rolled(ledger, writer)
        self.totals.add(ledgers=1)
        self._opened(f"{writer}.{ledger}", ledger)
        for inbox in self.followers:
            inbox.put(rolled)
        return rolled

    def leave(self, rolled: Rolled) -> None:
        """A writer leaves a ledger open: its heir shall recover it."""
        self.heirs[rolled.writer].put(rolled)
