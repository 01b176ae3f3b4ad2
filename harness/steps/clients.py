"""Steps of clients on a ledger: create, append, the opens and reads, close, force, delete; on a log.

Each sends one command to a client process; the client records the operations. Nothing here
reads a history.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from cluster.configuration import CHOSEN_ENSEMBLE
from harness.recording.context import RunContext
from harness.registry import Done, ended, step
from plans.cluster import PLACEMENT_POLICY
from plans.executed import BOOKIES
from plans.grammar.names import Bookies, ClientName, LedgerName, LogName, Params
from plans.grammar.steps import Act, LedgerShape
from protocol.addresses import bookie_id
from protocol.errors import UsageError

_APPEND_TIMEOUT_S = 600


class Create(LedgerShape, Act):
    """Create a ledger and name it; the handle stays open.

    ``bookies`` names the first ensemble in its order, which decides the write set of each entry; when left
    out, BookKeeper chooses. With ``deferred`` the adds are DEFERRED_SYNC: acknowledged before they are
    synced, and promised by a ``force``. With ``adv`` the writer chooses the entry ids.
    """

    handle = "creates"
    digest: Literal["crc32", "crc32c", "mac", "dummy"] = "crc32c"
    deferred: bool = False
    adv: bool = False
    metadata: dict[str, str] = Field(default_factory=dict)
    bookies: Bookies | None = None

    @field_validator("bookies")
    @classmethod
    def _an_ensemble(cls, value: Bookies | None, info: ValidationInfo) -> Bookies | None:
        if value is not None and len(value) != (ensemble := info.data.get("ensemble", len(value))):
            raise ValueError(f"{len(value)} bookies are named for an ensemble of {ensemble}")
        return value


@step(Create)
def create(context: RunContext, step: Create) -> Done:
    handle = context.ledgers.new_handle(step.client, step.ledger)
    chosen = {CHOSEN_ENSEMBLE: ",".join(map(bookie_id, step.bookies))} if step.bookies else {}
    created = context.client(step.client).create(
        handle,
        step,
        digest=step.digest.upper(),
        deferred=step.deferred,
        adv=step.adv,
        metadata={**step.metadata, **chosen},
    )
    quorums = f"E{step.ensemble} WQ{step.write_quorum} AQ{step.ack_quorum}"
    if not created.ok:
        return ended(created, f"{step.client} creates {step.ledger} ({quorums})")
    if step.bookies and created.bookies != step.bookies:
        raise UsageError(
            f"{step.ledger} began with {', '.join(created.bookies)}, but the plan names "
            f"{', '.join(step.bookies)}",
            remedy=f"leave {PLACEMENT_POLICY} out of the clients' settings",
        )
    context.ledgers.name(step.ledger, created.ledger, (step.client, handle))
    text = f"{step.client} creates {step.ledger}: ledger {created.ledger} ({quorums})"
    return Done(text, facts={BOOKIES: list(created.bookies)})


class Append(Act):
    """Add entries, many in flight; without ``background`` the step ends when every add has an outcome.

    ``ids`` are the entry ids, for a ledger created with ``adv``. With ``copy_to`` the callback of each
    acknowledged add adds an entry to that ledger of the same client, and then issues the next add.

    The client must have created the ledger. With ``outcome: fail`` it may be another that opened it, whose
    add has to be refused.
    """

    handle = "writes"
    entries: int = Field(ge=1)
    entry_bytes: int = Field(default=1024, ge=64, le=4 * 1024 * 1024)
    outstanding: int = Field(default=100, ge=1, le=100_000)
    rate_per_s: float | None = Field(default=None, gt=0)
    background: bool = False
    ids: tuple[int, ...] | None = None
    copy_to: LedgerName | None = None

    def adds(self) -> int:
        """All of them, and their copies."""
        return self.entries * (2 if self.copy_to else 1)

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
def append(context: RunContext, step: Append) -> Done:
    added = context.client(step.client, timeout_s=_APPEND_TIMEOUT_S).append(
        context.ledgers.handle(step.client, step.ledger),
        step.entries,
        entry_bytes=step.entry_bytes,
        outstanding=step.outstanding,
        rate_per_s=step.rate_per_s,
        ids=step.ids,
        copy_to=context.ledgers.handle(step.client, step.copy_to) if step.copy_to else None,
        background=step.background,
    )
    if step.background:
        return ended(added, f"{step.client} begins {step.entries} adds to {step.ledger}")
    text = f"{step.client} appends to {step.ledger}: {added.acked} acknowledged"
    text = f"{text}, {added.unknown} unknown" if added.unknown else text
    return ended(added, text, entries=added.acked, lac=added.lac)


class Recover(Act):
    """Open with recovery: fence the ledger, recover its end, close it.

    ``timeout_s`` is for each of the ``attempts``.
    """

    handle = "opens"
    attempts: int = Field(default=1, ge=1)
    timeout_s: float = Field(default=60, gt=0)


@step(Recover)
def recover(context: RunContext, step: Recover) -> Done:
    ledger, client = context.ledgers.id(step.ledger), context.client(step.client, timeout_s=step.timeout_s)
    for _ in range(step.attempts):
        opened = client.open(context.ledgers.new_handle(step.client, step.ledger), ledger, recovery=True)
        if opened.ok:
            text = f"{step.client} recovers {step.ledger}: closed, last entry {opened.last_entry}"
            return ended(opened, text)
    return ended(opened, f"{step.client} fails to recover {step.ledger}")


class Open(Act):
    """Open without recovery, to read what is there."""

    handle = "opens"


@step(Open)
def open_(context: RunContext, step: Open) -> Done:
    handle = context.ledgers.new_handle(step.client, step.ledger)
    opened = context.client(step.client).open(handle, context.ledgers.id(step.ledger), recovery=False)
    text = f"{step.client} opens {step.ledger} without recovery (LAC {_or_dash(opened.lac)})"
    return ended(opened, text)


def _or_dash(number: int | None) -> str:
    return "-" if number is None else str(number)


def _not_before_first(value: int | None, info: ValidationInfo) -> int | None:
    first = info.data.get("first", 0)
    if value is not None and value < first:
        raise ValueError(f"last {value} is before first {first}")
    return value


class Read(Act):
    """Read entries ``first`` to ``last``; without ``last``, to the end that the handle knows.

    An empty range is no error. ``at_once`` is the number of entries that the client asks for in one call
    (100).
    """

    first: int = Field(default=0, ge=0)
    last: int | None = Field(default=None, ge=0)
    at_once: int | None = Field(default=None, ge=1)

    _not_before = field_validator("last")(_not_before_first)


@step(Read)
def read(context: RunContext, step: Read) -> Done:
    handle, client = context.ledgers.handle(step.client, step.ledger), context.client(step.client)
    last, lac = step.last, None
    if last is None:
        known = client.lac(handle)
        if known.lac is None:
            return ended(known, f"{step.client} asks for the LAC of {step.ledger}, to read up to it")
        last = lac = known.lac
    if last < step.first:
        text = f"{step.client} finds nothing to read in {step.ledger} (LAC {last})"
        return Done(text, facts={"entries": 0, "lac": last})
    found = client.read(handle, step.first, last, batch=step.at_once)
    text = f"{step.client} reads {found.entries} entries of {step.ledger}"
    return ended(found, text, entries=found.entries, lac=lac)


class ReadUnconfirmed(Act):
    """Read entries ``first`` to ``last``, also beyond the LAC."""

    first: int = Field(ge=0)
    last: int = Field(ge=0)

    _not_before = field_validator("last")(_not_before_first)


@step(ReadUnconfirmed)
def read_unconfirmed(context: RunContext, step: ReadUnconfirmed) -> Done:
    handle, client = context.ledgers.handle(step.client, step.ledger), context.client(step.client)
    found = client.read(handle, step.first, step.last, unconfirmed=True)
    text = f"{step.client} reads {found.entries} perhaps unconfirmed entries of {step.ledger}"
    return ended(found, text, entries=found.entries)


class BatchRead(Act):
    """Read at most ``entries`` entries from ``first`` on in one request (since 4.17.0, with V2).

    BookKeeper's client uses one request only if the ensemble is as large as the write quorum.
    """

    first: int = Field(default=0, ge=0)
    entries: int = Field(default=100, ge=1, le=100_000)


@step(BatchRead)
def batch_read(context: RunContext, step: BatchRead) -> Done:
    handle, client = context.ledgers.handle(step.client, step.ledger), context.client(step.client)
    found = client.batch_read(handle, step.first, step.first + step.entries - 1)
    text = f"{step.client} reads a batch of {found.entries} entries of {step.ledger}"
    return ended(found, text, entries=found.entries)


class Tail(Act):
    """Follow the LAC and read what it covers.

    Without ``background`` the step ends when the ledger is closed and read to its end, within two minutes.
    """

    background: bool = True


@step(Tail)
def tail(context: RunContext, step: Tail) -> Done:
    handle = context.ledgers.handle(step.client, step.ledger)
    tailed = context.client(step.client).tail(handle, background=step.background)
    text = f"{step.client} tails {step.ledger}"
    if step.background:
        return ended(tailed, text)
    return ended(tailed, f"{text} to its end: {tailed.read} entries", entries=tailed.read)


class Delete(Act):
    """Delete the ledger."""

    handle = "none"


@step(Delete)
def delete(context: RunContext, step: Delete) -> Done:
    """Delete the ledger's metadata; from its invocation on nothing of the ledger is owed."""
    deleted = context.client(step.client).delete(context.ledgers.id(step.ledger))
    return ended(deleted, f"{step.client} deletes {step.ledger}")


