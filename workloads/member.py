"""A member of a load: one client that works through pauses, kills and restarts until the load ends.

The reply of a paused client is awaited. When its process has ended, the member waits for its next boot.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from cluster.commands import CommandResult, Commands, Known, Totals
from cluster.interface import Client, ProcessState
from cluster.servers.client import Reply, await_reply
from plans.grammar.steps import LedgerShape
from protocol.errors import ClientError, NotReadyError
from workloads.registry import LoadContext, Workload, WritingLoad

RETRY_S = 0.25
_LOOK_S = 0.1
_ACKED_LOOK_S = 0.5
PATIENCE_S = 30.0
_END_S = 10.0
_A_MOMENT_S = 0.2
_SAY_AGAIN_S = 10.0
LoadT = TypeVar("LoadT", bound=Workload)
WritingT = TypeVar("WritingT", bound=WritingLoad)


class LoadEndedError(NotReadyError):
    """The load was ended and the client did not reply within its remaining time."""


class Asker(Commands):
    """One user of one client; each thread has its own.

    After ``stop`` is set a reply is still waited for, but no longer than ``PATIENCE_S``. A command raises
    ``ClientError`` when the process ended before it replied, :class:`LoadEndedError` when the load ended and
    no reply came.
    """

    def __init__(self, client: Client, stop: threading.Event) -> None:
        super().__init__(client, self._await)
        self._stop = stop

    def wait_for_next_boot(self) -> None:
        """Wait until the client was started again and answers, or the load ends."""
        while not self._stop.wait(_LOOK_S):
            if self._client.state is not ProcessState.DOWN:
                with suppress(ClientError, LoadEndedError):
                    self.hello()
                    return

    def _await(self, future: Future[Reply], do: str) -> Reply:
        deadline: float | None = None

        def look() -> None:
            nonlocal deadline
            if deadline is None and self._stop.is_set():
                deadline = time.monotonic() + PATIENCE_S
            if deadline is not None and time.monotonic() > deadline:
                raise LoadEndedError(f"{self.name} did not reply to {do!r} within {PATIENCE_S:g} s")

        return await_reply(future, look)


@dataclass(eq=False)
class Member(ABC, Generic[LoadT]):
    """One client of a load: does :meth:`step` after step until it has ``finished`` or the load ends."""

    params: LoadT
    context: LoadContext
    name: str

    def __post_init__(self) -> None:
        self.asker = Asker(self.context.cluster.clients[self.name], self.context.stop)
        self.finished = False
        self._said, self._said_at_s = "", 0.0

    @abstractmethod
    def step(self) -> None:
        """Do one piece of the work; an error of the client is handled by :meth:`run`."""

    def run(self) -> None:
        """Do steps until it is finished or the load ends, across the boots of its client's process."""
        while not self.finished and not self.context.stop.is_set():
            try:
                self.step()
            except LoadEndedError:
                return
            except ClientError:
                self.next_boot()

    def next_boot(self) -> None:
        """The client's process is gone: wait until it is back or the load ends."""
        self.say("its process ended; waiting for its next start")
        self.asker.wait_for_next_boot()

    def say(self, what: str) -> None:
        """Report a sentence, unless it was the last one reported within ten seconds."""
        now = time.monotonic()
        if what != self._said or now - self._said_at_s > _SAY_AGAIN_S:
            self._said, self._said_at_s = what, now
            self.context.say(f"{self.name}: {what}")

    def new_handle(self) -> str:
        """A name for a handle that no other of the run has."""
        return self.context.new_handle(self.name)

    def create(self, shape: LedgerShape, *, deferred: bool | None = None) -> tuple[str, int] | None:
        """The handle and id of a new ledger; None, after a pause, when it cannot be created now."""
        handle = self.new_handle()
        created = self.asker.create(handle, shape, deferred=deferred)
        if created.ok:
            return handle, created.ledger
        self.say(f"no ledger can be created: {created.refusal}")
        self.context.stop.wait(RETRY_S)
        return None

    def recover(self, ledger: int, called: str = "") -> Known:
        """Open a ledger with recovery, once; counted when that succeeds, else reported as ``called``."""
        handle = self.new_handle()
        opened = self.asker.open(handle, ledger, recovery=True)
        if opened.ok:
            self.context.totals.add(recovered=1)
            self.asker.release(handle)
        else:
            self.say(f"{called or f'ledger {ledger}'} is not recovered yet: {opened.refusal}")
        return opened

    def count(self, added: Totals) -> None:
        """Add the results of adds to the totals; adds still in flight are unknown."""
        unknown = added.unknown + added.outstanding
        self.context.totals.add(acked=added.acked, unknown=unknown, failed=added.failed)


class Writer(Member[WritingT]):
    """A member that writes ledgers, in the way that the load's parameters say."""

    def append(self, handle: str, entries: int | None, *, background: bool | None = None) -> Totals:
        """Add entries as the load's parameters say; without a number until the end."""
        return self.asker.append(
            handle,
            entries,
            entry_bytes=self.params.entry_bytes,
            outstanding=self.params.outstanding,
            rate_per_s=self.params.rate_per_s,
            background=background,
        )

    def begin_adds(self, handle: str, entries: int | None) -> bool:
        """Begin to add; whether the client accepted the command."""
        return self.append(handle, entries, background=True).ok

    def await_adds(
        self, handle: str, entries: int, enough: Callable[[Totals], bool] = lambda _: False
    ) -> None:
        """Wait until ``entries`` adds are acknowledged, the ledger broke, the load ends, or ``enough``."""
        while not self.context.stop.is_set():
            totals = self.asker.await_acked(handle, entries, _ACKED_LOOK_S)
            if enough(totals) or not totals.goes_on:
                return

    def end_adds(self, handle: str) -> Totals:
        """End the adds of a handle and wait for adds in flight; the counted results of all its adds.

        The client reports the last add's result only on request, so this requests it.
        """
        added = self.asker.stop(handle, _A_MOMENT_S)
        deadline_s = time.monotonic() + _END_S
        while added.outstanding and time.monotonic() < deadline_s:
            time.sleep(_A_MOMENT_S)
            added = self.asker.status(handle)
        self.count(added)
        return added

    def broke(self, ledger: int, result: CommandResult) -> None:
        """Report and count a ledger that accepts no more adds."""
        self.context.totals.add(rolled=1)
        self.say(f"ledger {ledger} broke, rolls over: {result.refusal}")

    def close(self, ledger: int, handle: str) -> bool:
        """Close a ledger, or release its handle when that is refused; whether it is closed."""
        closed = self.asker.close(handle)
        if closed.ok:
            self.context.totals.add(closed=1)
        else:
            self.say(f"ledger {ledger} is not closed: {closed.refusal}")
            self.asker.release(handle)
        return closed.ok
