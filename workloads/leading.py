"""The common part of loads with one writer at a time: possible leaders, rate, and when a leader hangs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from pydantic import Field, field_validator, model_validator

from plans.names import ClientName, named_once
from plans.shapes import LedgerShape
from protocol.errors import ClientError
from workloads.asking import Asker, LoadEndedError, Sayings, next_life
from workloads.crew import Crew
from workloads.leadership import Leadership, Term
from workloads.registry import Workload
from workloads.rolling import RETRY_S


class LeadingLoad(LedgerShape, Workload):
    """The possible writers, and the shape of the ledgers.

    Another takes over when no add was acknowledged to the writer for ``patience_s``.
    """

    writers: tuple[ClientName, ...] = Field(min_length=2)
    entries_per_ledger: int = Field(default=1000, ge=1)
    entry_bytes: int = Field(default=1024, ge=64, le=4 * 1024 * 1024)
    outstanding: int = Field(default=100, ge=1, le=100_000)
    rate_per_s: float | None = Field(default=None, gt=0)
    patience_s: float = Field(default=2, gt=0)

    @field_validator("writers")
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return named_once(value, "client")

    @model_validator(mode="after")
    def _patient(self) -> LeadingLoad:
        if self.rate_per_s is not None and self.rate_per_s * self.patience_s < 1:
            raise ValueError(
                f"rate_per_s {self.rate_per_s:g} is less than one add in patience_s {self.patience_s:g}: "
                "a working writer would look as if it hung"
            )
        return self


LeadT = TypeVar("LeadT", bound=LeadingLoad)


class Leader(ABC, Generic[LeadT]):
    """A client that may lead: it leads, or waits for the leader to hang."""

    def __init__(self, crew: Crew, asker: Asker, leadership: Leadership, params: LeadT) -> None:
        self.crew = crew
        self.asker = asker
        self.leadership = leadership
        self.params = params
        self.sayings = Sayings(asker.name, crew.say)

    def run(self) -> None:
        """Wait for a term, and lead until it is over; until the load ends."""
        while not self.crew.stop.is_set():
            try:
                claimed = self.leadership.claim(self.asker.name, RETRY_S)
                if claimed is not None and not self.crew.stop.is_set():
                    self.serve(claimed)
            except LoadEndedError:
                return
            except ClientError:
                next_life(self.asker, self.sayings)

    @abstractmethod
    def serve(self, claimed: Term) -> None:
        """Lead until another client takes over; the term is given back or left, whatever happens."""

    def recover(self, ledger: int) -> bool:
        """Open a ledger with recovery; False, after a pause, when that fails now."""
        handle = self.crew.new_handle(self.asker.name)
        opened = self.asker.open(handle, ledger, recovery=True)
        if not opened.ok:
            self.sayings.say(f"ledger {ledger} is not recovered yet: {opened.refusal}")
            self.crew.stop.wait(RETRY_S)
            return False
        self.crew.totals.add(recovered=1)
        self.asker.release(handle)
        return True

    def begin_adds(self, handle: str) -> None:
        """Begin to fill a ledger, at the load's pace."""
        self.asker.append(
            handle,
            self.params.entries_per_ledger,
            entry_bytes=self.params.entry_bytes,
            outstanding=self.params.outstanding,
            rate_per_s=self.params.rate_per_s,
            background=True,
        )
