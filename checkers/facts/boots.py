"""The boots of bookies: when each boot began and ended, and by what; and the state of all servers in a time.

Read from the ``servers`` and ``faults`` of :class:`checkers.judging.contract.RunFacts`; independent of
operations and frames. Times are the run's nanoseconds, ``NEVER`` for a boot that lived to the end.
A *boot id* is a bookie's number and the number of its boot as one number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TypeVar

from checkers.facts.alterations import alterations, fault_text, hit, injected, loses_of
from checkers.judging.contract import Event, RunFacts
from checkers.sets.spans import Ints
from evidence.codes import CONFIGURED, NEVER
from protocol.addresses import OBSERVER, PROXY, ZOOKEEPER
from protocol.faults import UNPLANNED, Loses, unclean
from protocol.modes import least_loss

Numbers = TypeVar("Numbers", int, Ints)
_BOOT_BITS = 16
_SIGKILL = 9
_SIGTERM_CODE = 143
"""A JVM that SIGTERM ended exits with it."""
_NEEDED = (OBSERVER, PROXY, ZOOKEEPER)
READ_ONLY = ("readonly_created", "readonly_gone")
"""A bookie's registration as read-only: it serves reads and refuses writes."""


@dataclass(frozen=True, slots=True)
class Boot:
    """One boot of a bookie. A boot that lived to the end of the run is shut down by the harness then."""

    bookie: int
    number: int
    started_ns: int
    """It answered nothing before this time."""
    ended_ns: int = NEVER
    """It answered nothing that was asked after this time."""
    unclean: bool = False
    """Whether it ended otherwise than by a graceful shutdown (SIGKILL, a crash): its memory is lost."""
    dying_ns: int = NEVER
    """A time before which no signal ended it."""
    how: str = ""
    """Words for its end."""
    by_itself: bool = False
    """Whether it exited without a signal, so that when it began to end is not known."""
    least_loss: Loses | None = None
    """The least that a fault must take to take what it had acknowledged. None: settings not known."""

    @property
    def id(self) -> int:
        """Bookie and boot as one number."""
        return boot_id_of(self.bookie, self.number)


def boots_of(run: RunFacts) -> Mapping[int, tuple[Boot, ...]]:
    """Bookie number -> its boots in their order; a bookie without a recorded start is left out."""
    return run.memo(_boots)


def _boots(run: RunFacts) -> Mapping[int, tuple[Boot, ...]]:
    last: dict[str, dict[tuple[int, int], Event]] = defaultdict(dict)
    for event in run.events("started", "exit", CONFIGURED):
        if event.server in run.bookies:
            last[event.name][run.bookies[event.server], event.boot] = event
    found: dict[int, list[Boot]] = defaultdict(list)
    for key, start in sorted(last["started"].items()):
        configured = last[CONFIGURED].get(key)
        least = least_loss(configured.detail["conf"]) if configured else run.least_loss.get(start.server)
        found[key[0]].append(replace(_boot(key, start.earliest_ns, last["exit"].get(key)), least_loss=least))
    return {bookie: tuple(boots) for bookie, boots in found.items()}


def _boot(key: tuple[int, int], at_ns: int, end: Event | None) -> Boot:
    if end is None:
        return Boot(*key, at_ns)
    number, code = end.detail.get("signal"), end.detail.get("code")
    died = unclean(signal=number, code=code)
    how = f"ended with code {code}" if number is None else f"was ended by signal {number}"
    how = "was killed" if number == _SIGKILL else how if died else "was stopped"
    # Older runs give a death without a signal one time, or do not say whether there was one.
    signalled = end.detail.get("signalled", end.earliest_ns != end.latest_ns)
    by_itself = number is None and code != _SIGTERM_CODE and not signalled
    return Boot(*key, at_ns, end.latest_ns, died, end.earliest_ns, how, by_itself)


def outlasted(boot: Boot, run: RunFacts, before_ns: int = NEVER) -> bool:
    """Whether no fault of its bookie, and no unclean end, may have taken what a boot had acknowledged.

    Of the faults, those that began by ``before_ns`` count.
    """
    taken = (loses for planned_ns, loses in run.memo(_losses)[boot.bookie] if planned_ns <= before_ns)
    return boot.least_loss is not None and boot.least_loss > max(taken, default=Loses.MEMORY)


