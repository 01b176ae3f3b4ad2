"""The simulator's servers: bookies with their boots, the metadata store, and the clock.

Written from the replication protocol alone and sharing nothing with the checkers or with
``protocol``. Messages travel through :mod:`tests.histories.network`.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.histories.network import Network
from tests.histories.wire import FENCED, LIMBO, NO_LEDGER, NONE, OK

OPEN, IN_RECOVERY, CLOSED, DELETED = 1, 2, 3, 0


@dataclass(frozen=True)
class Bugs:
    """What is broken on purpose; in a lawful run nothing of this is.

    ``crash_forgets_fences``: no fence survives a crash. ``ignores_fences`` and ``denies`` are the
    chances that a living bookie takes an add although it is fenced, and that it denies an entry it
    has. ``journal_forgets``: the chance that a crash takes a journaled entry. ``hides_limbo``: a bookie
    that lost entries denies them as if it knew. Of recoverers: ``one_negative_closes`` and
    ``one_answer_fences``, whatever the quorums say.
    """

    crash_forgets_fences: bool = False
    ignores_fences: float = 0.0
    denies: float = 0.0
    journal_forgets: float = 0.0
    hides_limbo: bool = False
    one_negative_closes: bool = False
    one_answer_fences: bool = False


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

    def targets(self, entry: int) -> list[int]:
        """The bookies that store an entry, in the order of the write set."""
        return [self.ensemble(entry)[position] for position in write_set(self.shape, entry)]

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
    """A bookie: what would survive a crash, what would not, and whether it still has to be repaired."""

    number: int
    up: bool = True
    boot: int = 1
    durable: dict[tuple[int, int], Copy] = field(default_factory=dict)
    volatile: dict[tuple[int, int], Copy] = field(default_factory=dict)
    fences: set[int] = field(default_factory=set)
    limbo: set[int] = field(default_factory=set)
    hidden_limbo: set[int] = field(default_factory=set)
    unclean: bool = False

    def holds(self, ledger: int, entry: int) -> Copy | None:
        return self.volatile.get((ledger, entry)) or self.durable.get((ledger, entry))

    def highest(self, ledger: int) -> Copy | None:
        entries = [entry for known, entry in {**self.durable, **self.volatile} if known == ledger]
        return self.holds(ledger, max(entries)) if entries else None

    def drop(self, ledger: int) -> None:
        """Forget a ledger's entries; a fence is kept, so that nothing depends on when that was."""
        for held in (self.durable, self.volatile):
            for key in [key for key in held if key[0] == ledger]:
                del held[key]

    def flush(self, ledger: int | None = None) -> None:
        for key in [key for key in self.volatile if ledger in (None, key[0])]:
            self.durable[key] = self.volatile.pop(key)


