"""Conditions on ledgers, and on what acts on them beside the steps: faults and loads."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from harness.recording.context import RunContext
from harness.registry import condition
from plans.grammar.names import GivenFault, LedgerName, LoadName
from plans.grammar.steps import Condition
from protocol.errors import UsageError


class State(Condition):
    """The ledger's metadata is in that state."""

    ledger: LedgerName
    state: Literal["open", "in_recovery", "closed"] = Field(alias="is")


@condition(State)
def state(context: RunContext, wanted: State) -> tuple[bool, str]:
    found = context.cluster.metadata.ledger(context.ledgers.id(wanted.ledger))
    if found is None:
        return False, f"{wanted.ledger} has no metadata"
    return found[0].state.name.lower() == wanted.state, f"{wanted.ledger} is {found[0].state.name}"


class Fragments(Condition):
    """The ledger's metadata has fragments with just these first entries."""

    ledger: LedgerName
    first_entries: tuple[int, ...] = Field(min_length=1)


@condition(Fragments)
def fragments(context: RunContext, wanted: Fragments) -> tuple[bool, str]:
    found = context.cluster.metadata.ledger(context.ledgers.id(wanted.ledger))
    if found is None:
        return False, f"{wanted.ledger} has no metadata"
    firsts = tuple(fragment.first_entry for fragment in found[0].fragments)
    text = f"{wanted.ledger} has fragments from {', '.join(map(str, firsts))}"
    return firsts == wanted.first_entries, text


class Acked(Condition):
    """At least ``entries`` adds of the ledger are acknowledged to the client that created it."""

    ledger: LedgerName
    entries: int = Field(ge=1)


@condition(Acked)
def acked(context: RunContext, wanted: Acked) -> tuple[bool, str]:
    writer = context.ledgers.writer(wanted.ledger)
    if writer is None:
        return False, f"{wanted.ledger} was not created yet"
    client, handle = writer
    count = context.client(client).status(handle).acked
    return count >= wanted.entries, f"{count} of {wanted.entries} adds to {wanted.ledger} acknowledged"


class Acted(Condition):
    """The fault named with ``as`` has acted on, or holds, at least ``times`` messages."""

    fault: GivenFault
    times: int = Field(default=1, ge=1)


@condition(Acted)
def acted(context: RunContext, wanted: Acted) -> tuple[bool, str]:
    count = context.nemesis.acted(wanted.fault)
    if count is None:
        return False, f"no fault named {wanted.fault} is in force"
    return count >= wanted.times, f"{wanted.fault} has acted {count} of {wanted.times} times"


class Done(Condition):
    """The load has ended without being stopped; ``end_load`` then returns its totals."""

    load: LoadName


@condition(Done)
def done(context: RunContext, wanted: Done) -> tuple[bool, str]:
    if wanted.load not in context.loads:
        raise UsageError(f"no load {wanted.load!r} is running", remedy="wait for it before it is ended")
    return context.loads[wanted.load].totals.done(), f"load {wanted.load} is running"
