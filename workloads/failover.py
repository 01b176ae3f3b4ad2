"""The ``failover`` load: one client writes; when it hangs, another recovers its ledger and goes on.

The first writer is not notified that it was replaced. When it resumes, it continues to add to its old
handle, like a process after a long pause: only fencing keeps those adds from being acknowledged and lost
(*Fencing*, the scenario that violates persistence).
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from cluster.interface import Cluster
from workloads.asking import Asker
from workloads.crew import Crew, Job
from workloads.leadership import Leadership, Term
from workloads.leading import Leader, LeadingLoad
from workloads.registry import register
from workloads.rolling import RETRY_S, count, create, stop_adds

_LOOK_S = 0.5
_TOTALS = (
    "ledgers",
    *("acked", "unknown", "failed", "closed", "rolled", "recovered"),
    *("takeovers", "late_acked", "late_refused"),
)


@register
class FailoverLoad(LeadingLoad):
    """The possible writers, and the shape of the ledgers.

    A writer that finds itself replaced tries up to ``late_entries`` more on its old handle, until one is
    refused.
    """

    kind = "failover"
    about = "one client writes; when it hangs, another takes over, and the first continues in its old ledger"
    totals = _TOTALS

    late_entries: int = Field(default=20, ge=1)

    def jobs(self, cluster: Cluster, crew: Crew) -> Sequence[Job]:
        leadership = Leadership(self.writers[0], self.patience_s)
        return [
            _Member(crew, Asker(cluster.clients[name], crew.stop), leadership, self).run
            for name in self.writers
        ]


class _Member(Leader[FailoverLoad]):
    """A client that may write: it leads, or waits for the leader to hang."""

    def serve(self, claimed: Term) -> None:
        """Recover the last writer's ledger, then write until another client takes over."""
        term: Term | None = None
        try:
            term = self._take_over(claimed)
            while term and self.leadership.holds(term) and not self.crew.stop.is_set():
                self._write_ledger(term)
        finally:
            if term is None:
                self.leadership.give_back(claimed)
            else:
                self.leadership.leave(term)

    def _take_over(self, claimed: Term) -> Term | None:
        """Recover the ledger of the last writer, and its next ledger if it began one; None when refused."""
        term: Term | None = None
        while term is None:
            left = claimed.ledger
            if left is not None and not self.recover(left):
                return None
            term = self.leadership.begin(self.asker.name, claimed, left)
        if left is not None:
            self.crew.totals.add(takeovers=1)
            self.crew.say(f"{self.asker.name} takes over from {claimed.writer}")
        return term

    def _write_ledger(self, term: Term) -> None:
        handle = self.crew.new_handle(self.asker.name)
        ledger = create(self.asker, self.sayings, handle, self.params)
        if ledger is None:
            self.crew.stop.wait(RETRY_S)
            return
        self.crew.created(self.asker.name, ledger)
        if not self.leadership.works(term, ledger, 0):
            self.asker.release(handle)  # replaced before it had begun
            return
        self.begin_adds(handle)
        in_office = self._await_end_of_adds(term, ledger, handle)
        added = stop_adds(self.asker, handle)
        count(self.crew, added)
        if not in_office:
            self._go_on(ledger, handle)
        elif added.error is not None:
            self.crew.totals.add(rolled=1)
            self.sayings.say(f"ledger {ledger} broke, rolls over: {added.refusal}")
            self.asker.release(handle)
            self.recover(ledger)
        else:
            self._close(ledger, handle)

    def _await_end_of_adds(self, term: Term, ledger: int, handle: str) -> bool:
        """Wait until the ledger is full or broken, or the load ends; whether this client still leads."""
        entries = self.params.entries_per_ledger
        while not self.crew.stop.is_set():
            totals = self.asker.await_acked(handle, entries, _LOOK_S)
            if not self.leadership.works(term, ledger, totals.acked):
                return False
            if not totals.goes_on:
                return True
        return True

    def _go_on(self, ledger: int, handle: str) -> None:
        """Keep adding to the old handle, which has not been notified of the other writer."""
        sizes = self.params
        late = self.asker.append(
            handle, sizes.late_entries, entry_bytes=sizes.entry_bytes, outstanding=sizes.outstanding
        )
        count(self.crew, late)
        refusals = late.unknown + late.failed + late.outstanding
        self.crew.totals.add(late_acked=late.acked, late_refused=refusals)
        self.sayings.say(
            f"was replaced and goes on in ledger {ledger}: {late.acked} acknowledged, {refusals} not"
        )
        self.asker.release(handle)

    def _close(self, ledger: int, handle: str) -> None:
        closed = self.asker.close(handle)
        if closed.ok:
            self.crew.totals.add(closed=1)
            return
        self.sayings.say(f"ledger {ledger} is not closed: {closed.refusal}")
        self.asker.release(handle)
