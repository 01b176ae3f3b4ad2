"""Conditions that a plan waits for: by name, each with its own parameters.

``CONDITIONS`` is the vocabulary of ``wait_for`` and of ``when``; how a condition is observed is
the harness's affair. Every condition but ``elapsed`` says how long waiting may take.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from plans.names import BookieName, GivenFault, LedgerName, Params, ServerName


class Condition(Params):
    """A state of the cluster; waiting longer than ``timeout_s`` ends the run as an error."""

    timeout_s: float = Field(default=60, gt=0)


class Ready(Condition):
    """The server climbed its readiness ladder to the last rung."""

    condition: Literal["ready"] = "ready"
    target: ServerName


class Registered(Condition):
    """The bookie is registered in ZooKeeper, writable or read-only."""

    condition: Literal["registered"] = "registered"
    target: BookieName


class Down(Condition):
    """The process has ended."""

    condition: Literal["down"] = "down"
    target: ServerName


class Limbo(Condition):
    """The bookie answers that it does not know (status 507) for the ledger."""

    condition: Literal["limbo"] = "limbo"
    target: BookieName
    ledger: LedgerName


class NotLimbo(Condition):
    """The bookie answers, and not with status 507, for the ledger."""

    condition: Literal["not_limbo"] = "not_limbo"
    target: BookieName
    ledger: LedgerName


class State(Condition):
    """The ledger's metadata is in that state."""

    condition: Literal["state"] = "state"
    ledger: LedgerName
    state: Literal["open", "in_recovery", "closed"] = Field(alias="is")


class Fragments(Condition):
    """The ledger's metadata has fragments with just these first entries."""

    condition: Literal["fragments"] = "fragments"
    ledger: LedgerName
    first_entries: tuple[int, ...] = Field(min_length=1)


class Acked(Condition):
    """At least so many adds of the ledger are acknowledged to the client that created it."""

    condition: Literal["acked"] = "acked"
    ledger: LedgerName
    entries: int = Field(ge=1)


class Acted(Condition):
    """The fault that was given that name with ``as`` has acted on (or holds) so many messages."""

    condition: Literal["acted"] = "acted"
    fault: GivenFault
    times: int = Field(default=1, ge=1)


class Checkpointed(Condition):
    """The bookie has completed two checkpoints since the step began, so one of them began after it, too.

    Needs a `flushInterval` that is shorter than ``timeout_s``.
    """

    condition: Literal["checkpointed"] = "checkpointed"
    target: BookieName


class Quiet(Condition):
    """Every bookie is up, registered and answering, and none is in limbo or repairing."""

    condition: Literal["quiet"] = "quiet"


class Elapsed(Params):
    """So much time has passed since the step began (an idle interval that a scenario needs)."""

    condition: Literal["elapsed"] = "elapsed"
    for_s: float = Field(gt=0)


AnyCondition = (
    Ready
    | Registered
    | Down
    | Limbo
    | NotLimbo
    | State
    | Fragments
    | Acked
    | Acted
    | Checkpointed
    | Quiet
    | Elapsed
)

CONDITIONS: dict[str, type[AnyCondition]] = {
    "acked": Acked,
    "acted": Acted,
    "checkpointed": Checkpointed,
    "down": Down,
    "elapsed": Elapsed,
    "fragments": Fragments,
    "limbo": Limbo,
    "not_limbo": NotLimbo,
    "quiet": Quiet,
    "ready": Ready,
    "registered": Registered,
    "state": State,
}
