"""The ``recovery`` load: several recoverers open a ledger at the same time while its writer still writes.

A writer begins a ledger and adds; at a seeded count of acknowledged adds it is announced to every
recoverer, and all open it with recovery at once. The writer continues until it is fenced, then rolls over.
All recoveries of a ledger must end with the same last entry (the replication protocol, "Closing a
ledger as a reader"). The load counts how they ended; the verdict judges them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from pydantic import Field, field_validator

from cluster.interface import Cluster
from plans.names import ClientName, named_once
from plans.shapes import LedgerShape
from protocol.errors import ClientError
from workloads.asking import Asker, LoadEndedError, Sayings, next_life
from workloads.contests import Contest, Contests
from workloads.crew import Crew, Job
from workloads.registry import Workload, register
from workloads.rolling import LOOK_S, RETRY_S, count, create, stop_adds

_WITHOUT_END = 2**62
_TOTALS = ("ledgers", "acked", "unknown", "failed", "rolled", "recovered", "refused", "agreed", "disagreed")


@register
class RecoveryLoad(LedgerShape, Workload):
    """The writers, the recoverers, and the shape of the ledgers; rates are for each writer.

    Recoverers begin when between none and ``entries_per_ledger`` adds are acknowledged, or when the
    ledger broke before.
    """

    kind = "recovery"
    about = "several recoverers open a ledger at the same time while its writer still writes"
    totals = _TOTALS

    writers: tuple[ClientName, ...] = Field(min_length=1)
    recoverers: tuple[ClientName, ...] = Field(min_length=2)
    entries_per_ledger: int = Field(default=500, ge=1)
    entry_bytes: int = Field(default=1024, ge=64, le=4 * 1024 * 1024)
    outstanding: int = Field(default=100, ge=1, le=100_000)
    rate_per_s: float | None = Field(default=None, gt=0)

    @field_validator("writers", "recoverers")
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return named_once(value, "client")

    def jobs(self, cluster: Cluster, crew: Crew) -> Sequence[Job]:
        contests = Contests(crew, self.recoverers)

        def asker(name: str) -> Asker:
            return Asker(cluster.clients[name], crew.stop)

        jobs = [_Recoverer(crew, asker(name), contests).run for name in self.recoverers]
        for name in self.writers:
            own = Random(crew.random.getrandbits(64))
            jobs.append(_Writer(crew, asker(name), contests, self, own).run)
        return jobs


class _Recoverer:
    """A client that recovers one ledger after the other, each until it succeeds."""

    def __init__(self, crew: Crew, asker: Asker, contests: Contests) -> None:
        self._crew = crew
        self._asker = asker
        self._contests = contests
        self._sayings = Sayings(asker.name, crew.say)

    def run(self) -> None:
        """Recover until the load ends."""
        place = 0
        while not self._crew.stop.is_set():
            contest = self._contests.at(place)
            if contest is None:
                continue
            try:
                contest.meet()
                while not self._recover(contest) and not self._crew.stop.wait(RETRY_S):
                    pass
                place += 1
            except LoadEndedError:
                return
            except ClientError:
                next_life(self._asker, self._sayings)

    def _recover(self, contest: Contest) -> bool:
        handle = self._crew.new_handle(self._asker.name)
        opened = self._asker.open(handle, contest.ledger, recovery=True)
        if opened.last_entry is None:
            self._crew.totals.add(refused=1)
            self._sayings.say(f"ledger {contest.ledger} is not recovered yet: {opened.refusal}")
            return False
        self._crew.totals.add(recovered=1)
        self._contests.ended(contest, self._asker.name, opened.last_entry)
        self._asker.release(handle)
        return True


class _Writer:
    """A client whose ledgers are recovered while it writes."""

    def __init__(
        self, crew: Crew, asker: Asker, contests: Contests, params: RecoveryLoad, random: Random
    ) -> None:
        self._crew = crew
        self._asker = asker
        self._contests = contests
        self._params = params
        self._random = random
        self._sayings = Sayings(asker.name, crew.say)

    def run(self) -> None:
        """Write until the load ends."""
        while not self._crew.stop.is_set():
            try:
                self._write_ledger()
            except LoadEndedError:
                return
            except ClientError:
                next_life(self._asker, self._sayings)

    def _write_ledger(self) -> None:
        """Add until the ledger breaks; if it was not fenced, until a moment after all recovered it."""
        taken_at = self._random.randint(0, self._params.entries_per_ledger)
        handle = self._crew.new_handle(self._asker.name)
        ledger = create(self._asker, self._sayings, handle, self._params)
        if ledger is None:
            self._crew.stop.wait(RETRY_S)
            return
        self._crew.created(self._asker.name, ledger)
        contest: Contest | None = None
        try:
            self._begin_adds(handle)
            self._await(handle, taken_at)
            contest = self._contests.begin(ledger)
            self._await(handle, _WITHOUT_END, contest.over.is_set)
            self._asker.await_acked(handle, _WITHOUT_END, LOOK_S)
            self._end(ledger, handle)
        finally:
            if contest is None:  # the writer died first: its ledger is recovered all the same
                self._contests.begin(ledger)

    def _begin_adds(self, handle: str) -> None:
        """Add without a limit: only a fence or the end of the load stops the adds."""
        self._asker.append(
            handle,
            None,
            entry_bytes=self._params.entry_bytes,
            outstanding=self._params.outstanding,
            rate_per_s=self._params.rate_per_s,
            background=True,
        )

    def _await(self, handle: str, entries: int, enough: Callable[[], bool] = lambda: False) -> None:
        """Wait until ``entries`` adds are acknowledged, the ledger broke, the load ends or ``enough()``."""
        while not self._crew.stop.is_set() and not enough():
            if not self._asker.await_acked(handle, entries, LOOK_S).goes_on:
                return

    def _end(self, ledger: int, handle: str) -> None:
        added = stop_adds(self._asker, handle)
        count(self._crew, added)
        if added.error is not None:
            self._crew.totals.add(rolled=1)
            self._sayings.say(f"ledger {ledger} broke, rolls over: {added.refusal}")
        self._asker.release(handle)
