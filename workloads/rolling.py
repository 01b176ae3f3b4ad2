"""Writers that roll from ledger to ledger, and the client that recovers the ledgers that they leave open.

A writer fills a ledger, closes it or leaves it open (a seeded choice), and begins the next. What
breaks a ledger (fencing, lost bookies, the writer's own death) makes it roll over early. Ledgers left
open are recovered by the closer, or without a closer by the next writer. Each load decides how a
ledger is created and filled.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from random import Random
from typing import ClassVar, Generic, TypeVar

from pydantic import Field, field_validator

from cluster.commands import Result, Totals
from cluster.interface import Cluster
from plans.names import ClientName, named_once
from plans.shapes import LedgerShape
from protocol.errors import ClientError
from workloads.asking import Asker, LoadEndedError, Sayings, next_life
from workloads.crew import Crew, Inbox, Job, Rolled, next_in
from workloads.registry import Workload
from workloads.tailing import Tailer

LOOK_S = 1.0
RETRY_S = 0.25
_END_S = 10.0
_A_MOMENT_S = 0.2
TOTALS = ("ledgers", "acked", "unknown", "failed", "closed", "rolled", "recovered", "read")


class RollingLoad(LedgerShape, Workload):
    """The writers, readers and closer, and the shape of the ledgers."""

    writers: tuple[ClientName, ...] = Field(min_length=1)
    readers: tuple[ClientName, ...] = ()
    closer: ClientName | None = None
    entries_per_ledger: int = Field(default=1000, ge=1)
    entry_bytes: int = Field(default=1024, ge=64, le=4 * 1024 * 1024)
    outstanding: int = Field(default=100, ge=1, le=100_000)
    close_fraction: float = Field(default=0.5, ge=0, le=1)

    @field_validator("writers", "readers")
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return named_once(value, "client")


class _Heir:
    """Recovers ledgers that others left open."""

    def __init__(self, crew: Crew, asker: Asker, inbox: Inbox) -> None:
        self.crew = crew
        self.asker = asker
        self.sayings = Sayings(asker.name, crew.say)
        self._inbox = inbox

    def recover(self, rolled: Rolled) -> bool:
        """Open a ledger with recovery, once; it goes back to the inbox on failure."""
        done = False
        try:
            handle = self.crew.new_handle(self.asker.name)
            opened = self.asker.open(handle, rolled.ledger, recovery=True)
            done = opened.ok
            if done:
                self.crew.totals.add(recovered=1)
                rolled.settled.set()
                self.asker.release(handle)
            else:
                self.sayings.say(f"ledger {rolled.ledger} is not recovered yet: {opened.refusal}")
        finally:
            if not done:
                self._inbox.put(rolled)
        return done


class _Closer(_Heir):
    """A client that only recovers ledgers."""

    def run(self) -> None:
        """Recover ledgers from the inbox until the load ends; the rest stays open."""
        while not self.crew.stop.is_set():
            rolled = next_in(self._inbox, RETRY_S)
            try:
                if rolled is not None and not self.recover(rolled):
                    self.crew.stop.wait(RETRY_S)
            except LoadEndedError:
                return
            except ClientError:
                self.asker.wait_for_next_life()


LoadT = TypeVar("LoadT", bound=RollingLoad)


class RollingWriter(_Heir, ABC, Generic[LoadT]):
    """A client that fills ledger after ledger; a load defines ``fill``, and whether adds are deferred."""

    deferred: ClassVar[bool | None] = None

    def __init__(self, crew: Crew, asker: Asker, inbox: Inbox, params: LoadT, random: Random) -> None:
        super().__init__(crew, asker, inbox)
        self.params = params
        self._random = random

    @abstractmethod
    def fill(self, rolled: Rolled, handle: str) -> bool:
        """Add entries until the ledger is full, broken, or the load ends; whether it is full."""

    def run(self) -> None:
        """Write until the load ends."""
        while not self.crew.stop.is_set():
            try:
                inherited = next_in(self._inbox)
                if inherited is not None:
                    self.recover(inherited)
                self._write_ledger()
            except LoadEndedError:
                return
            except ClientError:
                next_life(self.asker, self.sayings)

    def _write_ledger(self) -> None:
        closes = self._random.random() < self.params.close_fraction
        handle = self.crew.new_handle(self.asker.name)
        ledger = create(self.asker, self.sayings, handle, self.params, deferred=self.deferred)
        if ledger is None:
            self.crew.stop.wait(RETRY_S)
            return
        rolled = self.crew.created(self.asker.name, ledger)
        try:
            whole = self.fill(rolled, handle)
            self._end(rolled, handle, close=whole and closes)
        finally:
            if not rolled.settled.is_set():
                self.crew.leave(rolled)

    def append_in_background(self, handle: str, entries: int, rate_per_s: float | None) -> bool:
        """Begin to add; whether the client accepted the command."""
        return self.asker.append(
            handle,
            entries,
            entry_bytes=self.params.entry_bytes,
            outstanding=self.params.outstanding,
            rate_per_s=rate_per_s,
            background=True,
        ).ok

    def stop_and_count(self, rolled: Rolled, handle: str) -> Totals:
        """End the adds of a handle and wait for adds in flight; their results."""
        added = stop_adds(self.asker, handle)
        count(self.crew, added)
        if added.error is not None:
            self.broke(rolled, added)
        return added

    def broke(self, rolled: Rolled, result: Result) -> None:
        """Report and count a ledger that accepts no more adds."""
        self.crew.totals.add(rolled=1)
        self.sayings.say(f"ledger {rolled.ledger} broke, rolls over: {result.refusal}")

    def _end(self, rolled: Rolled, handle: str, *, close: bool) -> None:
        if close:
            closed = self.asker.close(handle)
            if closed.ok:
                self.crew.totals.add(closed=1)
                rolled.settled.set()
                return
            self.sayings.say(f"ledger {rolled.ledger} is not closed: {closed.refusal}")
        self.asker.release(handle)


def create(
    asker: Asker, sayings: Sayings, handle: str, shape: LedgerShape, *, deferred: bool | None = None
) -> int | None:
    """A new ledger of that shape under the handle's name, or None when it cannot be created now."""
    created = asker.create(handle, shape, deferred=deferred)
    if not created.ok:
        sayings.say(f"no ledger can be created: {created.refusal}")
        return None
    return created.ledger


