"""Steps of clients: create, append, recover, open, close, read, tail, lac, force, delete.

Each sends one command to a client process; the client records the operations. Nothing here
reads a history.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from cluster.configuration import CHOSEN_ENSEMBLE
from evidence.codes import Outcome
from harness.stage import Stage
from harness.steps.registry import Done, outcome_of, refusal, step, told
from plans.executed import BOOKIES
from plans.names import BookieName
from plans.shapes import LedgerShape
from plans.steps import Act
from protocol.addresses import bookie_id

_APPEND_TIMEOUT_S = 600


def ended(reply: dict[str, Any], text: str, **facts: int | None) -> Done:
    """What is done and how it ended, with the refusal where there was one, and the facts that are known."""
    outcome = outcome_of(reply)
    known = {name: value for name, value in facts.items() if value is not None}
    text = text if outcome is Outcome.OK else f"{text}: {refusal(reply)}"
    return Done(text, outcome, {**told(reply), **known})


class Create(LedgerShape, Act):
    """Create a ledger and name it; the handle stays open.

    ``bookies`` names the first ensemble in its order, which decides the write set of each entry.
    """

    needs_handle: ClassVar[bool] = False
    digest: Literal["crc32", "crc32c", "mac", "dummy"] = "crc32c"
    deferred: bool = False
    adv: bool = False
    metadata: dict[str, str] = Field(default_factory=dict)
    bookies: tuple[BookieName, ...] | None = None

    @field_validator("bookies")
    @classmethod
    def _an_ensemble(
        cls, value: tuple[BookieName, ...] | None, info: ValidationInfo
    ) -> tuple[BookieName, ...] | None:
        if value is None:
            return value
        ensemble = info.data.get("ensemble", len(value))
        if len(value) != ensemble:
            raise ValueError(f"{len(value)} bookies are named for an ensemble of {ensemble}")
        if len(set(value)) != len(value):
            raise ValueError(f"a bookie is named twice: {', '.join(value)}")
        return value


@step(Create)
def create(stage: Stage, step: Create) -> Done:
    """A new ledger under a name of the plan."""
    handle = stage.ledgers.new_handle(step.client, step.ledger)
    reply = stage.call(
        step.client,
        "create",
        handle=handle,
        ensemble=step.ensemble,
        write_quorum=step.write_quorum,
        ack_quorum=step.ack_quorum,
        digest=step.digest.upper(),
        deferred=step.deferred,
        adv=step.adv,
        metadata={**step.metadata, **_chosen(step.bookies)},
    )
    quorums = f"E{step.ensemble} WQ{step.write_quorum} AQ{step.ack_quorum}"
    if not reply.get("ok"):
        return ended(reply, f"{step.client} creates {step.ledger} ({quorums})")
    stage.ledgers.name(step.ledger, int(reply["ledger"]))
    text = f"{step.client} creates {step.ledger}: ledger {reply['ledger']} ({quorums})"
    return Done(text, facts={BOOKIES: reply["bookies"]})


def _chosen(bookies: Sequence[str] | None) -> dict[str, str]:
    return {CHOSEN_ENSEMBLE: ",".join(map(bookie_id, bookies))} if bookies else {}


class Append(Act):
    """Add entries; without ``background`` the step ends when every add has an outcome."""

    entries: int = Field(ge=1)
    entry_bytes: int = Field(default=1024, ge=64, le=4 * 1024 * 1024)
    outstanding: int = Field(default=100, ge=1, le=100_000)
    rate_per_s: float | None = Field(default=None, gt=0)
    background: bool = False
    ids: tuple[int, ...] | None = None

    def adds(self) -> int:
        """All of them."""
        return self.entries

    @field_validator("ids")
    @classmethod
    def _one_for_each(cls, value: tuple[int, ...] | None, info: ValidationInfo) -> tuple[int, ...] | None:
        entries = info.data.get("entries", 0)
        if value is not None and entries and len(value) != entries:
            raise ValueError(f"{len(value)} ids are given for {entries} entries")
        if value is not None and any(number < 0 for number in value):
            raise ValueError(f"ids must be 0 or more, not {min(value)}")
        return value


@step(Append)
def append(stage: Stage, step: Append) -> Done:
    """Adds on the client's handle, many in flight."""
    optional = {
        key: value for key, value in (("rate_per_s", step.rate_per_s), ("ids", step.ids)) if value is not None
    }
    reply = stage.call(
        step.client,
        "append",
        timeout_s=_APPEND_TIMEOUT_S,
        handle=stage.ledgers.handle(step.client, step.ledger),
        entries=step.entries,
        entry_bytes=step.entry_bytes,
        outstanding=step.outstanding,
        background=step.background,
        **optional,
    )
    if step.background:
        return ended(reply, f"{step.client} begins {step.entries} adds to {step.ledger}")
    acked, unknown = reply.get("acked", 0), reply.get("unknown", 0)
    text = f"{step.client} appends to {step.ledger}: {acked} acknowledged"
    text = f"{text}, {unknown} unknown" if unknown else text
    return ended(reply, text, entries=acked, lac=reply.get("lac"))


