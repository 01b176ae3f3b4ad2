"""The commands of a client process and of the observer, and what each returns.

A refused command is a result too: ``ok`` is false, ``error`` and ``code`` are BookKeeper's, and what the
client did not report keeps its default. The caller decides how long a reply is awaited, and what ends the
wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from cluster.servers.client import Client, Reply, await_reply
from evidence.codes import Outcome
from plans.grammar.steps import LedgerShape
from protocol.errors import NotReadyError, PrerequisiteError


class CommandResult(BaseModel):
    """How a command ended; the base of every result."""

    model_config = ConfigDict(frozen=True)
    ok: bool
    error: str | None = None
    code: int | None = None
    message: str = ""
    ended: str | None = Field(default=None, alias="outcome")

    @property
    def outcome(self) -> Outcome:
        """Ok, fail (nothing was sent), or else unknown."""
        if self.ok:
            return Outcome.OK
        return Outcome.FAIL if self.ended == "fail" else Outcome.UNKNOWN

    @property
    def refusal(self) -> str:
        """Why it is not ok: ``LedgerFenced (-101)``."""
        return f"{self.error or 'no reason given'}" + (f" ({self.code})" if self.code is not None else "")


class Created(CommandResult):
    """A new ledger and its first ensemble."""

    ledger: int = -1
    bookies: tuple[str, ...] = ()


class Known(CommandResult):
    """What a handle knows of its ledger's end."""

    last_entry: int | None = None
    lac: int | None = None


class Totals(CommandResult):
    """Counts of all adds of a handle, or of the reads of its tail; ``error`` is then the first one's."""

    acked: int = 0
    unknown: int = 0
    failed: int = 0
    outstanding: int = 0
    read: int = 0
    lac: int | None = None

    @property
    def goes_on(self) -> bool:
        """Whether ``await_acked`` only timed out; BookKeeper's own timeout has a code."""
        return self.error == "Timeout" and self.code is None


class Delivered(CommandResult):
    """How many entries were read."""

    entries: int = 0


class Chain(CommandResult):
    """The list of a log's ledgers, and its version."""

    ledgers: tuple[int, ...] = ()
    version: int = -1


class Registration(CommandResult):
    """Whether the client knows a bookie's registration."""

    known: bool = False


class CensusCounts(CommandResult):
    """The number of answers by their code, of damaged entries, and of questions that were skipped."""

    codes: dict[int, int] = Field(default_factory=dict)
    damaged: int = 0
    skipped: int = 0


class Finals(CommandResult):
    """The final state of each ledger by its id."""

    ledgers: dict[str, dict[str, Any]] = Field(default_factory=dict)


R = TypeVar("R", bound=CommandResult)