def stop_adds(asker: Asker, handle: str) -> Totals:
    """End the adds of a handle and wait for adds in flight; the results of all adds of the handle.

    The client reports the last add's result only on request, so this requests it.
    """
    added = asker.stop(handle, _A_MOMENT_S)
    deadline_s = time.monotonic() + _END_S
    while added.outstanding and time.monotonic() < deadline_s:
        time.sleep(_A_MOMENT_S)
        added = asker.status(handle)
    return added


def count(crew: Crew, added: Totals) -> None:
    """Add the results of adds to the totals; adds still in flight are unknown."""
    crew.totals.add(acked=added.acked, unknown=added.unknown + added.outstanding, failed=added.failed)


def rolling_jobs(
    params: LoadT,
    cluster: Cluster,
    crew: Crew,
    writer: Callable[[Crew, Asker, Inbox, LoadT, Random], RollingWriter[LoadT]],
) -> list[Job]:
    """The jobs of a load: writers in a ring of heirs, or with a closer; readers that tail."""

    def asker(name: str) -> Asker:
        return Asker(cluster.clients[name], crew.stop)

    inboxes: dict[str, Inbox] = {name: Inbox() for name in params.writers}
    found: list[Job] = []
    for number, name in enumerate(params.writers):
        following = params.writers[(number + 1) % len(params.writers)]
        crew.heirs[name] = inboxes[following]
        own = Random(crew.random.getrandbits(64))
        found.append(writer(crew, asker(name), inboxes[name], params, own).run)
    if params.closer is not None:
        inbox = Inbox()
        crew.heirs.update(dict.fromkeys(params.writers, inbox))
        found.append(_Closer(crew, asker(params.closer), inbox).run)
    for name in params.readers:
        crew.followers.append(inbox := Inbox())
        found.append(Tailer(crew, asker(name), inbox, at_once=2 * len(params.writers) + 2).run)
    return found
