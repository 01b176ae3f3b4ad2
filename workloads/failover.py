"""The ``failover`` load: one client writes; when it hangs, another recovers its ledger and goes on.

The first writer is not notified that it was replaced. When it resumes, it continues to add to its old
handle, like a process after a long pause: only fencing keeps those adds from being acknowledged and lost
(*Fencing*, the scenario that violates persistence).
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from workloads.leading import Leader, Leadership, LeadingLoad, Term
from workloads.registry import Job, LoadContext, register


@register
class FailoverLoad(LeadingLoad):
    """One client writes; when it hangs, another takes over, and the first continues in its old ledger.

    It hangs when no add was acknowledged for ``patience_s``. A writer that finds itself replaced tries up to
    ``late_entries`` more on its old handle, until one is refused.
    """

    kind = "failover"
    totals = (
        "ledgers", "acked", "unknown", "failed", "closed", "rolled", "recovered",
        "takeovers", "late_acked", "late_refused",
    )  # fmt: skip

    late_entries: int = Field(default=20, ge=1)

    def jobs(self, context: LoadContext) -> Sequence[Job]:
        leadership = Leadership(self.writers[0], self.patience_s)
        return [_Member(self, context, name, leadership).run for name in self.writers]


class _Member(Leader[FailoverLoad]):
    """A client that may write."""

    def take_over(self, claimed: Term) -> Term | None:
        """Recover the ledger of the last writer, and its next ledger if it began one; None when refused."""
        term: Term | None = None
        while term is None:
            left = claimed.ledger
            if left is not None and not self.recover_or_wait(left):
                return None
            term = self.leadership.begin(self.name, claimed, left)
        if left is not None:
            self.context.totals.add(takeovers=1)
            self.context.say(f"{self.name} takes over from {claimed.writer}")
        return term

    def lead(self, term: Term) -> None:
        while self.leadership.holds(term) and not self.context.stop.is_set():
            self._write_ledger(term)

    def _write_ledger(self, term: Term) -> None:
        created = self.create(self.params)
        if created is None:
            return
        handle, ledger = created
        self.context.created(self.name, ledger)
        if not self.leadership.works(term, ledger, 0):
            self.asker.release(handle)  # replaced before it had begun
            return
        entries = self.params.entries_per_ledger
        self.begin_adds(handle, entries)
        self.await_adds(handle, entries, lambda totals: not self.leadership.works(term, ledger, totals.acked))
        added = self.end_adds(handle)
        if not self.leadership.holds(term):
            self._go_on(ledger, handle)
        elif added.error is not None:
            self.broke(ledger, added)
            self.asker.release(handle)
            self.recover_or_wait(ledger)
        else:
            self.close(ledger, handle)

    def _go_on(self, ledger: int, handle: str) -> None:
        """Keep adding to the old handle, which has not been notified of the other writer."""
        sizes = self.params
        late = self.asker.append(
            handle, sizes.late_entries, entry_bytes=sizes.entry_bytes, outstanding=sizes.outstanding
        )
        self.count(late)
        refusals = late.unknown + late.failed + late.outstanding
        self.context.totals.add(late_acked=late.acked, late_refused=refusals)
        self.say(f"was replaced and goes on in ledger {ledger}: {late.acked} acknowledged, {refusals} not")
        self.asker.release(handle)
