"""Conditions that a plan waits for: by name, each with its own parameters.

``CONDITIONS`` is the vocabulary of ``wait_for`` and of ``when``; how a condition is observed is
the harness's task. Every condition but ``elapsed`` says how long waiting may take.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from plans.names import BookieName, ClientName, GivenFault, LedgerName, LoadName, Params, ServerName


class Condition(Params):
    """A state of the cluster; waiting longer than ``timeout_s`` ends the run as an error."""

    timeout_s: float = Field(default=120, gt=0)


class Ready(Condition):
    """The server climbed its readiness ladder to the last rung."""

    condition: Literal["ready"] = "ready"
    target: ServerName


class Registered(Condition):
    """The bookie's registration in ZooKeeper is writable, read-only, either, or absent."""

    condition: Literal["registered"] = "registered"
    target: BookieName
    state: Literal["any", "writable", "read_only", "absent"] = Field(default="any", alias="is")


class Down(Condition):
    """The process has ended."""

    condition: Literal["down"] = "down"
    target: ServerName


class Refused(Condition):
    """The process exited while it booted, which a ``start`` must allow with ``expect``."""

    condition: Literal["refused"] = "refused"
    target: ServerName


class Said(Condition):
    """The log of the bookie's current or last boot contains the event ``times`` times."""

    condition: Literal["said"] = "said"
    target: BookieName
    event: str = Field(pattern=r"^[a-z][a-z_]*$")
    times: int = Field(default=1, ge=1)


class Limbo(Condition):
    """The bookie answers "unknown" (status 507) for the ledger."""

    condition: Literal["limbo"] = "limbo"
    target: BookieName
    ledger: LedgerName


class NotLimbo(Condition):
    """The bookie answers, and not with status 507, for the ledger."""

    condition: Literal["not_limbo"] = "not_limbo"
    target: BookieName
    ledger: LedgerName


class Forgotten(Condition):
    """The bookie answers "no such ledger" (status 402), or has collected it as garbage."""

    condition: Literal["forgotten"] = "forgotten"
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
    """At least ``entries`` adds of the ledger are acknowledged to the client that created it."""

    condition: Literal["acked"] = "acked"
    ledger: LedgerName
    entries: int = Field(ge=1)


class Acted(Condition):
    """The fault named with ``as`` has acted on, or holds, at least ``times`` messages."""

    condition: Literal["acted"] = "acted"
    fault: GivenFault
    times: int = Field(default=1, ge=1)


class Done(Condition):
    """The load has ended without being stopped; ``end_load`` then returns its totals."""

    condition: Literal["done"] = "done"
    load: LoadName


class Checkpointed(Condition):
    """The bookie has completed two checkpoints since the step began, so the second began after it.

    Needs a `flushInterval` that is shorter than ``timeout_s``.
    """

    condition: Literal["checkpointed"] = "checkpointed"
    target: BookieName


class FenceJournaled(Condition):
    """The bookie's journal has a record of the ledger's fence; an answer to fencing does not prove it."""

    condition: Literal["fence_journaled"] = "fence_journaled"
    target: BookieName
    ledger: LedgerName


class Known(Condition):
    """The client knows the bookie's registration and would send requests to it."""

    condition: Literal["known"] = "known"
    client: ClientName
    target: BookieName


class Quiet(Condition):
    """Every bookie runs, is registered and answering, and none is in limbo or repairing.

    Where that does not come, ``otherwise: finish`` leaves out the steps that are left: the run is healed,
    observed and judged as it is.
    """

    condition: Literal["quiet"] = "quiet"
    otherwise: Literal["error", "finish"] = "error"


class Replicated(Condition):
    """No ledger is marked as under-replicated, and an audit has ended that began late enough.

    It began after the start of the step, and after exactly the running bookies were registered. ``audit``
    ``bookies`` checks whether each bookie that a ledger names is registered, ``ledgers`` whether each bookie
    has its entries. Needs autorecovery.
    """

    condition: Literal["replicated"] = "replicated"
    audit: Literal["bookies", "ledgers"] = "bookies"


class Marked(Condition):
    """The ledger is marked as under-replicated, or (``is: false``) it is not."""

    condition: Literal["marked"] = "marked"
    ledger: LedgerName
    wanted: bool = Field(default=True, alias="is")


class ReplicasCounted(Condition):
    """A later replica check has ended and counted exactly these numbers of ledgers by their worst entry.

    That has no copy, fewer than the ack quorum, or fewer than the write quorum. The check is the auditor's
    own (``auditorReplicasCheckInterval``), of which BookKeeper makes its metrics. Needs autorecovery.
    """

    condition: Literal["replicas_counted"] = "replicas_counted"
    no_copy: int = Field(default=0, ge=0)
    below_ack_quorum: int = Field(default=0, ge=0)
    below_write_quorum: int = Field(default=0, ge=0)


class Elapsed(Params):
    """``for_s`` seconds have passed since the step began: an idle interval that a scenario needs."""

    condition: Literal["elapsed"] = "elapsed"
    for_s: float = Field(gt=0)


AnyCondition = (
    Ready
    | Registered
    | Down
    | Refused
    | Said
    | Limbo
    | NotLimbo
    | Forgotten
    | State
    | Fragments
    | Acked
    | Acted
    | Done
    | Checkpointed
    | FenceJournaled
    | Known
    | Quiet
    | Replicated
    | Marked
    | ReplicasCounted
    | Elapsed
)

CONDITIONS: dict[str, type[AnyCondition]] = {
    "acked": Acked,
    "acted": Acted,
    "checkpointed": Checkpointed,
    "done": Done,
    "down": Down,
    "elapsed": Elapsed,
    "fence_journaled": FenceJournaled,
    "forgotten": Forgotten,
    "fragments": Fragments,
    "known": Known,
    "limbo": Limbo,
    "marked": Marked,
    "not_limbo": NotLimbo,
    "quiet": Quiet,
    "ready": Ready,
    "refused": Refused,
    "registered": Registered,
    "replicas_counted": ReplicasCounted,
    "replicated": Replicated,
    "said": Said,
    "state": State,
}