class Close(Act):
    """Close the client's handle; a writer's close ends the ledger."""


@step(Close)
def close(context: RunContext, step: Close) -> Done:
    closed = context.client(step.client).close(context.ledgers.handle(step.client, step.ledger))
    return ended(closed, f"{step.client} closes {step.ledger} at {_or_dash(closed.last_entry)}")


class Force(Act):
    """Make deferred adds durable.

    The client must have created the ledger.
    """

    handle = "writes"


@step(Force)
def force(context: RunContext, step: Force) -> Done:
    forced = context.client(step.client).force(context.ledgers.handle(step.client, step.ledger))
    return ended(forced, f"{step.client} forces {step.ledger}")


class Lac(Act):
    """Ask for the last add confirmed."""


@step(Lac)
def lac(context: RunContext, step: Lac) -> Done:
    known = context.client(step.client).lac(context.ledgers.handle(step.client, step.ledger))
    return ended(known, f"{step.client} gets LAC {_or_dash(known.lac)} of {step.ledger}")


class Extend(Act):
    """Put the ledger at the end of a log's list, by compare-and-set on the list as it is now."""

    handle = "none"
    log: LogName


@step(Extend)
def extend(context: RunContext, step: Extend) -> Done:
    text = f"{step.client} puts {step.ledger} at the end of log {step.log}"
    client = context.client(step.client)
    listed = client.chain_list(step.log)
    if not listed.ok:
        return ended(listed, text)
    ledgers = (*listed.ledgers, context.ledgers.id(step.ledger))
    return ended(client.chain_extend(step.log, ledgers, listed.version), text)


class ReadLog(Params):
    """Read a whole log, ledger by ledger, without recovery."""

    client: ClientName
    log: LogName


@step(ReadLog)
def read_log(context: RunContext, step: ReadLog) -> Done:
    found = context.client(step.client).chain_read(step.log)
    return ended(found, f"{step.client} reads log {step.log}: {found.entries} entries")
