"""The ``striped`` load: ledgers wider than their write quorum, kept until bookies were replaced in them.

With E > WQ an entry is on some bookies of the ensemble only, so a bookie's crash, or a fence that one
of them never received, concerns every other entry or two of three. Spare bookies let the writer replace
failed bookies; a ledger ends after a given number of ensemble changes, or when it is full.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pydantic import Field, ValidationInfo, field_validator

from cluster.interface import Cluster
from plans.names import names_in
from protocol.errors import ServerError
from workloads.asking import Asker
from workloads.crew import Crew, Inbox, Job, Rolled
from workloads.registry import register
from workloads.rolling import LOOK_S, TOTALS, RollingLoad, RollingWriter, rolling_jobs


@register
class StripedLoad(RollingLoad):
    """The writers, readers and closer, and the shape of the ledgers; rates are for each writer."""

    kind = "striped"
    about = "ledgers with larger ensembles than write quorums, each used until bookies were replaced in it"
    totals = (*TOTALS, "changes")

    ensemble: int = Field(default=4, ge=2)
    entries_per_ledger: int = Field(default=5000, ge=1)
    rate_per_s: float | None = Field(default=None, gt=0)
    changes_per_ledger: int = Field(default=2, ge=1)

    @field_validator("ensemble")
    @classmethod
    def _to_spare(cls, value: int, info: ValidationInfo) -> int:
        bookies = names_in(info).bookies
        if bookies is not None and value == len(bookies):
            raise ValueError(
                f"ensemble {value} leaves none of the plan's {value} bookies to take another's place"
            )
        return value

    @field_validator("write_quorum")
    @classmethod
    def _striped(cls, value: int, info: ValidationInfo) -> int:
        ensemble = info.data.get("ensemble")
        if ensemble is not None and value >= ensemble:
            raise ValueError(f"write quorum {value} is not less than ensemble {ensemble}: nothing is striped")
        return value

    def jobs(self, cluster: Cluster, crew: Crew) -> Sequence[Job]:
        def writer(crew: Crew, asker: Asker, inbox: Inbox, params: StripedLoad, own: Random) -> _Writer:
            return _Writer(cluster, crew, asker, inbox, params, own)

        return rolling_jobs(self, cluster, crew, writer)


class _Writer(RollingWriter[StripedLoad]):
    """Adds until a ledger is full or has changed its ensemble often enough."""

    def __init__(
        self, cluster: Cluster, crew: Crew, asker: Asker, inbox: Inbox, params: StripedLoad, random: Random
    ) -> None:
        super().__init__(crew, asker, inbox, params, random)
        self._metadata = cluster.metadata

    def fill(self, rolled: Rolled, handle: str) -> bool:
        if self.append_in_background(handle, self.params.entries_per_ledger, self.params.rate_per_s):
            self._await_changes(rolled, handle)
        added = self.stop_and_count(rolled, handle)
        self.crew.totals.add(changes=self._changes(rolled))
        return added.error is None

    def _await_changes(self, rolled: Rolled, handle: str) -> None:
        entries = self.params.entries_per_ledger
        while not self.crew.stop.is_set():
            totals = self.asker.await_acked(handle, entries, LOOK_S)
            if not totals.goes_on or self._changes(rolled) >= self.params.changes_per_ledger:
                return

    def _changes(self, rolled: Rolled) -> int:
        """Fragments beyond the first; 0 while the metadata cannot be read."""
        try:
            found = self._metadata.ledger(rolled.ledger)
        except ServerError:
            return 0
        return len(found[0].fragments) - 1 if found else 0
