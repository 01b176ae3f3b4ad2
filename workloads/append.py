"""The ``append`` load: writers that roll from ledger to ledger, tailing readers, and a closer.

A writer fills a ledger, closes it or leaves it open (a seeded choice), and begins the next. What
breaks a ledger (fencing, lost bookies, the writer's own death) makes it roll over early. Ledgers
left open are recovered by the closer, or without one by the next writer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random

from pydantic import BaseModel, Field, field_validator

from cluster.interface import Cluster
from plans.names import ClientName
from plans.shapes import LedgerShape
from protocol.errors import ClientError
from workloads.asking import Asker, LoadEndedError, Reply, Sayings, refused
from workloads.crew import Crew, Inbox, Rolled, next_in
from workloads.registry import register
from workloads.tailing import Tailer

_LOOK_S = 1.0
_RETRY_S = 0.25
_END_S = 10.0


class AppendLoad(LedgerShape):
    """Who writes, reads and closes, and what the ledgers are like; rates are for each writer."""

    writers: tuple[ClientName, ...] = Field(min_length=1)
    readers: tuple[ClientName, ...] = ()
    closer: ClientName | None = None
    entries_per_ledger: int = Field(default=1000, ge=1)
    entry_bytes: int = Field(default=1024, ge=64, le=4 * 1024 * 1024)
    rate_per_s: float | None = Field(default=None, gt=0)
    outstanding: int = Field(default=100, ge=1, le=100_000)
    close_fraction: float = Field(default=0.5, ge=0, le=1)

    @field_validator("writers", "readers")
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise ValueError(f"a client is named twice: {', '.join(value)}")
        return value


class _Heir:
    """Recovers ledgers that others left open."""

    def __init__(self, crew: Crew, asker: Asker, inbox: Inbox) -> None:
        self._crew = crew
        self._asker = asker
        self._inbox = inbox
        self._sayings = Sayings(asker.name, crew.say)

    def recover(self, rolled: Rolled) -> bool:
        """Open it with recovery, once; it goes back to the inbox when that does not succeed."""
        done = False
        try:
            handle = self._crew.new_handle(self._asker.name)
            reply = self._asker.ask("open", handle=handle, ledger=rolled.ledger, recovery=True)
            done = bool(reply["ok"])
            if done:
                self._crew.totals.add(recovered=1)
                rolled.settled.set()
                self._asker.ask("release", handle=handle)
            else:
                self._sayings.say(f"ledger {rolled.ledger} is not recovered yet: {refused(reply)}")
        finally:
            if not done:
                self._inbox.put(rolled)
        return done


class _Closer(_Heir):
    """A client that does nothing else."""

    def run(self) -> None:
        """Recover what comes in until the load ends; the rest stays open."""
        while not self._crew.stop.is_set():
            rolled = next_in(self._inbox, _RETRY_S)
            try:
                if rolled is not None and not self.recover(rolled):
                    self._crew.stop.wait(_RETRY_S)
            except LoadEndedError:
                return
            except ClientError:
                self._asker.wait_for_next_life()


class _Writer(_Heir):
    """A client that fills ledger after ledger."""

    def __init__(self, crew: Crew, asker: Asker, inbox: Inbox, params: AppendLoad, random: Random) -> None:
        super().__init__(crew, asker, inbox)
        self._params = params
        self._random = random

    def run(self) -> None:
        """Write until the load ends."""
        while not self._crew.stop.is_set():
            try:
                inherited = next_in(self._inbox)
                if inherited is not None:
                    self.recover(inherited)
                self._write_ledger()
            except LoadEndedError:
                return
            except ClientError:
                self._sayings.say("its process ended; waiting for its next start")
                self._asker.wait_for_next_life()

    def _write_ledger(self) -> None:
        params = self._params
        closes = self._random.random() < params.close_fraction
        handle = self._crew.new_handle(self._asker.name)
        reply = self._asker.ask(
            "create",
            handle=handle,
            ensemble=params.ensemble,
            write_quorum=params.write_quorum,
            ack_quorum=params.ack_quorum,
        )
        if not reply["ok"]:
            self._sayings.say(f"no ledger can be created: {refused(reply)}")
            self._crew.stop.wait(_RETRY_S)
            return
        rolled = self._crew.created(self._asker.name, reply["ledger"])
        try:
            whole = self._fill(rolled, handle)
            self._end(rolled, handle, close=whole and closes)
        finally:
            if not rolled.settled.is_set():
                self._crew.leave(rolled)

    def _fill(self, rolled: Rolled, handle: str) -> bool:
        """Add entries until the ledger is full, broken, or the load ends; whether it is full."""
        params = self._params
        pace = {} if params.rate_per_s is None else {"rate_per_s": params.rate_per_s}
        reply = self._asker.ask(
            "append",
            handle=handle,
            entries=params.entries_per_ledger,
            entry_bytes=params.entry_bytes,
            outstanding=params.outstanding,
            background=True,
            **pace,
        )
        if reply["ok"]:
            self._await_end_of_adds(handle)
        return self._count(rolled, self._asker.ask("stop", handle=handle, timeout_s=_END_S))

    def _await_end_of_adds(self, handle: str) -> None:
        entries = self._params.entries_per_ledger
        while not self._crew.stop.is_set():
            reply = self._asker.ask("await_acked", handle=handle, entries=entries, timeout_s=_LOOK_S)
            if not _still_going(reply):
                return

    def _count(self, rolled: Rolled, added: Reply) -> bool:
        acked = added.get("acked", 0)
        unknown = added.get("unknown", 0) + added.get("outstanding", 0)
        self._crew.totals.add(acked=acked, unknown=unknown, failed=added.get("failed", 0))
        if "error" in added:
            self._crew.totals.add(rolled=1)
            self._sayings.say(f"ledger {rolled.ledger} broke, rolls over: {refused(added)}")
        return bool(acked == self._params.entries_per_ledger)

    def _end(self, rolled: Rolled, handle: str, *, close: bool) -> None:
        if close:
            reply = self._asker.ask("close", handle=handle)
            if reply["ok"]:
                self._crew.totals.add(closed=1)
                rolled.settled.set()
                return
            self._sayings.say(f"ledger {rolled.ledger} is not closed: {refused(reply)}")
        self._asker.ask("release", handle=handle)


class _Append:
    """The registered load."""

    name = "append"
    about = "writers roll from ledger to ledger, readers tail them, a closer recovers what was left open"
    params: type[BaseModel] = AppendLoad

    def run(
        self,
        params: AppendLoad,
        cluster: Cluster,
        *,
        random: Random,
        stop: threading.Event,
        say: Callable[[str], None],
        opened: Callable[[str, int], None],
    ) -> dict[str, int]:
        """Work until ``stop``; what one member of the crew raises ends the load and is raised."""
        crew = Crew(f"{random.getrandbits(32):08x}", stop, say, opened)
        jobs = _jobs(params, cluster, crew, random)
        with ThreadPoolExecutor(len(jobs), thread_name_prefix="append") as pool:
            futures = [pool.submit(_ending_all, job, stop) for job in jobs]
        for future in futures:
            future.result()
        return crew.totals.counts()


def _jobs(params: AppendLoad, cluster: Cluster, crew: Crew, random: Random) -> list[Callable[[], None]]:
    def asker(name: str) -> Asker:
        return Asker(cluster.clients[name], crew.stop)

    inboxes: dict[str, Inbox] = {name: Inbox() for name in params.writers}
    jobs: list[Callable[[], None]] = []
    for number, name in enumerate(params.writers):
        following = params.writers[(number + 1) % len(params.writers)]
        crew.heirs[name] = inboxes[following]
        own = Random(random.getrandbits(64))
        jobs.append(_Writer(crew, asker(name), inboxes[name], params, own).run)
    if params.closer is not None:
        inbox = Inbox()
        crew.heirs.update(dict.fromkeys(params.writers, inbox))
        jobs.append(_Closer(crew, asker(params.closer), inbox).run)
    for name in params.readers:
        crew.followers.append(inbox := Inbox())
        jobs.append(Tailer(crew, asker(name), inbox, at_once=2 * len(params.writers) + 2).run)
    return jobs


def _ending_all(job: Callable[[], None], stop: threading.Event) -> None:
    try:
        job()
    except BaseException:
        stop.set()
        raise


def _still_going(reply: Reply) -> bool:
    """Whether ``await_acked`` only ran out of time; BookKeeper's own time-out has a code."""
    return reply.get("error") == "Timeout" and reply.get("code") is None


register(_Append())