def _losses(run: RunFacts) -> Mapping[int, Sequence[tuple[int, Loses]]]:
    """Bookie -> the most that each fault of it may have taken beyond memory, and when it was planned (ns)."""
    found: dict[int, list[tuple[int, Loses]]] = {bookie: [] for bookie in run.bookies.values()}
    for fault in injected(run):
        if (loses := loses_of(fault)) > Loses.MEMORY:
            for bookie in hit(fault, run):
                found[bookie].append((fault["planned_ns"], loses))
    return found


def boot_id_of(bookie: Numbers, boot: Numbers) -> Numbers:
    """The id of a bookie's boot; of numbers or, element by element, of ``int64`` arrays."""
    return (bookie << _BOOT_BITS) | boot


def bookie_of(boot_id: int) -> int:
    """The bookie of a boot."""
    return boot_id >> _BOOT_BITS


def boot_events(run: RunFacts, *names: str) -> Iterator[tuple[int, Event]]:
    """The events of bookies with these names, each with the id of its boot."""
    for event in run.events(*names):
        if event.server in run.bookies:
            yield int(boot_id_of(run.bookies[event.server], event.boot)), event


def boot_name(run: RunFacts, boot_id: int) -> str:
    """``b1 boot 2``."""
    return f"{run.bookie_name(bookie_of(boot_id))} boot {boot_id & (2**_BOOT_BITS - 1)}"


@dataclass(frozen=True)
class Health:
    """The state of a run's servers over one stretch of time (ns)."""

    run: RunFacts
    began_ns: int
    ended_ns: int

    def problems(self) -> list[str]:
        """Why progress was not promised all the while, as short sentences; empty when all was well."""
        down = (bookie for bookie in sorted(self.run.bookies.values()) if self.boot(bookie) is None)
        return [
            *(f"{self.run.bookie_name(bookie)} was not up" for bookie in down),
            *(f"{self.run.bookie_name(bookie)} was read-only" for bookie in sorted(self.read_only())),
            *self._faults(),
        ]

    def _faults(self) -> Iterator[str]:
        for fault in self.run.faults:
            name = fault_text(fault)
            if fault["kind"] == UNPLANNED:
                if fault["target"] in _NEEDED and fault["confirmed_ns"] <= self.ended_ns:
                    yield f"{fault['target']} had died"
            elif fault["injected_ns"] != NEVER and fault["healed_ns"] > self.began_ns:
                yield f"{name} was not healed"

    def boot(self, bookie: int) -> Boot | None:
        """The boot of a bookie that lived all the while, or None.

        A boot that exited on its own later may have stopped serving before: its process outlives its server.
        """
        for boot in boots_of(self.run).get(bookie, ()):
            if boot.started_ns < self.began_ns and boot.dying_ns > self.ended_ns and not boot.by_itself:
                return boot
        return None

    def read_only(self) -> frozenset[int]:
        """Bookies that may have been registered as read-only at some time: they refuse writes."""
        times = self.run.memo(_read_only)
        return frozenset(
            bookie for bookie, at_ns, over_ns in times if at_ns <= self.ended_ns and over_ns >= self.began_ns
        )

    def lossy(self) -> dict[int, str]:
        """Bookies that may have lost what they had by then -> why."""
        found = {
            bookie: f"what {self.run.bookie_name(bookie)}'s disk holds was changed by {change.by}"
            for change in reversed(alterations(self.run))
            for bookie in change.bookies
        }
        for bookie, boots in boots_of(self.run).items():
            for boot in boots:
                if boot.unclean and boot.dying_ns <= self.ended_ns and not outlasted(boot, self.run):
                    found.setdefault(bookie, f"{self.run.bookie_name(bookie)} boot {boot.number} {boot.how}")
        return found


def _read_only(run: RunFacts) -> list[tuple[int, int, int]]:
    """Each bookie with the times from which and until which it may have been registered as read-only (ns)."""
    found, since_ns = list[tuple[int, int, int]](), dict[int, int]()
    events = (event for event in run.events(*READ_ONLY) if event.server in run.bookies)
    for event in sorted(events, key=attrgetter("latest_ns", "earliest_ns")):
        bookie = run.bookies[event.server]
        if event.name == READ_ONLY[0]:
            since_ns.setdefault(bookie, event.earliest_ns)
        elif bookie in since_ns:
            found.append((bookie, since_ns.pop(bookie), event.latest_ns))
    return [*found, *((bookie, at_ns, NEVER) for bookie, at_ns in since_ns.items())]
