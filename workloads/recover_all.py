"""The ``recover-all`` load: every ledger that is not closed is opened with recovery, once.

The newest come first, because a bookie that processes the ledgers in ascending order processes these last.
The load ends when each ledger was tried. The verdict judges the results of the recoveries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from queue import SimpleQueue

from pydantic import Field

from plans.grammar.names import Clients
from protocol.errors import ServerError
from protocol.metadata import LedgerState
from workloads.member import RETRY_S, Member
from workloads.registry import Job, LoadContext, Workload, next_in, register


@register
class RecoverAll(Workload):
    """Every ledger that is not closed is opened with recovery, once; ends when each was tried.

    Each recoverer recovers ``at_once`` ledgers at a time.
    """

    kind = "recover-all"
    totals = ("recovered", "refused", "closed_already")

    recoverers: Clients = Field(min_length=1)
    at_once: int = Field(default=8, ge=1, le=64)

    def jobs(self, context: LoadContext) -> Sequence[Job]:
        """Each job takes from the remaining ledgers; the last one ends the load."""
        waiting = SimpleQueue[int]()
        for ledger in reversed(context.cluster.metadata.ledgers()):
            waiting.put(ledger)
        names = [name for name in self.recoverers for _ in range(self.at_once)]
        return [_Recoverer(self, context, name, waiting).run for name in names]


@dataclass(eq=False)
class _Recoverer(Member[RecoverAll]):
    """Tries one ledger after the other until none is left."""

    waiting: SimpleQueue[int]

    def step(self) -> None:
        ledger = next_in(self.waiting)
        if ledger is None:
            self.finished = True
            return
        try:
            found = self.context.cluster.metadata.ledger(ledger)
        except ServerError as error:  # ZooKeeper is away
            self.say(f"a ledger is left for later: {error}")
            self.waiting.put(ledger)
            self.context.stop.wait(RETRY_S)
            return
        if found is None or found[0].state is LedgerState.CLOSED:
            self.context.totals.add(closed_already=1)
            return
        if not self.recover(ledger, "a ledger").ok:  # one sentence for very many ledgers
            self.context.totals.add(refused=1)
