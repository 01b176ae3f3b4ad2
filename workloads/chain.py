"""The ``chain`` load: one log made of ledgers, led by one client at a time, read as a whole by others.

As managed ledgers do it (Apache Pulsar, ``ManagedLedgerImpl``): the list of a log's ledgers is a znode,
written by compare-and-set on its version. A new leader reads the list, opens its last ledger with
recovery, creates a ledger, appends it to the list, and only then adds to it. A client that loses the
compare-and-set leads no longer. Readers read the list from first ledger to last, without recovery.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, field_validator

from cluster.commands import Chain
from cluster.interface import Cluster
from plans.names import ClientName, LogName, named_once
from protocol.errors import ClientError
from workloads.asking import Asker, LoadEndedError, Sayings, next_life
from workloads.crew import Crew, Job
from workloads.leadership import Leadership, Term
from workloads.leading import Leader, LeadingLoad
from workloads.registry import register
from workloads.rolling import RETRY_S, count, create, stop_adds

_LOOK_S = 0.5
_TOTALS = (
    *("ledgers", "acked", "unknown", "failed", "closed", "rolled"),
    *("recovered", "takeovers", "deposed", "passes", "read"),
)


@register
class ChainLoad(LeadingLoad):
    """The possible leaders, the readers, and the shape of the ledgers.

    ``log`` is its name. Each reader begins a pass ``read_every_s`` after its last one. Without
    ``recover`` a new leader leaves the last ledger as it is: a user's mistake, which does not fence the
    old leader.
    """

    kind = "chain"
    about = "one client leads a log of ledgers, another takes over, others read the whole log"
    totals = _TOTALS

    log: LogName = "log"
    readers: tuple[ClientName, ...] = ()
    entries_per_ledger: int = Field(default=200, ge=1)
    entry_bytes: int = Field(default=256, ge=64, le=4 * 1024 * 1024)
    read_every_s: float = Field(default=0.5, gt=0)
    recover: bool = True

    @field_validator("readers")
    @classmethod
    def _readers_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return named_once(value, "client")

    def jobs(self, cluster: Cluster, crew: Crew) -> Sequence[Job]:
        leadership = Leadership(self.writers[0], self.patience_s)

        def asker(name: str) -> Asker:
            return Asker(cluster.clients[name], crew.stop)

        members = [_Member(crew, asker(name), leadership, self).run for name in self.writers]
        return [*members, *(_Reader(crew, asker(name), self).run for name in self.readers)]


class _Member(Leader[ChainLoad]):
    """A client that may lead: it leads, or waits for the leader to hang."""

    def serve(self, claimed: Term) -> None:
        term: Term | None = None
        try:
            log = self._take_over()
            if log is not None:
                term = self.leadership.begin(self.asker.name, claimed, claimed.ledger)
            while term and log is not None and not self.crew.stop.is_set():
                log = self._write_ledger(term, log)
        finally:
            if term is None:
                self.leadership.give_back(claimed)
            else:
                self.leadership.leave(term)

    def _take_over(self) -> Chain | None:
        """The present log, its last ledger recovered; None when list or recovery is unavailable now."""
        log = self.asker.chain_list(self.params.log)
        if not log.ok:
            self.sayings.say(f"log {self.params.log} is not known: {log.refusal}")
            self.crew.stop.wait(RETRY_S)
            return None
        if log.ledgers:
            if self.params.recover and not self.recover(log.ledgers[-1]):
                return None
            self.crew.totals.add(takeovers=1)
            self.crew.say(f"{self.asker.name} takes over log {self.params.log}")
        return log

    def _write_ledger(self, term: Term, log: Chain) -> Chain | None:
        """Fill one more ledger and close it; the new log, or None when this client leads no longer."""
        handle = self.crew.new_handle(self.asker.name)
        ledger = create(self.asker, self.sayings, handle, self.params)
        if ledger is None:
            self.crew.stop.wait(RETRY_S)
            return log if self.leadership.holds(term) else None
        longer = self._extend(log, ledger)
        if longer is None:
            self.asker.release(handle)
            return None
        self.crew.created(self.asker.name, ledger)
        self.begin_adds(handle)
        self._await_end_of_adds(term, ledger, handle)
        return longer if self._end(ledger, handle) else None

    def _extend(self, log: Chain, ledger: int) -> Chain | None:
        """The log with one more ledger; None when another client wrote the list, or the result is unknown."""
        ledgers = (*log.ledgers, ledger)
        extended = self.asker.chain_extend(self.params.log, ledgers, log.version)
        if extended.ok:
            return extended.model_copy(update={"ledgers": ledgers})
        self.crew.totals.add(deposed=1)
        self.sayings.say(f"ledger {ledger} is not put into log {self.params.log}: {extended.refusal}")
        return None

    def _await_end_of_adds(self, term: Term, ledger: int, handle: str) -> None:
        """Wait until the ledger is full, or broken (fencing ends a replaced leader), or the load ends."""
        while not self.crew.stop.is_set():
            totals = self.asker.await_acked(handle, self.params.entries_per_ledger, _LOOK_S)
            self.leadership.works(term, ledger, totals.acked)
            if not totals.goes_on:
                return

    def _end(self, ledger: int, handle: str) -> bool:
        """Count the adds and close the ledger; whether it is closed, so that the next may follow."""
        added = stop_adds(self.asker, handle)
        count(self.crew, added)
        refusal = added.refusal
        if added.error is None:
            closed = self.asker.close(handle)
            if closed.ok:
                self.crew.totals.add(closed=1)
                return True
            refusal = closed.refusal
        self.crew.totals.add(rolled=1)
        self.sayings.say(f"ledger {ledger} broke: {refusal}")
        self.asker.release(handle)
        return False


class _Reader:
    """A client that reads the whole log again and again."""

    def __init__(self, crew: Crew, asker: Asker, params: ChainLoad) -> None:
        self._crew = crew
        self._asker = asker
        self._params = params
        self._sayings = Sayings(asker.name, crew.say)

    def run(self) -> None:
        """One pass after the other until the load ends."""
        while not self._crew.stop.wait(self._params.read_every_s):
            try:
                found = self._asker.chain_read(self._params.log)
            except LoadEndedError:
                return
            except ClientError:
                next_life(self._asker, self._sayings)
                continue
            if found.ok:
                self._crew.totals.add(passes=1, read=found.entries)
            else:
                self._sayings.say(f"log {self._params.log} is not read to its end: {found.refusal}")
