"""The ``append`` load: writers that roll from ledger to ledger, tailing readers, and a closer."""

from __future__ import annotations

from collections.abc import Sequence

from cluster.interface import Cluster
from workloads.crew import Crew, Job
from workloads.registry import register
from workloads.rolling import RollingLoad, RollingWriter, rolling_jobs


@register
class AppendLoad(RollingLoad):
    """The writers, readers and closer, and the shape of the ledgers; rates are for each writer."""

    kind = "append"
    about = "writers fill one ledger after the other, readers tail them, a closer recovers abandoned ledgers"

    def jobs(self, cluster: Cluster, crew: Crew) -> Sequence[Job]:
        return rolling_jobs(self, cluster, crew, _Writer)


class _Writer(RollingWriter[AppendLoad]):
    """Fills each ledger with concurrent adds."""

    def fill(self, ledger: int, handle: str) -> bool:
        entries = self.params.entries_per_ledger
        if self.begin_adds(handle, entries, self.params):
            self.await_adds(handle, entries)
        return self.end_and_tell(ledger, handle).acked == entries