class Recover(Act):
    """Open with recovery: fence the ledger, recover its end, close it."""

    needs_handle: ClassVar[bool] = False
    attempts: int = Field(default=1, ge=1)
    timeout_s: float = Field(default=60, gt=0)


@step(Recover)
def recover(stage: Stage, step: Recover) -> Done:
    """Open with recovery (fences and closes the ledger); repeated up to ``attempts`` times."""
    ledger = stage.ledgers.id(step.ledger)
    reply: dict[str, Any] = {}
    for _ in range(step.attempts):
        reply = stage.call(
            step.client,
            "open",
            timeout_s=step.timeout_s,
            handle=stage.ledgers.new_handle(step.client, step.ledger),
            ledger=ledger,
            recovery=True,
        )
        if reply.get("ok"):
            last = reply.get("last_entry")
            return ended(reply, f"{step.client} recovers {step.ledger}: closed, last entry {last}")
    return ended(reply, f"{step.client} fails to recover {step.ledger}")


class Open(Act):
    """Open without recovery, to read what is there."""

    needs_handle: ClassVar[bool] = False


@step(Open)
def open_(stage: Stage, step: Open) -> Done:
    """Open without recovery: neither fences nor closes."""
    reply = stage.call(
        step.client,
        "open",
        handle=stage.ledgers.new_handle(step.client, step.ledger),
        ledger=stage.ledgers.id(step.ledger),
        recovery=False,
    )
    return ended(reply, f"{step.client} opens {step.ledger} without recovery (LAC {reply.get('lac', '-')})")


class Read(Act):
    """Read entries ``first`` to ``last``; without ``last``, to the end that the handle knows."""

    first: int = Field(default=0, ge=0)
    last: int | None = Field(default=None, ge=0)

    @field_validator("last")
    @classmethod
    def _not_before(cls, value: int | None, info: ValidationInfo) -> int | None:
        first = info.data.get("first", 0)
        if value is not None and value < first:
            raise ValueError(f"last {value} is before first {first}")
        return value


@step(Read)
def read(stage: Stage, step: Read) -> Done:
    """Read a range, by default all up to the LAC that the handle knows."""
    handle = stage.ledgers.handle(step.client, step.ledger)
    last, lac = step.last, None
    if last is None:
        told = stage.call(step.client, "lac", handle=handle)
        if not told.get("ok"):
            return ended(told, f"{step.client} asks for the LAC of {step.ledger}, to read up to it")
        last = lac = int(told["lac"])
    if last < step.first:
        text = f"{step.client} finds nothing to read in {step.ledger} (LAC {last})"
        return Done(text, facts={"entries": 0, "lac": last})
    reply = stage.call(step.client, "read", handle=handle, first=step.first, last=last)
    entries = reply.get("entries", 0)
    return ended(reply, f"{step.client} reads {entries} entries of {step.ledger}", entries=entries, lac=lac)


class Tail(Act):
    """Follow the LAC and read what it covers; without ``background`` until the ledger's end."""

    background: bool = True


@step(Tail)
def tail(stage: Stage, step: Tail) -> Done:
    """Follow the ledger, in the background or until it is closed and read to its end."""
    handle = stage.ledgers.handle(step.client, step.ledger)
    reply = stage.call(step.client, "tail", handle=handle, background=step.background)
    text = f"{step.client} tails {step.ledger}"
    if step.background:
        return ended(reply, text)
    entries = reply.get("read", 0)
    return ended(reply, f"{text} to its end: {entries} entries", entries=entries)


class Delete(Act):
    """Delete the ledger."""

    needs_handle: ClassVar[bool] = False


@step(Delete)
def delete(stage: Stage, step: Delete) -> Done:
    """Delete the ledger's metadata; from its invocation on nothing of the ledger is owed."""
    reply = stage.call(step.client, "delete", ledger=stage.ledgers.id(step.ledger))
    return ended(reply, f"{step.client} deletes {step.ledger}")


class Close(Act):
    """Close the client's handle; a writer's close ends the ledger."""


@step(Close)
def close(stage: Stage, step: Close) -> Done:
    """The last entry is the client's: what it reports."""
    reply = _on_handle(stage, step, "close")
    return ended(reply, f"{step.client} closes {step.ledger} at {reply.get('last_entry', '-')}")


class Force(Act):
    """Make deferred adds durable."""


@step(Force)
def force(stage: Stage, step: Force) -> Done:
    """All that were acknowledged before."""
    return ended(_on_handle(stage, step, "force"), f"{step.client} forces {step.ledger}")


class Lac(Act):
    """Ask for the last add confirmed."""


@step(Lac)
def lac(stage: Stage, step: Lac) -> Done:
    """As the bookies report it."""
    reply = _on_handle(stage, step, "lac")
    return ended(reply, f"{step.client} gets LAC {reply.get('lac', '-')} of {step.ledger}")


def _on_handle(stage: Stage, step: Act, do: str) -> dict[str, Any]:
    """The reply to one command on the client's present handle."""
    return stage.call(step.client, do, handle=stage.ledgers.handle(step.client, step.ledger))
