"""The ``many-ledgers`` load: very many ledgers that are all open at once, each with a few entries.

It exercises work whose cost depends on the number of ledgers: a boot that marks them, a recovery of all.
It ends when all are created; their handles stay open in the clients. A ledger that cannot be created or
filled is counted, and another is begun.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from pydantic import Field, field_validator

from cluster.interface import Cluster
from plans.names import ClientName, named_once
from plans.shapes import LedgerShape
from protocol.errors import ClientError
from workloads.asking import Asker, LoadEndedError, Sayings, next_life
from workloads.crew import Crew, Job
from workloads.registry import Workload, register
from workloads.rolling import RETRY_S, count, create


@register
class ManyLedgers(LedgerShape, Workload):
    """The writers, the number of ledgers in all, ``at_once`` for each writer, and their entries."""

    kind = "many-ledgers"
    about = (
        "writers open very many ledgers with a few entries each and keep them open; ends when all are there"
    )
    totals = ("ledgers", "filled", "acked", "unknown", "failed")

    writers: tuple[ClientName, ...] = Field(min_length=1)
    ledgers: int = Field(default=1000, ge=1, le=100_000)
    entries_per_ledger: int = Field(default=2, ge=1)
    entry_bytes: int = Field(default=128, ge=64, le=4 * 1024 * 1024)
    at_once: int = Field(default=8, ge=1, le=64)

    @field_validator("writers")
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return named_once(value, "client")

    def jobs(self, cluster: Cluster, crew: Crew) -> Sequence[Job]:
        """Each job creates its share; the last one ends the load."""
        share = _Share(self.ledgers)
        return [
            _Maker(crew, Asker(cluster.clients[name], crew.stop), self, share).run
            for name in self.writers
            for _ in range(self.at_once)
        ]


class _Share:
    """The number of ledgers still to be created; failed ones are given back."""

    def __init__(self, number: int) -> None:
        self._left = number
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take one ledger to create; False when none is left."""
        with self._lock:
            self._left -= 1
            return self._left >= 0

    def give_back(self) -> None:
        """Give back a ledger that could not be created."""
        with self._lock:
            self._left = max(self._left, 0) + 1


class _Maker:
    """Creates ledgers on a client, one after the other."""

    def __init__(self, crew: Crew, asker: Asker, params: ManyLedgers, share: _Share) -> None:
        self._crew = crew
        self._asker = asker
        self._params = params
        self._share = share
        self._sayings = Sayings(asker.name, crew.say)

    def run(self) -> None:
        """Create ledgers until there are enough, or the load ends."""
        while not self._crew.stop.is_set() and self._share.take():
            made = False
            try:
                made = self._make()
            except LoadEndedError:
                return
            except ClientError:
                next_life(self._asker, self._sayings)
            if not made:
                self._share.give_back()
                self._crew.stop.wait(RETRY_S)

    def _make(self) -> bool:
        handle = self._crew.new_handle(self._asker.name)
        ledger = create(self._asker, self._sayings, handle, self._params)
        if ledger is None:
            return False
        self._crew.created(self._asker.name, ledger)
        entries = self._params.entries_per_ledger
        added = self._asker.append(handle, entries, entry_bytes=self._params.entry_bytes, outstanding=entries)
        count(self._crew, added)
        whole = added.acked == entries
        if whole:
            self._crew.totals.add(filled=1)
        else:
            self._sayings.say(f"ledger {ledger} is not filled: {added.refusal}")
        return whole
