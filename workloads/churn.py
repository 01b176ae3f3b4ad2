"""The ``churn`` load: ledgers come and go, and the bookies collect what was deleted.

Writers roll from ledger to ledger as in the append load. A deleter keeps the newest few of each and
deletes the rest, oldest first, once they are settled (closed, or recovered by the closer). It then asks
the bookies about each deleted ledger until all of them answer NoSuchLedger, as they do after their
next garbage collection (``gcWaitTime``).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from pydantic import Field

from cluster.interface import Cluster
from plans.names import ClientName
from protocol.errors import ClientError
from protocol.wire import NO_LEDGER
from workloads.append import AppendLoad
from workloads.asking import Asker, LoadEndedError, Sayings, next_life
from workloads.crew import Crew, Inbox, Job, Rolled, next_in
from workloads.registry import register
from workloads.rolling import RETRY_S, TOTALS

_ANY_ENTRY = 0
_NO_METADATA = -25
"""``NoSuchLedgerExistsOnMetadataServer``: an earlier delete succeeded although its reply was lost."""


@register
class ChurnLoad(AppendLoad):
    """As the append load, with a deleter; at least ``keep`` settled ledgers of each writer stay."""

    kind = "churn"
    about = "writers fill one ledger after the other, a deleter deletes the older ones, bookies collect them"
    totals = (*TOTALS, "deleted", "collected", "uncollected")

    deleter: ClientName
    keep: int = Field(default=3, ge=0)

    def jobs(self, cluster: Cluster, crew: Crew) -> Sequence[Job]:
        """Of the ``deleted`` ledgers some are ``collected`` by all bookies, the others ``uncollected``."""
        crew.followers.append(inbox := Inbox())
        asker = Asker(cluster.clients[self.deleter], crew.stop)
        deleter = _Deleter(cluster, crew, asker, inbox, self.keep)
        return [*super().jobs(cluster, crew), deleter.run]


class _Deleter:
    """Deletes settled ledgers and checks whether bookies collect their data."""

    def __init__(self, cluster: Cluster, crew: Crew, asker: Asker, inbox: Inbox, keep: int) -> None:
        self._cluster = cluster
        self._crew = crew
        self._asker = asker
        self._inbox = inbox
        self._keep = keep
        self._sayings = Sayings(asker.name, crew.say)
        self._known: dict[str, list[Rolled]] = {}
        self._garbage: deque[int] = deque()

    def run(self) -> None:
        """Work until the load ends; ledgers that a last check still finds are counted as not collected."""
        while not self._crew.stop.is_set():
            try:
                self._step()
            except LoadEndedError:
                break
            except ClientError:
                next_life(self._asker, self._sayings)
        self._look()
        self._crew.totals.add(uncollected=len(self._garbage))

    def _step(self) -> None:
        rolled = next_in(self._inbox, RETRY_S)
        if rolled is not None:
            self._known.setdefault(rolled.writer, []).append(rolled)
        for known in self._known.values():
            for doomed in self._due(known):
                if not self._delete(doomed):
                    break
                known.remove(doomed)
        self._look()

    def _due(self, known: list[Rolled]) -> list[Rolled]:
        """The settled ledgers of one writer but the newest few, oldest first."""
        settled = [rolled for rolled in known if rolled.settled.is_set()]
        return settled[: max(0, len(settled) - self._keep)]

    def _delete(self, doomed: Rolled) -> bool:
        deleted = self._asker.delete(doomed.ledger)
        gone = deleted.ok or deleted.code == _NO_METADATA
        if gone:
            self._crew.totals.add(deleted=1)
            self._garbage.append(doomed.ledger)
        else:
            self._sayings.say(f"ledger {doomed.ledger} is not deleted: {deleted.refusal}")
        return gone

    def _look(self) -> None:
        """Ask about deleted ledgers, oldest first, up to the first that a bookie still has."""
        while self._garbage:
            answers = (
                self._cluster.answer(bookie, self._garbage[0], _ANY_ENTRY) for bookie in self._cluster.bookies
            )
            if not all(status == NO_LEDGER for status in answers):
                return
            self._garbage.popleft()
            self._crew.totals.add(collected=1)
