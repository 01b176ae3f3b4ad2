"""The ``append`` load: writers that roll from ledger to ledger, tailing readers, and a closer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random

from pydantic import BaseModel, Field

from cluster.interface import Cluster
from workloads.crew import Crew, Rolled
from workloads.registry import register
from workloads.rolling import LOOK_S, TOTALS, RollingLoad, RollingWriter, jobs, still_going


class AppendLoad(RollingLoad):
    """Who writes, reads and closes, and what the ledgers are like; rates are for each writer."""

    rate_per_s: float | None = Field(default=None, gt=0)


class _Writer(RollingWriter[AppendLoad]):
    """Adds as many as a ledger takes, many in flight."""

    def fill(self, rolled: Rolled, handle: str) -> bool:
        entries = self.params.entries_per_ledger
        if self.append_in_background(handle, entries, self.params.rate_per_s):
            self._await_end_of_adds(handle)
        return bool(self.stop_and_count(rolled, handle).get("acked") == entries)

    def _await_end_of_adds(self, handle: str) -> None:
        entries = self.params.entries_per_ledger
        while not self.crew.stop.is_set():
            reply = self.asker.ask("await_acked", handle=handle, entries=entries, timeout_s=LOOK_S)
            if not still_going(reply):
                return


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
        crew = Crew(self.name, random=random, stop=stop, say=say, opened=opened, totals=TOTALS)
        return crew.work(jobs(params, cluster, crew, random, _Writer))


register(_Append())
