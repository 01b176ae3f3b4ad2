"""Conditions on servers: their processes, how a boot goes, and their registrations.

A boot that is ready has replayed its journal, so it cannot log any more what a boot logs only before that.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from cluster.interface import ProcessState
from evidence.collect.logs import BOOKIE_EVENTS
from harness.recording.context import RunContext
from harness.registry import condition
from plans.grammar.names import BookieName, ClientName, ServerName, one_of
from plans.grammar.steps import Condition
from protocol.addresses import bookie_id
from protocol.errors import ContradictedError, ServerError, UnplannedDeathError

_AT_ONCE_S = 0.0
_BEFORE_READY = ("journal_failed",)
EventName = Annotated[
    str,
    one_of("event of a bookie's log", BOOKIE_EVENTS),
    WithJsonSchema({"enum": sorted(BOOKIE_EVENTS), "type": "string"}),
]


class Ready(Condition):
    """The server runs, and its start is complete: it answers, and a bookie is registered."""

    target: ServerName


@condition(Ready)
def ready(context: RunContext, wanted: Ready) -> tuple[bool, str]:
    return _is_ready(context, wanted.target)


def _is_ready(context: RunContext, name: str) -> tuple[bool, str]:
    process = context.cluster.process(name)
    if process.state is not ProcessState.RUNNING:
        return False, f"{name} is {process.state}"
    try:
        process.wait_ready(_AT_ONCE_S)
    except UnplannedDeathError:
        raise
    except ServerError as error:  # not yet, or a fault has just ended it
        return False, str(error)
    return True, f"{name} is ready in boot {process.boot}"


class Down(Condition):
    """The process has ended."""

    target: ServerName


@condition(Down)
def down(context: RunContext, wanted: Down) -> tuple[bool, str]:
    state = context.cluster.process(wanted.target).state
    return state is ProcessState.DOWN, f"{wanted.target} is {state}"


class Refused(Condition):
    """The process exited while it booted, which a ``start`` must allow with ``expect``."""

    target: ServerName


@condition(Refused)
def refused(context: RunContext, wanted: Refused) -> tuple[bool, str]:
    process = context.cluster.process(wanted.target)
    refusal = process.refusal()
    return refusal is not None, str(refusal or f"{wanted.target} boot {process.boot} is {process.state}")


class Said(Condition):
    """The log of the bookie's current or last boot contains the event ``times`` times.

    ``flush_failed``: a flush of the storage ended with an error. ``entry_log_compacted``: compaction has
    copied an entry log's entries and removes it. ``entry_log_deleted``: it has entries of no known ledger.
    """

    target: BookieName
    event: EventName
    times: int = Field(default=1, ge=1)


@condition(Said)
def said(context: RunContext, wanted: Said) -> tuple[bool, str]:
    """``ContradictedError`` when the event cannot come any more."""
    process = context.cluster.process(wanted.target)
    too_late = (
        wanted.event in _BEFORE_READY and _is_ready(context, wanted.target)[0]
    )  # before the log is read
    found = Counter(one.event for one in context.boot_log(wanted.target))
    who, times = f"{wanted.target} boot {process.boot}", found[wanted.event]
    if times >= wanted.times:
        return True, f"{who} logged {wanted.event}" + (f" {times} times" if times > 1 else "")
    if too_late:
        raise ContradictedError(f"{who} is ready, but the plan expects it to log {wanted.event}")
    seen = ", ".join(f"{event} ({count})" for event, count in found.items())
    return False, f"{who} logged {seen or 'no such event'}"


class Registered(Condition):
    """The bookie's registration in ZooKeeper is writable, read-only, either, or absent."""

    target: BookieName
    state: Literal["any", "writable", "read_only", "absent"] = Field(default="any", alias="is")


@condition(Registered)
def registered(context: RunContext, wanted: Registered) -> tuple[bool, str]:
    metadata, name = context.cluster.metadata, wanted.target
    # A bookie that changes its state makes the new registration before it deletes the former one. The lists
    # are read one after the other, so one that changes meanwhile may be in neither; a second look finds it.
    for _ in range(2):
        for state, names in (("writable", metadata.writable()), ("read_only", metadata.read_only())):
            if name in names:
                return wanted.state in ("any", state), f"{name} is registered, {state.replace('_', '-')}"
    return wanted.state == "absent", f"{name} is not registered"


class Known(Condition):
    """The client knows the bookie's registration and would send requests to it.

    That is some milliseconds after it registered; a request before that is not even sent. A client that saw a
    bookie turn read-only and writable again may lose its address permanently (apache/bookkeeper#4172); a new
    boot of the bookie mends it.
    """

    client: ClientName
    target: BookieName


@condition(Known)
def known(context: RunContext, wanted: Known) -> tuple[bool, str]:
    if context.client(wanted.client).knows(bookie_id(wanted.target)).known:
        return True, f"{wanted.client} knows {wanted.target}"
    return False, f"{wanted.client} does not know {wanted.target} yet"