class Commands:
    """What one client can be asked; ``wait`` gets the future of a reply and the command's name.

    Each method raises what ``wait`` does, and ``ClientError`` when the process ends before the reply.
    """

    def __init__(self, client: Client, wait: Callable[[Future[Reply], str], Reply]) -> None:
        self.name = client.name
        self._client = client
        self._wait = wait

    def _ask(self, kind: type[R], do: str, **parameters: object) -> R:
        given = {key: value for key, value in parameters.items() if value is not None}
        result = kind.model_validate(self._wait(self._client.submit(do, **given), do))
        if result.error == "BadRequest" and result.message.startswith("unknown command"):
            raise PrerequisiteError(
                f"{self._client.name}: {result.message}",
                remedy="the client was built from older sources: run scripts/setup",
            )
        return result

    def hello(self) -> CommandResult:
        """Whether the client answers."""
        return self._ask(CommandResult, "hello")

    def create(
        self,
        handle: str,
        shape: LedgerShape,
        *,
        digest: str | None = None,
        deferred: bool | None = None,
        adv: bool | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Created:
        """Create a ledger, under a new handle."""
        return self._ask(
            Created,
            "create",
            handle=handle,
            ensemble=shape.ensemble,
            write_quorum=shape.write_quorum,
            ack_quorum=shape.ack_quorum,
            digest=digest,
            deferred=deferred,
            adv=adv,
            metadata=metadata,
        )

    def append(
        self,
        handle: str,
        entries: int | None,
        *,
        entry_bytes: int,
        outstanding: int,
        rate_per_s: float | None = None,
        ids: Sequence[int] | None = None,
        copy_to: str | None = None,
        background: bool | None = None,
    ) -> Totals:
        """Add entries, many in flight; without a number until :meth:`stop`."""
        return self._ask(
            Totals,
            "append",
            handle=handle,
            entries=entries,
            entry_bytes=entry_bytes,
            outstanding=outstanding,
            rate_per_s=rate_per_s,
            ids=ids,
            copy_to=copy_to,
            background=background,
        )

    def await_acked(self, handle: str, entries: int, timeout_s: float) -> Totals:
        """Wait until ``entries`` adds of the handle are acknowledged, one has failed, or the time is over."""
        return self._ask(Totals, "await_acked", handle=handle, entries=entries, timeout_s=timeout_s)

    def stop(self, handle: str, timeout_s: float) -> Totals:
        """End the adds or the tail of a handle, and wait for what is in flight."""
        return self._ask(Totals, "stop", handle=handle, timeout_s=timeout_s)

    def status(self, handle: str) -> Totals:
        """Counts of the handle's adds up to now."""
        return self._ask(Totals, "status", handle=handle)

    def open(self, handle: str, ledger: int, *, recovery: bool) -> Known:
        """Open a ledger under a new handle; with ``recovery`` it is fenced, recovered and closed."""
        return self._ask(Known, "open", handle=handle, ledger=ledger, recovery=recovery)

    def close(self, handle: str) -> Known:
        """Close the handle; a writer's close ends the ledger."""
        return self._ask(Known, "close", handle=handle)

    def release(self, handle: str) -> CommandResult:
        """Forget the handle; its ledger stays as it is."""
        return self._ask(CommandResult, "release", handle=handle)

    def force(self, handle: str) -> Known:
        """Make deferred adds durable."""
        return self._ask(Known, "force", handle=handle)

    def lac(self, handle: str) -> Known:
        """Ask the bookies for the LAC."""
        return self._ask(Known, "lac", handle=handle)

    def read(
        self, handle: str, first: int, last: int, *, unconfirmed: bool = False, batch: int | None = None
    ) -> Delivered:
        """Read entries ``first`` to ``last``; ``unconfirmed`` ones too, or none beyond the LAC.

        ``batch`` is the number of entries in one call of BookKeeper's client; None for its own choice.
        """
        ask = {"first": first, "last": last, "unconfirmed": unconfirmed or None, "batch": batch}
        return self._ask(Delivered, "read", handle=handle, **ask)

    def batch_read(self, handle: str, first: int, last: int) -> Delivered:
        """Read entries ``first`` to ``last`` in one request, which may deliver fewer."""
        return self._ask(Delivered, "batch_read", handle=handle, first=first, last=last)

    def tail(self, handle: str, *, background: bool) -> Totals:
        """Follow the LAC and read what it covers, until the ledger's end."""
        return self._ask(Totals, "tail", handle=handle, background=background)

    def delete(self, ledger: int) -> CommandResult:
        """Delete a ledger."""
        return self._ask(CommandResult, "delete", ledger=ledger)

    def knows(self, bookie: str) -> Registration:
        """Whether the client would find the address of the bookie with this id."""
        return self._ask(Registration, "knows", bookie=bookie)

    def chain_list(self, log: str) -> Chain:
        """The ledgers of a log."""
        return self._ask(Chain, "chain_list", chain=log)

    def chain_extend(self, log: str, ledgers: Sequence[int], version: int) -> Chain:
        """Write a log's list over that version of it; the new version."""
        return self._ask(Chain, "chain_extend", chain=log, ledgers=list(ledgers), version=version)

    def chain_read(self, log: str) -> Delivered:
        """Read a whole log without recovery."""
        return self._ask(Delivered, "chain_read", chain=log)

    def census(self, number: int, spans: Sequence[Mapping[str, object]], outstanding: int) -> CensusCounts:
        """Ask bookies directly for entries (observer only); ``number`` counts the passes."""
        return self._ask(CensusCounts, "census", **{"pass": number}, ledgers=spans, outstanding=outstanding)

    def final(self, ledgers: Sequence[int], *, attempts: int, timeout_s: float) -> Finals:
        """Open each ledger with recovery and read it all (observer only)."""
        return self._ask(Finals, "final", ledgers=ledgers, attempts=attempts, timeout_s=timeout_s)


def within(client: Client, timeout_s: float, look: Callable[[], None] = lambda: None) -> Commands:
    """The commands of a client; ``NotReadyError`` when a reply does not come in time.

    ``look`` is called while a reply is awaited, and ends the wait by raising.
    """

    def wait(future: Future[Reply], do: str) -> Reply:
        deadline = time.monotonic() + timeout_s

        def look_on() -> None:
            look()
            if time.monotonic() > deadline:
                raise NotReadyError(f"no reply to '{client.name} {do}' within {timeout_s:g} s")

        return await_reply(future, look_on)

    return Commands(client, wait)
