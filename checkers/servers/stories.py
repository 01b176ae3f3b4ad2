"""The story of each boot of a bookie: what its log, the keeper and the readiness ladder tell, in intervals.

Of a step of a log the interval is that of its line. Knows no ledger's metadata and no frame; judges
nothing. Rows of boot 0 (ZooKeeper's own order of registrations and cookies) belong to no story.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from checkers.contract import RunFacts
from checkers.facts.alterations import alterations
from checkers.facts.boots import Boot, boots_of
from checkers.facts.wording import bookie_name
from evidence.codes import NEVER

LOG_READ = "log_read"


class Event(NamedTuple):
    """One event; it happened between two times (ns)."""

    earliest_ns: int
    latest_ns: int
    detail: Mapping[str, Any]

    @property
    def ledger(self) -> int:
        """The ledger that it names, -1 for none."""
        return int(self.detail.get("ledgerId", -1))


@dataclass(frozen=True)
class Story:
    """One boot of a bookie; ``name`` is ``b1 boot 2``, ``before`` are its earlier boots in their order.

    ``alterations`` are the times (from, to) in which somebody may have changed what the bookie's disk
    holds, otherwise than by losing what was not synced: a marker should outlive that.
    """

    boot: Boot
    name: str
    events: Mapping[str, tuple[Event, ...]]
    before: tuple[Story, ...] = field(default=(), repr=False)
    alterations: tuple[tuple[int, int], ...] = ()

    def all(self, *names: str) -> list[Event]:
        """The events of these names, by their earliest time."""
        return sorted((event for name in names for event in self.events.get(name, ())), key=_times)

    def first(self, *names: str) -> Event | None:
        """The first of them, or None."""
        return next(iter(self.all(*names)), None)

    def has(self, *names: str) -> bool:
        """Whether one of them happened."""
        return any(name in self.events for name in names)

    @cached_property
    def marks(self) -> Mapping[int, Event]:
        """Ledger -> when it was first marked limbo."""
        marked: dict[int, Event] = {}
        for event in self.all("mark_limbo"):
            marked.setdefault(event.ledger, event)
        return marked

    def altered_since(self, earlier: Story) -> bool:
        """Whether its disk may have been changed since an earlier boot began."""
        since_ns, until_ns = earlier.boot.started_ns, self.boot.ended_ns
        return any(first <= until_ns and last >= since_ns for first, last in self.alterations)

    @property
    def available_ns(self) -> int:
        """By when somebody had seen it registered or had an answer of it; ``NEVER`` when nobody had."""
        return min((event.latest_ns for event in self.all("registered", "answering")), default=NEVER)

    @property
    def checked_ns(self) -> int:
        """A time before which the preboot check had not ended, 0 where there is no proof of any.

        A mark is told before it is set. That the check ended is told some time after it did, so the line
        that says so proves no later end than the last mark before it.
        """
        return max((event.earliest_ns for event in self.all("preboot_start", "mark_limbo")), default=0)

    @property
    def suspicious(self) -> bool:
        """Whether the boot saw an unclean shutdown or an invalid cookie."""
        return self.has("unclean_shutdown", "cookie_mismatch")

    @property
    def crashed(self) -> Story | None:
        """The earlier boot whose marker of an unclean end was there: it set it, and nobody in order since."""
        for story in reversed(self.before):
            if not story.boot.unclean:
                return None
            if story.has("dirty_created", "dirty_kept"):
                return story
        return None


def stories_of(run: RunFacts) -> list[Story]:
    """Every boot of every bookie, by bookie and boot."""
    told: dict[tuple[str, int], dict[str, list[Event]]] = {}
    for row in run.servers:
        events = told.setdefault((row["server"], int(row["boot"])), {})
        event = Event(int(row["earliest_ns"]), int(row["latest_ns"]), json.loads(row["detail"]))
        events.setdefault(row["event"], []).append(event)
    stories: list[Story] = []
    for bookie, boots in sorted(boots_of(run).items()):
        name = bookie_name(run, bookie)
        changes = tuple(
            (change.began_ns, change.done_ns) for change in alterations(run) if bookie in change.bookies
        )
        lives: list[Story] = []
        for boot in boots:
            heard = told[name, boot.number].items()
            own = {what: tuple(sorted(found, key=_times)) for what, found in heard}
            lives.append(Story(boot, f"{name} boot {boot.number}", own, tuple(lives), changes))
        stories += lives
    return stories


def _times(event: Event) -> tuple[int, int]:
    return event.earliest_ns, event.latest_ns
