"""The ``forced`` load: adds with DEFERRED_SYNC, made durable by a force after a fixed number of adds.

A ledger's last adds may stay without a force (a seeded choice): then the writer's close cuts them off,
and recovery may keep them; both are right. BookKeeper replaces no bookie in such a ledger and a force
needs every bookie of the ensemble, so whatever breaks one bookie breaks the ledger. Source:
``LedgerHandle`` and ``ForceLedgerOp`` of the client, releases 4.14 to 4.18. Only protocol V3 supports it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from cluster.commands import CommandResult
from protocol.errors import UsageError
from workloads.registry import Job, LoadContext, register
from workloads.rolling import TOTALS, RollingLoad, RollingWriter, rolling_jobs

_ILLEGAL_OPERATION = -100


@register
class ForcedLoad(RollingLoad):
    """Deferred adds, made durable by a force after a fixed number of adds, one ledger after the other.

    As the append load, with DEFERRED_SYNC, so with protocol V3 only. The last adds of an
    ``unforced_fraction`` of the ledgers are not forced.
    """

    kind = "forced"
    totals = (*TOTALS, "forces", "forced")

    entries_per_force: int = Field(default=50, ge=1)
    unforced_fraction: float = Field(default=0.5, ge=0, le=1)

    def jobs(self, context: LoadContext) -> Sequence[Job]:
        """``UsageError`` for a client with protocol V2."""
        return rolling_jobs(self, context, _Writer)


class _Writer(RollingWriter[ForcedLoad]):
    """Adds entries and forces them, alternately."""

    deferred: ClassVar[bool] = True

    def fill(self, ledger: int, handle: str) -> bool:
        """Fill a ledger; whether all adds were acknowledged and every force succeeded."""
        left = self.params.entries_per_ledger
        leaves_last = self.random.random() < self.params.unforced_fraction
        while left and not self.context.stop.is_set():
            entries = min(left, self.params.entries_per_force)
            left -= entries
            if not self._add(ledger, handle, entries):
                return False
            if not (leaves_last and not left) and not self._force(ledger, handle, entries):
                return False
        return not left

    def _add(self, ledger: int, handle: str, entries: int) -> bool:
        added = self.append(handle, entries)
        self.count(added)
        return self._goes_on(ledger, added)

    def _force(self, ledger: int, handle: str, entries: int) -> bool:
        forced = self.asker.force(handle)
        if forced.ok:
            self.context.totals.add(forces=1, forced=entries)
        return self._goes_on(ledger, forced)

    def _goes_on(self, ledger: int, result: CommandResult) -> bool:
        if result.code == _ILLEGAL_OPERATION:
            raise UsageError(
                "load `forced`: DEFERRED_SYNC was refused (IllegalOp); protocol V2 does not know it",
                remedy="take `useV2WireProtocol` out of the plan's client_conf",
            )
        if not result.ok:
            self.broke(ledger, result)
        return result.ok
