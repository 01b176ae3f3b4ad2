"""Ledgers that several recoverers open at the same time, and how their recoveries ended.

Thread-safe. Sends no client commands.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass, field

from workloads.crew import Crew

_LOOK_S = 0.25
_MEET_S = 1.0


@dataclass(eq=False)
class Contest:
    """A ledger that all recoverers open; ``ends`` is each one's result, ``over`` is set when all have one."""

    ledger: int
    start: threading.Barrier
    ends: dict[str, int] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)

    def meet(self) -> None:
        """Wait a moment for the other recoverers, so that all begin together."""
        with suppress(threading.BrokenBarrierError):
            self.start.wait(_MEET_S)


class Contests:
    """The ledgers to be recovered, in the same order for every recoverer."""

    def __init__(self, crew: Crew, recoverers: tuple[str, ...]) -> None:
        self._crew = crew
        self._recoverers = recoverers
        self._changed = threading.Condition()
        self._contests: list[Contest] = []

    def begin(self, ledger: int) -> Contest:
        """Announce a ledger to every recoverer."""
        contest = Contest(ledger, threading.Barrier(len(self._recoverers)))
        with self._changed:
            self._contests.append(contest)
            self._changed.notify_all()
        return contest

    def at(self, place: int) -> Contest | None:
        """The contest of that number, or None when it does not begin within a moment."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._contests) > place, _LOOK_S)
            return self._contests[place] if len(self._contests) > place else None

    def ended(self, contest: Contest, recoverer: str, last_entry: int) -> None:
        """Record a successful recovery; the last recovery of a contest decides whether all agree.

        A recoverer that dies before it continues recovers its ledger again: only another result counts.
        """
        with self._changed:
            before = contest.ends.get(recoverer)
            contest.ends[recoverer] = last_entry
            if before == last_entry or len(contest.ends) < len(self._recoverers):
                return
        agreed = len(set(contest.ends.values())) == 1
        self._crew.totals.add(agreed=int(agreed), disagreed=int(not agreed))
        if not agreed:
            ends = ", ".join(f"{name} {end}" for name, end in sorted(contest.ends.items()))
            self._crew.say(f"ledger {contest.ledger} was recovered to different ends: {ends}")
        contest.over.set()
