"""The state of the servers in a time: which ran, which had lost state, which faults were not healed.

Read from the boots and faults of :class:`checkers.contract.RunFacts` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checkers.contract import RunFacts
from checkers.facts.alterations import alterations
from checkers.facts.boots import Boot, boots_of
from checkers.facts.wording import bookie_name
from evidence.codes import NEVER
from protocol.addresses import OBSERVER, PROXY, ZOOKEEPER
from protocol.faults import UNPLANNED

_NEEDED = (OBSERVER, PROXY, ZOOKEEPER)


@dataclass(frozen=True)
class Health:
    """The state of a run's servers over one stretch of time (ns)."""

    run: RunFacts
    began_ns: int
    ended_ns: int

    def ailing(self) -> list[str]:
        """Why progress was not promised all the while, as short sentences; empty when all was well."""
        return [*self._down(), *self._faults()]

    def _down(self) -> Iterator[str]:
        for bookie in sorted(self.run.bookies.values()):
            if self.boot(bookie) is None:
                yield f"{bookie_name(self.run, bookie)} was not up"

    def _faults(self) -> Iterator[str]:
        for fault in self.run.faults:
            name = f"fault {fault['fault']} ({fault['kind']} {fault['target']})"
            if fault["kind"] == UNPLANNED:
                if fault["target"] in _NEEDED and fault["confirmed_ns"] <= self.ended_ns:
                    yield f"{fault['target']} had died"
            elif fault["injected_ns"] != NEVER and fault["healed_ns"] > self.began_ns:
                yield f"{name} was not healed"

    def boot(self, bookie: int) -> Boot | None:
        """The boot of a bookie that lived all the while, or None."""
        for boot in boots_of(self.run).get(bookie, ()):
            if boot.started_ns < self.began_ns and boot.dying_ns > self.ended_ns:
                return boot
        return None

    def lossy(self) -> dict[int, str]:
        """Bookies that may have lost what they had by then -> why."""
        found = {
            bookie: f"what {bookie_name(self.run, bookie)}'s disk holds was changed by {change.by}"
            for change in reversed(alterations(self.run))
            for bookie in change.bookies
        }
        for bookie, boots in boots_of(self.run).items():
            for boot in boots:
                if boot.unclean and boot.dying_ns <= self.ended_ns:
                    found.setdefault(bookie, f"{bookie_name(self.run, bookie)} boot {boot.number} {boot.how}")
        return found
