"""The ``failover`` load: one client writes; when it hangs, another recovers its ledger and goes on.

Nobody tells the first that it was replaced. When it wakes up it goes on adding to its old handle, as a
process does that was paused too long: fencing alone stands between those adds and a lost promise
(*Fencing*, the scenario that violates persistence).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from random import Random

from pydantic import BaseModel, Field, field_validator, model_validator

from cluster.interface import Cluster
from plans.names import ClientName
from plans.shapes import LedgerShape
from protocol.errors import ClientError
from workloads.asking import Asker, LoadEndedError, Reply, Sayings, next_life, refused
from workloads.crew import Crew
from workloads.office import Office, Turn
from workloads.registry import register
from workloads.rolling import RETRY_S, count, create, named_once, still_going, stop_adds

_LOOK_S = 0.5
_TOTALS = (
    *("acked", "unknown", "failed", "closed", "rolled", "recovered"),
    *("takeovers", "late_acked", "late_refused"),
)


class FailoverLoad(LedgerShape):
    """Who may write, and what the ledgers are like.

    Another takes over when no add was acknowledged to the writer for ``patience_s``. A writer that finds
    itself replaced tries up to ``late_entries`` more on its old handle, until one is refused.
    """

    writers: tuple[ClientName, ...] = Field(min_length=2)
    entries_per_ledger: int = Field(default=1000, ge=1)
    entry_bytes: int = Field(default=1024, ge=64, le=4 * 1024 * 1024)
    outstanding: int = Field(default=100, ge=1, le=100_000)
    rate_per_s: float | None = Field(default=None, gt=0)
    patience_s: float = Field(default=2, gt=0)
    late_entries: int = Field(default=20, ge=1)

    @field_validator("writers")
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return named_once(value)

    @model_validator(mode="after")
    def _patient(self) -> FailoverLoad:
        if self.rate_per_s is not None and self.rate_per_s * self.patience_s < 1:
            raise ValueError(
                f"rate_per_s {self.rate_per_s:g} is less than one add in patience_s {self.patience_s:g}: "
                "a writer at work would look as if it hung"
            )
        return self


class _Member:
    """A client that may write: in office, or waiting for the one that is to hang."""

    def __init__(self, crew: Crew, asker: Asker, office: Office, params: FailoverLoad) -> None:
        self._crew = crew
        self._asker = asker
        self._office = office
        self._params = params
        self._sayings = Sayings(asker.name, crew.say)

    def run(self) -> None:
        """Wait for a turn, and write until it is over; until the load ends."""
        while not self._crew.stop.is_set():
            try:
                claimed = self._office.claim(self._asker.name, RETRY_S)
                if claimed is not None and not self._crew.stop.is_set():
                    self._serve(claimed)
            except LoadEndedError:
                return
            except ClientError:
                next_life(self._asker, self._sayings)

    def _serve(self, claimed: Turn) -> None:
        """Recover what the last writer left, then write until somebody else does."""
        turn: Turn | None = None
        try:
            turn = self._take_over(claimed)
            while turn and self._office.holds(turn) and not self._crew.stop.is_set():
                self._write_ledger(turn)
        finally:
            if turn is None:
                self._office.give_back(claimed)
            else:
                self._office.leave(turn)

    def _take_over(self, claimed: Turn) -> Turn | None:
        """Recover the ledger of the last writer, and the next should it have gone on; None when refused."""
        turn: Turn | None = None
        while turn is None:
            left = claimed.ledger
            if left is not None and not self._recover(left):
                return None
            turn = self._office.begin(self._asker.name, claimed, left)
        if left is not None:
            self._crew.totals.add(takeovers=1)
            self._crew.say(f"{self._asker.name} takes over from {claimed.writer}")
        return turn

    def _recover(self, ledger: int) -> bool:
        handle = self._crew.new_handle(self._asker.name)
        reply = self._asker.ask("open", handle=handle, ledger=ledger, recovery=True)
        if not reply["ok"]:
            self._sayings.say(f"ledger {ledger} is not recovered yet: {refused(reply)}")
            self._crew.stop.wait(RETRY_S)
            return False
        self._crew.totals.add(recovered=1)
        self._asker.ask("release", handle=handle)
        return True

    def _write_ledger(self, turn: Turn) -> None:
        handle = self._crew.new_handle(self._asker.name)
        ledger = create(self._asker, self._sayings, handle, self._params)
        if ledger is None:
            self._crew.stop.wait(RETRY_S)
            return
        self._crew.created(self._asker.name, ledger)
        if not self._office.works(turn, ledger, 0):
            self._asker.ask("release", handle=handle)  # replaced before it had begun
            return
        self._begin_adds(handle)
        in_office = self._await_end_of_adds(turn, ledger, handle)
        added = stop_adds(self._asker, handle)
        count(self._crew, added)
        if not in_office:
            self._go_on(ledger, handle)
        elif "error" in added:
            self._crew.totals.add(rolled=1)
            self._sayings.say(f"ledger {ledger} broke, rolls over: {refused(added)}")
            self._asker.ask("release", handle=handle)
            self._recover(ledger)
        else:
            self._close(ledger, handle)

    def _begin_adds(self, handle: str) -> None:
        pace = {} if self._params.rate_per_s is None else {"rate_per_s": self._params.rate_per_s}
        self._append(handle, self._params.entries_per_ledger, background=True, **pace)

    def _append(self, handle: str, entries: int, **more: float) -> Reply:
        return self._asker.ask(
            "append",
            handle=handle,
            entries=entries,
            entry_bytes=self._params.entry_bytes,
            outstanding=self._params.outstanding,
            **more,
        )

    def _await_end_of_adds(self, turn: Turn, ledger: int, handle: str) -> bool:
        """Until the ledger is full or broken, or the load ends; whether nobody took over meanwhile."""
        entries = self._params.entries_per_ledger
        while not self._crew.stop.is_set():
            reply = self._asker.ask("await_acked", handle=handle, entries=entries, timeout_s=_LOOK_S)
            if not self._office.works(turn, ledger, reply.get("acked", 0)):
                return False
            if not still_going(reply):
                return True
        return True

    def _go_on(self, ledger: int, handle: str) -> None:
        """The old handle knows nothing of the other writer: add to it as if nothing had happened."""
        late = self._append(handle, self._params.late_entries)
        count(self._crew, late)
        refusals = late.get("unknown", 0) + late.get("failed", 0) + late.get("outstanding", 0)
        self._crew.totals.add(late_acked=late.get("acked", 0), late_refused=refusals)
        self._sayings.say(
            f"was replaced and goes on in ledger {ledger}: {late.get('acked', 0)} acknowledged, "
            f"{refusals} not"
        )
        self._asker.ask("release", handle=handle)

    def _close(self, ledger: int, handle: str) -> None:
        reply = self._asker.ask("close", handle=handle)
        if reply["ok"]:
            self._crew.totals.add(closed=1)
            return
        self._sayings.say(f"ledger {ledger} is not closed: {refused(reply)}")
        self._asker.ask("release", handle=handle)


class _Failover:
    """The registered load."""

    name = "failover"
    about = "one client writes; when it hangs another takes over, and the first goes on in its old ledger"
    params: type[BaseModel] = FailoverLoad

    def run(
        self,
        params: FailoverLoad,
        cluster: Cluster,
        *,
        random: Random,
        stop: threading.Event,
        say: Callable[[str], None],
        opened: Callable[[str, int], None],
    ) -> dict[str, int]:
        """Work until ``stop``; what one member of the crew raises ends the load and is raised."""
        crew = Crew(self.name, random=random, stop=stop, say=say, opened=opened, totals=_TOTALS)
        office = Office(params.writers[0], params.patience_s)
        members = [
            _Member(crew, Asker(cluster.clients[name], stop), office, params) for name in params.writers
        ]
        return crew.work([member.run for member in members])


register(_Failover())
