"""Loads with one writer at a time: it leads until it shows no progress for too long, then another does."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import Field, model_validator

from plans.grammar.names import Clients
from workloads.member import RETRY_S, Writer
from workloads.registry import WritingLoad


class LeadingLoad(WritingLoad):
    """The possible writers, and the shape of the ledgers.

    Another takes over when no add was acknowledged to the writer for ``patience_s``.
    """

    writers: Clients = Field(min_length=2)
    patience_s: float = Field(default=2, gt=0)

    @model_validator(mode="after")
    def _patient(self) -> LeadingLoad:
        if self.rate_per_s is not None and self.rate_per_s * self.patience_s < 1:
            raise ValueError(
                f"rate_per_s {self.rate_per_s:g} is less than one add in patience_s {self.patience_s:g}: "
                "a working writer would look as if it hung"
            )
        return self


@dataclass(eq=False)
class Term:
    """One client's leadership: its current ledger and when that last made progress."""

    writer: str
    ledger: int | None = None
    acked: int = 0
    progress_s: float = field(default_factory=time.monotonic)
    left: bool = False
    claimed: bool = False


class Leadership:
    """The present term; ``first`` may claim the initial term. Thread-safe, sends no client commands.

    A client that lost leadership learns it when it reports progress.
    """

    def __init__(self, first: str, patience_s: float) -> None:
        self._term = Term(first, left=True)
        self._first = first
        self._begun = False
        self._patience_s = patience_s
        self._changed = threading.Condition()

    def claim(self, name: str, timeout_s: float) -> Term | None:
        """The present term if ``name`` may end it; None, after a moment, while its leader makes progress."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._free_for(name), timeout_s):
                return None
            self._term.claimed = True
            return self._term

    def begin(self, name: str, claimed: Term, recovered: int | None) -> Term | None:
        """Replace the claimed term by a new term, if ``recovered`` is the ledger it works on.

        None when its writer was only slow and has begun another one meanwhile.
        """
        with self._changed:
            if claimed.ledger != recovered:
                return None
            self._begun = True
            self._term = Term(name)
            return self._term

    def holds(self, term: Term) -> bool:
        """Whether the term is not over."""
        with self._changed:
            return term is self._term

    def works(self, term: Term, ledger: int, acked: int) -> bool:
        """Record the writer's progress; False, with nothing recorded, when it no longer leads."""
        with self._changed:
            if term is not self._term:
                return False
            if (ledger, acked) != (term.ledger, term.acked):
                term.ledger, term.acked, term.progress_s = ledger, acked, time.monotonic()
            return True

    def leave(self, term: Term) -> None:
        """A writer ends its own term: any client may take over at once."""
        with self._changed:
            term.left = True
            self._changed.notify_all()

    def give_back(self, term: Term) -> None:
        """Release a claim that failed, so that another client can claim the term."""
        with self._changed:
            term.claimed = False
            self._changed.notify_all()

    def _free_for(self, name: str) -> bool:
        term = self._term
        if term.claimed or (not self._begun and name != self._first):
            return False
        hangs = time.monotonic() - term.progress_s > self._patience_s
        return term.left or (hangs and term.writer != name)


LeadT = TypeVar("LeadT", bound=LeadingLoad)


@dataclass(eq=False)
class Leader(Writer[LeadT]):
    """A client that may lead: it leads, or waits for the leader to hang."""

    leadership: Leadership

    def step(self) -> None:
        """Claim the leadership, and hold it until the term ends."""
        claimed = self.leadership.claim(self.name, RETRY_S)
        if claimed is None or self.context.stop.is_set():
            return
        term: Term | None = None
        try:
            if term := self.take_over(claimed):
                self.lead(term)
        finally:
            if term is None:
                self.leadership.give_back(claimed)
            else:
                self.leadership.leave(term)

    @abstractmethod
    def take_over(self, claimed: Term) -> Term | None:
        """Begin a term of this client in place of the claimed one; None when that fails now."""

    @abstractmethod
    def lead(self, term: Term) -> None:
        """Write until another client takes over, or the load ends."""

    def recover_or_wait(self, ledger: int) -> bool:
        """Open a ledger with recovery; False, after a pause, when that fails now."""
        recovered = self.recover(ledger).ok
        if not recovered:
            self.context.stop.wait(RETRY_S)
        return recovered
