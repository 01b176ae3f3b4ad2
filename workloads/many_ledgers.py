"""The ``many-ledgers`` load: very many ledgers that are all open at once, each with a few entries.

It exercises work whose cost depends on the number of ledgers: a boot that marks them, a recovery of all.
It ends when all are created; their handles stay open in the clients. A ledger that cannot be created or
filled is counted, and another is begun.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from queue import SimpleQueue

from pydantic import Field

from plans.grammar.names import Clients
from plans.grammar.steps import LedgerShape
from workloads.member import RETRY_S, Member
from workloads.registry import Job, LoadContext, Workload, next_in, register


@register
class ManyLedgers(LedgerShape, Workload):
    """Writers open very many ledgers with a few entries each and keep them open.

    ``ledgers`` is the number of all, ``at_once`` for each writer. It ends on its own when all are open.
    """

    kind = "many-ledgers"
    totals = ("ledgers", "filled", "acked", "unknown", "failed")

    writers: Clients = Field(min_length=1)
    ledgers: int = Field(default=1000, ge=1, le=100_000)
    entries_per_ledger: int = Field(default=2, ge=1)
    entry_bytes: int = Field(default=128, ge=64, le=4 * 1024 * 1024)
    at_once: int = Field(default=8, ge=1, le=64)

    def jobs(self, context: LoadContext) -> Sequence[Job]:
        """Each job creates its share; the last one ends the load."""
        left = SimpleQueue[int]()
        for number in range(self.ledgers):
            left.put(number)
        names = [name for name in self.writers for _ in range(self.at_once)]
        return [_Maker(self, context, name, left).run for name in names]


@dataclass(eq=False)
class _Maker(Member[ManyLedgers]):
    """Creates ledgers on a client, one after the other, until there are enough."""

    left: SimpleQueue[int]
    """Those still to be created; a failed one is put back."""

    def step(self) -> None:
        number = next_in(self.left)
        if number is None:
            self.finished = True
            return
        made = False
        try:
            made = self._make()
        finally:
            if not made:
                self.left.put(number)
        if not made:
            self.context.stop.wait(RETRY_S)

    def _make(self) -> bool:
        created = self.create(self.params)
        if created is None:
            return False
        handle, ledger = created
        self.context.created(self.name, ledger)
        entries = self.params.entries_per_ledger
        added = self.asker.append(handle, entries, entry_bytes=self.params.entry_bytes, outstanding=entries)
        self.count(added)
        whole = added.acked == entries
        if whole:
            self.context.totals.add(filled=1)
        else:
            self.say(f"ledger {ledger} is not filled: {added.refusal}")
        return whole
