"""The ``append`` load: writers that roll from ledger to ledger, tailing readers, and a closer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from cluster.interface import Cluster
from workloads.crew import Crew, Job, Rolled
from workloads.registry import register
from workloads.rolling import LOOK_S, TOTALS, RollingLoad, RollingWriter, rolling_jobs


@register
class AppendLoad(RollingLoad):
    """The writers, readers and closer, and the shape of the ledgers; rates are for each writer."""

    kind = "append"
    about = "writers fill one ledger after the other, readers tail them, a closer recovers abandoned ledgers"
    totals: ClassVar[Sequence[str]] = TOTALS

    rate_per_s: float | None = Field(default=None, gt=0)

    def jobs(self, cluster: Cluster, crew: Crew) -> Sequence[Job]:
        return rolling_jobs(self, cluster, crew, AppendWriter)


class AppendWriter(RollingWriter[AppendLoad]):
    """Fills each ledger with concurrent adds."""

    def fill(self, rolled: Rolled, handle: str) -> bool:
        """Fill a ledger; whether all adds were acknowledged."""
        entries = self.params.entries_per_ledger
        if self.append_in_background(handle, entries, self.params.rate_per_s):
            self._await_end_of_adds(handle)
        return self.stop_and_count(rolled, handle).acked == entries

    def _await_end_of_adds(self, handle: str) -> None:
        entries = self.params.entries_per_ledger
        while not self.crew.stop.is_set():
            if not self.asker.await_acked(handle, entries, LOOK_S).goes_on:
                return
