"""Writers that roll from ledger to ledger, readers that tail them, a closer: the ``append`` load and others.

A writer fills a ledger, closes it or leaves it open (a seeded choice), and begins the next. What
breaks a ledger (fencing, lost bookies, the writer's own death) makes it roll over early. Ledgers left
open are recovered by the closer, or without a closer by the next writer. Each load decides how a
ledger is filled, ``append`` with concurrent adds.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar, TypeVar

from pydantic import Field

from cluster.commands import CommandResult, Totals
from plans.grammar.names import ClientName, Clients
from protocol.errors import ClientError
from workloads.member import RETRY_S, LoadEndedError, Member, Writer
from workloads.registry import Inbox, Job, LoadContext, Rolled, WritingLoad, next_in, register

_LOOK_S = 0.2
_END_S = 1.0
TOTALS = ("ledgers", "acked", "unknown", "failed", "closed", "rolled", "recovered", "read")


class RollingLoad(WritingLoad):
    """The writers, readers and closer, and the shape of the ledgers; rates are for each writer."""

    totals: ClassVar[Sequence[str]] = TOTALS

    readers: Clients = ()
    closer: ClientName | None = None
    close_fraction: float = Field(default=0.5, ge=0, le=1)


RollingT = TypeVar("RollingT", bound=RollingLoad)


@dataclass(eq=False)
class _Heir(Writer[RollingT]):
    """Recovers ledgers that others left open."""

    inbox: Inbox

    def inherit(self, rolled: Rolled) -> bool:
        """Recover a ledger, once; it goes back to the inbox on failure."""
        try:
            if self.recover(rolled.ledger).ok:
                rolled.settled.set()
        finally:
            if not rolled.settled.is_set():
                self.inbox.put(rolled)
        return rolled.settled.is_set()


class _Closer(_Heir[RollingLoad]):
    """A client that only recovers ledgers; those left in its inbox at the end stay open."""

    def step(self) -> None:
        rolled = next_in(self.inbox, RETRY_S)
        if rolled is not None and not self.inherit(rolled):
            self.context.stop.wait(RETRY_S)

    def next_boot(self) -> None:
        self.asker.wait_for_next_boot()


@dataclass(eq=False)
class RollingWriter(_Heir[RollingT]):
    """A client that fills ledger after ledger; a load defines ``fill``, and whether adds are deferred."""

    deferred: ClassVar[bool | None] = None
    random: Random

    @abstractmethod
    def fill(self, ledger: int, handle: str) -> bool:
        """Add entries until the ledger is full, broken, or the load ends; whether it is full."""

    def step(self) -> None:
        """Take over a ledger that another writer left, or fill a new one."""
        inherited = next_in(self.inbox)
        if inherited is not None:
            self.inherit(inherited)
        closes = self.random.random() < self.params.close_fraction
        created = self.create(self.params, deferred=self.deferred)
        if created is None:
            return
        handle, ledger = created
        rolled = self.context.created(self.name, ledger)
        try:
            if self.fill(ledger, handle) and closes:
                if self.close(ledger, handle):
                    rolled.settled.set()
            else:
                self.asker.release(handle)
        finally:
            if not rolled.settled.is_set():
                self.context.heirs[self.name].put(rolled)

    def end_and_tell(self, ledger: int, handle: str) -> Totals:
        """The results of all adds of a ledger; a ledger that broke is reported."""
        added = self.end_adds(handle)
        if added.error is not None:
            self.broke(ledger, added)
        return added


@dataclass(eq=False)
class _Tailer(Member[RollingLoad]):
    """Opens each announced ledger without recovery and tails it in the background.

    At most two tails for each writer, and two, run at a time; the oldest is ended first, settled ledgers
    before others.
    """

    inbox: Inbox
    _tails: OrderedDict[str, Rolled] = field(default_factory=OrderedDict)

    def run(self) -> None:
        super().run()
        try:
            while self._tails:
                self._end(next(iter(self._tails)))
        except (ClientError, LoadEndedError):
            return

    def step(self) -> None:
        rolled = next_in(self.inbox, _LOOK_S)
        if rolled is not None:
            self._begin(rolled)
        while len(self._tails) > 2 * len(self.params.writers) + 2:
            settled = (handle for handle, rolled in self._tails.items() if rolled.settled.is_set())
            self._end(next(settled, next(iter(self._tails))))

    def next_boot(self) -> None:
        self._tails.clear()  # they died with the process
        self.asker.wait_for_next_boot()

    def _begin(self, rolled: Rolled) -> None:
        handle = self.new_handle()
        result: CommandResult = self.asker.open(handle, rolled.ledger, recovery=False)
        if result.ok:
            result = self.asker.tail(handle, background=True)
            self._tails[handle] = rolled
        if not result.ok:
            self.say(f"ledger {rolled.ledger} cannot be followed: {result.refusal}")

    def _end(self, handle: str) -> None:
        self._tails.pop(handle)
        self.context.totals.add(read=self.asker.stop(handle, _END_S).read)
        self.asker.release(handle)


def rolling_jobs(params: RollingT, context: LoadContext, writer: type[RollingWriter[RollingT]]) -> list[Job]:
    """The jobs of a load: writers in a ring of heirs, or with a closer; readers that tail."""
    inboxes: dict[str, Inbox] = {name: Inbox() for name in params.writers}
    found: list[Job] = []
    for number, name in enumerate(params.writers):
        following = params.writers[(number + 1) % len(params.writers)]
        context.heirs[name] = inboxes[following]
        own = Random(context.random.getrandbits(64))
        found.append(writer(params, context, name, inboxes[name], own).run)
    if params.closer is not None:
        inbox = Inbox()
        context.heirs.update(dict.fromkeys(params.writers, inbox))
        found.append(_Closer(params, context, params.closer, inbox).run)
    for name in params.readers:
        context.followers.append(inbox := Inbox())
        found.append(_Tailer(params, context, name, inbox).run)
    return found


@register
class AppendLoad(RollingLoad):
    """Writers fill one ledger after the other, readers tail them, a closer recovers abandoned ledgers.

    A ``close_fraction`` of the full ledgers is closed by their writer; the others are left open and recovered
    by the ``closer`` or the next writer. ``rate_per_s`` is for each writer.
    """

    kind = "append"

    def jobs(self, context: LoadContext) -> Sequence[Job]:
        return rolling_jobs(self, context, _AppendWriter)


class _AppendWriter(RollingWriter[AppendLoad]):
    def fill(self, ledger: int, handle: str) -> bool:
        entries = self.params.entries_per_ledger
        if self.begin_adds(handle, entries):
            self.await_adds(handle, entries)
        return self.end_and_tell(ledger, handle).acked == entries
