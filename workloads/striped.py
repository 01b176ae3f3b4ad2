"""The ``striped`` load: ledgers wider than their write quorum, kept until bookies were replaced in them.

With E > WQ an entry is on some bookies of the ensemble only, so a bookie's crash, or a fence that one
of them never received, concerns every other entry or two of three. Spare bookies let the writer replace
failed bookies; a ledger ends after a given number of ensemble changes, or when it is full.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field, ValidationInfo, field_validator

from plans.grammar.names import names_in
from protocol.errors import ServerError
from workloads.registry import Job, LoadContext, register
from workloads.rolling import TOTALS, RollingLoad, RollingWriter, rolling_jobs


@register
class StripedLoad(RollingLoad):
    """Ledgers with larger ensembles than write quorums, each used until bookies were replaced in it.

    As the append load. A ledger ends after ``changes_per_ledger`` ensemble changes. ``ensemble`` has to be
    less than the plan's number of bookies.
    """

    kind = "striped"
    totals = (*TOTALS, "changes")

    ensemble: int = Field(default=4, ge=2)
    entries_per_ledger: int = Field(default=5000, ge=1)
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

    def jobs(self, context: LoadContext) -> Sequence[Job]:
        return rolling_jobs(self, context, _Writer)


class _Writer(RollingWriter[StripedLoad]):
    """Adds until a ledger is full or has changed its ensemble often enough."""

    def fill(self, ledger: int, handle: str) -> bool:
        if self.begin_adds(handle, self.params.entries_per_ledger):
            most = self.params.changes_per_ledger
            self.await_adds(handle, self.params.entries_per_ledger, lambda _: self._changes(ledger) >= most)
        added = self.end_and_tell(ledger, handle)
        self.context.totals.add(changes=self._changes(ledger))
        return added.error is None

    def _changes(self, ledger: int) -> int:
        """Fragments beyond the first; 0 while the metadata cannot be read."""
        try:
            found = self.context.cluster.metadata.ledger(ledger)
        except ServerError:
            return 0
        return len(found[0].fragments) - 1 if found else 0
