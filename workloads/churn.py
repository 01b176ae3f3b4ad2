"""The ``churn`` load: ledgers come and go, and the bookies collect what was deleted.

Writers roll from ledger to ledger as in the append load. A deleter keeps the newest few of each and
deletes the rest, oldest first, once they are settled (closed, or recovered by the closer). It then asks
the bookies about each deleted ledger until all of them answer NoSuchLedger, as they do after their
next garbage collection (``gcWaitTime``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import Field

from plans.grammar.names import ClientName
from protocol.wire import NO_LEDGER
from workloads.member import RETRY_S, Member
from workloads.registry import Inbox, Job, LoadContext, Rolled, next_in, register
from workloads.rolling import TOTALS, AppendLoad

_ANY_ENTRY = 0
_NO_METADATA = -25
"""``NoSuchLedgerExistsOnMetadataServer``: an earlier delete succeeded although its reply was lost."""


@register
class ChurnLoad(AppendLoad):
    """Writers fill one ledger after the other, a deleter deletes the older ones, bookies collect them.

    As the append load; the ``deleter`` leaves ``keep`` settled ledgers of each writer, and looks until the
    bookies have collected the deleted ones (``gcWaitTime``).
    """

    kind = "churn"
    totals = (*TOTALS, "deleted", "collected", "uncollected")

    deleter: ClientName
    keep: int = Field(default=3, ge=0)

    def jobs(self, context: LoadContext) -> Sequence[Job]:
        """Of the ``deleted`` ledgers some are ``collected`` by all bookies, the others ``uncollected``."""
        context.followers.append(inbox := Inbox())
        return [*super().jobs(context), _Deleter(self, context, self.deleter, inbox).run]


@dataclass(eq=False)
class _Deleter(Member[ChurnLoad]):
    """Deletes settled ledgers and checks whether bookies collect their data."""

    inbox: Inbox
    _known: dict[str, list[Rolled]] = field(default_factory=dict)
    _garbage: deque[int] = field(default_factory=deque)

    def run(self) -> None:
        """Work until the load ends; ledgers that a last check still finds are counted as not collected."""
        super().run()
        self._look()
        self.context.totals.add(uncollected=len(self._garbage))

    def step(self) -> None:
        rolled = next_in(self.inbox, RETRY_S)
        if rolled is not None:
            self._known.setdefault(rolled.writer, []).append(rolled)
        for known in self._known.values():
            settled = [rolled for rolled in known if rolled.settled.is_set()]
            for doomed in settled[: max(0, len(settled) - self.params.keep)]:  # the oldest first
                if not self._delete(doomed.ledger):
                    break
                known.remove(doomed)
        self._look()

    def _delete(self, ledger: int) -> bool:
        deleted = self.asker.delete(ledger)
        gone = deleted.ok or deleted.code == _NO_METADATA
        if gone:
            self.context.totals.add(deleted=1)
            self._garbage.append(ledger)
        else:
            self.say(f"ledger {ledger} is not deleted: {deleted.refusal}")
        return gone

    def _look(self) -> None:
        """Ask about deleted ledgers, oldest first, up to the first that a bookie still has."""
        while self._garbage:
            cluster = self.context.cluster
            answers = (cluster.answer(bookie, self._garbage[0], _ANY_ENTRY) for bookie in cluster.bookies)
            if not all(status == NO_LEDGER for status in answers):
                return
            self._garbage.popleft()
            self.context.totals.add(collected=1)
