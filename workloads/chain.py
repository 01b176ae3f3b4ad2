"""The ``chain`` load: one log made of ledgers, led by one client at a time, read as a whole by others.

As managed ledgers do it (Apache Pulsar, ``ManagedLedgerImpl``): the list of a log's ledgers is a znode,
written by compare-and-set on its version. A new leader reads the list, opens its last ledger with
recovery, creates a ledger, appends it to the list, and only then adds to it. A client that loses the
compare-and-set leads no longer. Readers read the list from first ledger to last, without recovery.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from cluster.commands import Chain, Totals
from plans.grammar.names import Clients, LogName
from workloads.leading import Leader, Leadership, LeadingLoad, Term
from workloads.member import RETRY_S, Member
from workloads.registry import Job, LoadContext, register


@register
class ChainLoad(LeadingLoad):
    """One client leads a log of ledgers, another takes over, others read the whole log.

    The log is a list of ledgers in a znode, written by compare-and-set; ``log`` is its name. A new leader
    recovers the last ledger and adds one to the list. Each reader begins a pass ``read_every_s`` after its
    last one. Without ``recover`` a new leader leaves the last ledger unfenced: a user's mistake, to be found.
    """

    kind = "chain"
    totals = (
        "ledgers", "acked", "unknown", "failed", "closed", "rolled",
        "recovered", "takeovers", "deposed", "passes", "read",
    )  # fmt: skip

    log: LogName = "log"
    readers: Clients = ()
    entries_per_ledger: int = Field(default=200, ge=1)
    entry_bytes: int = Field(default=256, ge=64, le=4 * 1024 * 1024)
    read_every_s: float = Field(default=0.5, gt=0)
    recover: bool = True

    def jobs(self, context: LoadContext) -> Sequence[Job]:
        leadership = Leadership(self.writers[0], self.patience_s)
        members = [_Member(self, context, name, leadership).run for name in self.writers]
        return [*members, *(_Reader(self, context, name).run for name in self.readers)]


class _Member(Leader[ChainLoad]):
    """A client that may lead the log; ``_log`` is the log as its leader knows it."""

    _log: Chain

    def take_over(self, claimed: Term) -> Term | None:
        """Read the present log and recover its last ledger; None when one of both is unavailable now."""
        self._log = self.asker.chain_list(self.params.log)
        if not self._log.ok:
            self.say(f"log {self.params.log} is not known: {self._log.refusal}")
            self.context.stop.wait(RETRY_S)
            return None
        if self._log.ledgers:
            if self.params.recover and not self.recover_or_wait(self._log.ledgers[-1]):
                return None
            self.context.totals.add(takeovers=1)
            self.context.say(f"{self.name} takes over log {self.params.log}")
        return self.leadership.begin(self.name, claimed, claimed.ledger)

    def lead(self, term: Term) -> None:
        while not self.context.stop.is_set() and self._write_ledger(term):
            pass

    def _write_ledger(self, term: Term) -> bool:
        """Fill one more ledger and close it; whether this client may go on leading."""
        created = self.create(self.params)
        if created is None:
            return self.leadership.holds(term)
        handle, ledger = created
        if not self._extend(ledger):
            self.asker.release(handle)
            return False
        self.context.created(self.name, ledger)

        def progress(totals: Totals) -> bool:
            self.leadership.works(term, ledger, totals.acked)
            return False  # a leader that was replaced is ended by fencing

        self.begin_adds(handle, self.params.entries_per_ledger)
        self.await_adds(handle, self.params.entries_per_ledger, progress)
        return self._end(ledger, handle)

    def _extend(self, ledger: int) -> bool:
        """Append a ledger to the log; False when another client wrote the list, or the result is unknown."""
        ledgers = (*self._log.ledgers, ledger)
        extended = self.asker.chain_extend(self.params.log, ledgers, self._log.version)
        if extended.ok:
            self._log = extended.model_copy(update={"ledgers": ledgers})
        else:
            self.context.totals.add(deposed=1)
            self.say(f"ledger {ledger} is not put into log {self.params.log}: {extended.refusal}")
        return extended.ok

    def _end(self, ledger: int, handle: str) -> bool:
        """Count the adds and close the ledger; whether it is closed, so that the next may follow."""
        added = self.end_adds(handle)
        if added.error is None:
            if self.close(ledger, handle):
                return True
        else:
            self.say(f"ledger {ledger} broke: {added.refusal}")
            self.asker.release(handle)
        self.context.totals.add(rolled=1)
        return False


class _Reader(Member[ChainLoad]):
    """A client that reads the whole log again and again."""

    def step(self) -> None:
        if self.context.stop.wait(self.params.read_every_s):
            return
        found = self.asker.chain_read(self.params.log)
        if found.ok:
            self.context.totals.add(passes=1, read=found.entries)
        else:
            self.say(f"log {self.params.log} is not read to its end: {found.refusal}")
