"""The simulator's servers and network: bookies, metadata, and messages that take their time.

Written from the replication protocol alone and sharing nothing with the checkers or with
``protocol``. Messages on one link arrive in order, links among each other in any; a link may be
cut and a bookie down, and then the sender is told an error, as a broken connection tells it.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

OPEN, IN_RECOVERY, CLOSED, DELETED = 1, 2, 3, 0
ERROR, OK, NONE, FENCED, LIMBO = "error", "ok", "no such entry", "fenced", "unknown"
Reply = Callable[[str, Any], None]


@dataclass(frozen=True)
class Copy:
    """What a bookie stores of an entry."""

    writer: int
    size: int
    lac: int


@dataclass(frozen=True)
class Metadata:
    """One version of a ledger's metadata."""

    version: int
    state: int
    last: int
    shape: tuple[int, int, int]
    fragments: tuple[tuple[int, tuple[int, ...]], ...]
    at_ns: int = 0

    def ensemble(self, entry: int) -> tuple[int, ...]:
        """The bookies of the fragment of one entry."""
        return [bookies for first, bookies in self.fragments if first <= entry][-1]

    def with_fragment(self, first: int, bookies: tuple[int, ...]) -> Metadata:
        """With a fragment added, or replaced where it has the same first entry."""
        fragments = dict(self.fragments)
        fragments[first] = bookies
        return replace(self, fragments=tuple(sorted(fragments.items())))


def write_set(shape: tuple[int, int, int], entry: int) -> list[int]:
    """Positions of the ensemble that store an entry, round robin."""
    ensemble, write, _ = shape
    return [(entry + offset) % ensemble for offset in range(write)]


@dataclass
class Bookie:
    """A bookie: what would survive a crash, and what would not."""

    number: int
    up: bool = True
    durable: dict[tuple[int, int], Copy] = field(default_factory=dict)
    volatile: dict[tuple[int, int], Copy] = field(default_factory=dict)
    fences: set[int] = field(default_factory=set)
    limbo: set[int] = field(default_factory=set)

    def holds(self, ledger: int, entry: int) -> Copy | None:
        return self.volatile.get((ledger, entry)) or self.durable.get((ledger, entry))

    def highest(self, ledger: int) -> Copy | None:
        entries = [entry for known, entry in {**self.durable, **self.volatile} if known == ledger]
        return self.holds(ledger, max(entries)) if entries else None

    def flush(self, ledger: int | None = None) -> None:
        for key in [key for key in self.volatile if ledger in (None, key[0])]:
            self.durable[key] = self.volatile.pop(key)

    def crash(self) -> bool:
        """Lose what was not durable; whether anything was lost."""
        lost = bool(self.volatile)
        self.volatile.clear()
        self.up = False
        return lost


class Cluster:
    """Bookies, the metadata store, the network and the clock.

    ``journal``: adds are durable at once (but deferred ones); otherwise only after a flush.
    ``limbo``: a bookie that lost entries never again denies one of a ledger that was open.
    """

    def __init__(self, seed: int, *, bookies: int, journal: bool, limbo: bool = False) -> None:
        self.random = random.Random(seed)
        self.bookies = {number: Bookie(number) for number in range(1, bookies + 1)}
        self.journal, self.limbo = journal, limbo
        self.versions: dict[int, list[Metadata]] = {}
        self.deferred: set[int] = set()
        self.cut: set[tuple[int, int]] = set()
        self.queues: dict[tuple[int, int, str], deque[Callable[[], None]]] = {}
        self.now_ns = 1_000

    def tick(self) -> int:
        self.now_ns += self.random.randint(1, 5)
        return self.now_ns

    # metadata: one store, compare and set by the version that was read

    def read(self, ledger: int) -> Metadata | None:
        current = self.versions[ledger][-1]
        return None if current.state == DELETED else current

    def write(self, ledger: int, read: Metadata, new: Metadata) -> Metadata | None:
        """The new version, or None when another wrote in between."""
        if self.versions[ledger][-1].version != read.version:
            return None
        stored = replace(new, version=read.version + 1, at_ns=self.tick())
        self.versions[ledger].append(stored)
        return stored

    # messages

    def send(self, source: int, bookie: int, request: tuple[Any, ...], reply: Reply) -> None:
        """Ask a bookie; ``reply`` is called once, later, with a status and what comes with it."""

        def arrive() -> None:
            target = self.bookies[bookie]
            if not target.up or (source, bookie) in self.cut:
                answer: tuple[str, Any] = (ERROR, None)
            else:
                answer = self._handle(target, request)
            self._queue(bookie, source, "answer", lambda: reply(*answer))

        self._queue(source, bookie, "request", arrive)

    def _queue(self, source: int, target: int, what: str, act: Callable[[], None]) -> None:
        self.queues.setdefault((source, target, what), deque()).append(act)

    def deliver(self) -> bool:
        """Deliver the oldest message of some link; False when none is under way."""
        waiting = [link for link, queue in self.queues.items() if queue]
        if not waiting:
            return False
        self.tick()
        self.queues[self.random.choice(waiting)].popleft()()
        return True

    def _handle(self, bookie: Bookie, request: tuple[Any, ...]) -> tuple[str, Any]:
        what, ledger, *rest = request
        if what == "add":
            return self._add(bookie, ledger, *rest)
        if what == "force":
            bookie.flush(ledger)
            return OK, None
        if what == "fence":
            bookie.fences.add(ledger)
            return (LIMBO, None) if ledger in bookie.limbo else (OK, bookie.highest(ledger))
        if what == "lac":
            return (LIMBO, None) if ledger in bookie.limbo else (OK, bookie.highest(ledger))
        if what == "recovery read":  # fences too: whoever denies an entry must not take it later
            bookie.fences.add(ledger)
        copy = bookie.holds(ledger, rest[0])
        if copy is None:
            return (LIMBO if ledger in bookie.limbo else NONE), None
        return OK, copy

    def _add(self, bookie: Bookie, ledger: int, entry: int, copy: Copy, recovery: bool) -> tuple[str, Any]:
        if ledger in bookie.fences and not recovery:
            return FENCED, None
        bookie.volatile[ledger, entry] = copy
        if self.journal and (ledger not in self.deferred or recovery):
            bookie.durable[ledger, entry] = bookie.volatile.pop((ledger, entry))
        return OK, None

    def crash(self, number: int) -> None:
        bookie = self.bookies[number]
        lost = bookie.crash()
        if lost and self.limbo:
            for ledger, versions in self.versions.items():
                if versions[-1].state not in (CLOSED, DELETED):
                    bookie.limbo.add(ledger)
                    bookie.fences.add(ledger)