class Cluster:
    """Bookies, the metadata store and the clock, joined by ``network``.

    ``journal``: adds are durable at once (but deferred ones); otherwise only after a flush.
    ``limbo``: after a crash a bookie does not deny entries of a ledger that was open, until it is
    repaired (BP-46).
    """

    def __init__(
        self, seed: int, *, bookies: int, journal: bool, limbo: bool = False, bugs: Bugs | None = None
    ) -> None:
        self.random = random.Random(seed)
        self.bookies = {number: Bookie(number) for number in range(1, bookies + 1)}
        self.journal, self.limbo, self.bugs = journal, limbo, bugs or Bugs()
        self.versions: dict[int, list[Metadata]] = {}
        self.deferred: set[int] = set()
        self.now_ns = 1_000
        self.boot_events: list[tuple[int, int, str, int]] = []
        self.disks: list[tuple[int, int, tuple[int, int]]] = []
        for number in self.bookies:
            self._lived(number, "started")
            self.boot_events.append((number, 1, "answering", self.now_ns))
        self.at_crash: list[Callable[[int], None]] = []
        self.network = Network(self)
        self.send = self.network.send
        self.deliver = self.network.deliver

    def tick(self) -> int:
        self.now_ns += self.random.randint(1, 5)
        return self.now_ns

    # metadata: one store, compare and set by the version that was read

    def read(self, ledger: int) -> Metadata | None:
        current = self.versions[ledger][-1]
        return None if current.state == DELETED else current

    def is_open_on(self, ledger: int, bookie: int) -> bool:
        """Whether a ledger is not closed and has the bookie in its last ensemble."""
        last = self.versions[ledger][-1]
        return last.state not in (CLOSED, DELETED) and bookie in last.fragments[-1][1]

    def write(self, ledger: int, read: Metadata, new: Metadata) -> Metadata | None:
        """The new version, or None when another wrote in between."""
        if self.versions[ledger][-1].version != read.version:
            return None
        stored = replace(new, version=read.version + 1, at_ns=self.tick())
        self.versions[ledger].append(stored)
        return stored

    # bookies: what they answer, and their boots

    def handle(self, bookie: Bookie, request: tuple[Any, ...]) -> tuple[str, Any]:
        """A bookie's answer: a status, and the entry that comes with it."""
        what, ledger, *rest = request
        if what == "add":
            return self._add(bookie, ledger, *rest)
        if what == "force":
            bookie.flush(ledger)
            return OK, None
        if what in ("fence", "recovery read"):  # a bookie that denies an entry must not take it later
            bookie.fences.add(ledger)
        if what in ("fence", "lac"):
            copy = bookie.highest(ledger)
            return (LIMBO, None) if ledger in bookie.limbo else _found(bookie, ledger, copy)
        copy = bookie.holds(ledger, rest[0])
        if ledger in bookie.limbo and (copy is None or what == "read"):
            return LIMBO, None
        if copy is not None and self.random.random() < self.bugs.denies:
            return NONE, None
        return _found(bookie, ledger, copy)

    def _add(self, bookie: Bookie, ledger: int, entry: int, copy: Copy, recovery: bool) -> tuple[str, Any]:
        ignored = self.bugs.ignores_fences and self.random.random() < self.bugs.ignores_fences
        if ledger in bookie.fences and not recovery and not ignored:
            return FENCED, None
        bookie.volatile[ledger, entry] = copy
        if self.journal and (ledger not in self.deferred or recovery):
            bookie.durable[ledger, entry] = bookie.volatile.pop((ledger, entry))
        return OK, None

    def crash(self, number: int) -> None:
        """End a bookie with SIGKILL: what was not durable is gone, and its connections with it."""
        bookie = self.bookies[number]
        if self.bugs.journal_forgets:
            for key in sorted(bookie.durable):
                if self.random.random() < self.bugs.journal_forgets:
                    del bookie.durable[key]
        self.disks += [(number, bookie.boot, key) for key in sorted(bookie.durable)]
        bookie.volatile.clear()
        bookie.up, bookie.unclean = False, True
        if self.bugs.crash_forgets_fences:
            bookie.fences.clear()
        self.network.server_gone(number)
        self._lived(number, "exit")
        self._lived(number, "disk_read")
        for act in self.at_crash:
            act(number)

    def start(self, number: int) -> None:
        """Boot a bookie that is down; a guarded one first looks which ledgers were open."""
        bookie = self.bookies[number]
        if bookie.up:
            return
        bookie.boot += 1
        self._lived(number, "started")
        if self.limbo:
            due = {ledger for ledger in self.versions if self.is_open_on(ledger, number)}
            bookie.hidden_limbo = due if self.bugs.hides_limbo else set()
            bookie.limbo |= due - bookie.hidden_limbo
            bookie.fences |= due - bookie.hidden_limbo
        self._lived(number, "answering")
        bookie.up = True

    def _lived(self, number: int, what: str) -> None:
        self.boot_events.append((number, self.bookies[number].boot, what, self.tick()))


def _found(bookie: Bookie, ledger: int, copy: Copy | None) -> tuple[str, Any]:
    """An entry, or the negative of one who knows the ledger or not."""
    if copy is not None:
        return OK, copy
    known = ledger in bookie.fences or bookie.highest(ledger) is not None
    return (NONE if known else NO_LEDGER), None
