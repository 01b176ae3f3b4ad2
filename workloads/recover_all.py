"""The ``recover-all`` load: every ledger that is not closed is opened with recovery, once.

The newest come first, because a bookie that processes the ledgers in ascending order processes these last.
The load ends when each ledger was tried. The verdict judges the results of the recoveries.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, field_validator

from cluster.interface import Cluster
from plans.names import ClientName, named_once
from protocol.errors import ClientError
from protocol.metadata import LedgerState
from workloads.asking import Asker, LoadEndedError, Sayings, next_life
from workloads.crew import Crew, Inbox, Job, Rolled, next_in
from workloads.registry import Workload, register


@register
class RecoverAll(Workload):
    """The recoverers, and how many ledgers each recovers at a time."""

    kind = "recover-all"
    about = "every ledger that is not closed is opened with recovery, once; ends when each was tried"
    totals = ("recovered", "refused", "closed_already")

    recoverers: tuple[ClientName, ...] = Field(min_length=1)
    at_once: int = Field(default=8, ge=1, le=64)

    @field_validator("recoverers")
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return named_once(value, "client")

    def jobs(self, cluster: Cluster, crew: Crew) -> Sequence[Job]:
        """Each job takes from the remaining ledgers; the last one ends the load."""
        waiting = Inbox()
        for ledger in reversed(cluster.metadata.ledgers()):
            waiting.put(Rolled(ledger, ""))
        return [
            _Recoverer(crew, Asker(cluster.clients[name], crew.stop), cluster, waiting).run
            for name in self.recoverers
            for _ in range(self.at_once)
        ]


class _Recoverer:
    def __init__(self, crew: Crew, asker: Asker, cluster: Cluster, waiting: Inbox) -> None:
        self._crew = crew
        self._asker = asker
        self._cluster = cluster
        self._waiting = waiting
        self._sayings = Sayings(asker.name, crew.say)

    def run(self) -> None:
        """Try one ledger after the other until none is left, or the load ends."""
        while not self._crew.stop.is_set():
            rolled = next_in(self._waiting)
            if rolled is None:
                return
            try:
                self._try(rolled.ledger)
            except LoadEndedError:
                return
            except ClientError:
                next_life(self._asker, self._sayings)

    def _try(self, ledger: int) -> None:
        found = self._cluster.metadata.ledger(ledger)
        if found is None or found[0].state is LedgerState.CLOSED:
            self._crew.totals.add(closed_already=1)
            return
        handle = self._crew.new_handle(self._asker.name)
        opened = self._asker.open(handle, ledger, recovery=True)
        if opened.ok:
            self._crew.totals.add(recovered=1)
            self._asker.release(handle)
        else:
            self._crew.totals.add(refused=1)
            self._sayings.say(f"a ledger is not recovered: {opened.refusal}")
