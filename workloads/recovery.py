"""The ``recovery`` load: several recoverers open a ledger at the same time while its writer still writes.

A writer begins a ledger and adds; at a seeded count of acknowledged adds it is announced to every
recoverer, and all open it with recovery at once. The writer continues until it is fenced, then rolls over.
All recoveries of a ledger must end with the same last entry (the replication protocol, "Closing a
ledger as a reader"). The load counts how they ended; the verdict judges them.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from random import Random

from pydantic import Field

from plans.grammar.names import Clients
from workloads.member import RETRY_S, Member, Writer
from workloads.registry import Job, LoadContext, WritingLoad, next_in, register

_WITHOUT_END = 2**62
_A_MOMENT_S = 1.0
_CONTEST_LOOK_S = 0.25
_MEET_S = 1.0
_TOTALS = ("ledgers", "acked", "unknown", "failed", "rolled", "recovered", "refused", "agreed", "disagreed")


@register
class RecoveryLoad(WritingLoad):
    """Several recoverers open a ledger at the same time while its writer still writes.

    They begin when between none and ``entries_per_ledger`` adds are acknowledged, or when the ledger broke
    before.
    """

    kind = "recovery"
    totals = _TOTALS

    recoverers: Clients = Field(min_length=2)
    entries_per_ledger: int = Field(default=500, ge=1)

    def jobs(self, context: LoadContext) -> Sequence[Job]:
        contests = Contests(context, self.recoverers)
        jobs = [_Recoverer(self, context, name, contests).run for name in self.recoverers]
        for name in self.writers:
            own = Random(context.random.getrandbits(64))
            jobs.append(_Writer(self, context, name, contests, own).run)
        return jobs


@dataclass(eq=False)
class Contest:
    """A ledger that all recoverers open; ``ends`` is each one's result, ``over`` is set when all have one."""

    ledger: int
    start: threading.Barrier
    ends: dict[str, int] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)


class Contests:
    """The ledgers to be recovered, in the same order for every recoverer; thread-safe."""

    def __init__(self, context: LoadContext, recoverers: tuple[str, ...]) -> None:
        self.inboxes = {name: SimpleQueue[Contest]() for name in recoverers}
        self._context = context
        self._lock = threading.Lock()

    def begin(self, ledger: int) -> Contest:
        """Announce a ledger to every recoverer."""
        contest = Contest(ledger, threading.Barrier(len(self.inboxes)))
        with self._lock:
            for inbox in self.inboxes.values():
                inbox.put(contest)
        return contest

    def ended(self, contest: Contest, recoverer: str, last_entry: int) -> None:
        """Record a successful recovery; the last recovery of a contest decides whether all agree.

        A recoverer that dies before it continues recovers its ledger again: only another result counts.
        """
        with self._lock:
            before = contest.ends.get(recoverer)
            contest.ends[recoverer] = last_entry
            if before == last_entry or len(contest.ends) < len(self.inboxes):
                return
        agreed = len(set(contest.ends.values())) == 1
        self._context.totals.add(agreed=int(agreed), disagreed=int(not agreed))
        if not agreed:
            ends = ", ".join(f"{name} {end}" for name, end in sorted(contest.ends.items()))
            self._context.say(f"ledger {contest.ledger} was recovered to different ends: {ends}")
        contest.over.set()


@dataclass(eq=False)
class _Recoverer(Member[RecoveryLoad]):
    """A client that recovers one ledger after the other, each until it succeeds."""

    contests: Contests
    _contest: Contest | None = None

    def step(self) -> None:
        self._contest = contest = self._contest or next_in(self.contests.inboxes[self.name], _CONTEST_LOOK_S)
        if contest is None:
            return
        with suppress(threading.BrokenBarrierError):
            contest.start.wait(_MEET_S)  # so that all begin together
        while not self._recovers(contest):
            if self.context.stop.wait(RETRY_S):
                return
        self._contest = None

    def _recovers(self, contest: Contest) -> bool:
        last_entry = self.recover(contest.ledger).last_entry
        if last_entry is None:
            self.context.totals.add(refused=1)
            return False
        self.contests.ended(contest, self.name, last_entry)
        return True


@dataclass(eq=False)
class _Writer(Writer[RecoveryLoad]):
    """A client whose ledgers are recovered while it writes."""

    contests: Contests
    random: Random

    def step(self) -> None:
        """Add until the ledger breaks; if it was not fenced, until a moment after all recovered it."""
        taken_at = self.random.randint(0, self.params.entries_per_ledger)
        created = self.create(self.params)
        if created is None:
            return
        handle, ledger = created
        self.context.created(self.name, ledger)
        contest: Contest | None = None
        try:
            self.begin_adds(handle, None)  # only a fence or the end of the load stops them
            self.await_adds(handle, taken_at)
            contest = self.contests.begin(ledger)
            self.await_adds(handle, _WITHOUT_END, lambda _: contest.over.is_set())
            self.asker.await_acked(handle, _WITHOUT_END, _A_MOMENT_S)
            added = self.end_adds(handle)
            if added.error is not None:
                self.broke(ledger, added)
            self.asker.release(handle)
        finally:
            if contest is None:  # the writer died first: its ledger is recovered all the same
                self.contests.begin(ledger)
