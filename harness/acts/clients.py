"""Acts of clients: create, append, recover, open, close, read, tail, lac, force, delete.

Each sends one command to a client process; the client records the operations. Nothing here
reads a history.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cluster.configuration import CHOSEN_ENSEMBLE
from evidence.codes import Outcome
from harness.acts.registry import Act, Done, act, outcome_of, refusal, told
from harness.conditions import condition
from harness.stage import Stage
from plans.executed import BOOKIES
from protocol.addresses import bookie_id

_APPEND_TIMEOUT_S = 600


def ended(reply: dict[str, Any], text: str, **facts: int | None) -> Done:
    """What is done and how it ended, with the refusal where there was one, and the facts that are known."""
    outcome = outcome_of(reply)
    known = {name: value for name, value in facts.items() if value is not None}
    text = text if outcome is Outcome.OK else f"{text}: {refusal(reply)}"
    return Done(text, outcome, {**told(reply), **known})


@act("create")
def create(stage: Stage, step: Any) -> Done:
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


@act("append")
def append(stage: Stage, step: Any) -> Done:
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


@act("recover")
def recover(stage: Stage, step: Any) -> Done:
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


@condition("known")
def known(stage: Stage, step: Any) -> tuple[bool, str]:
    """The client would find the bookie's address."""
    reply = stage.call(step.client, "knows", bookie=bookie_id(step.target))
    if reply.get("known"):
        return True, f"{step.client} knows {step.target}"
    return False, f"{step.client} does not know {step.target} yet"


@act("open")
def open_(stage: Stage, step: Any) -> Done:
    """Open without recovery: neither fences nor closes."""
    reply = stage.call(
        step.client,
        "open",
        handle=stage.ledgers.new_handle(step.client, step.ledger),
        ledger=stage.ledgers.id(step.ledger),
        recovery=False,
    )
    return ended(reply, f"{step.client} opens {step.ledger} without recovery (LAC {reply.get('lac', '-')})")


@act("read")
def read(stage: Stage, step: Any) -> Done:
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


@act("tail")
def tail(stage: Stage, step: Any) -> Done:
    """Follow the ledger, in the background or until it is closed and read to its end."""
    handle = stage.ledgers.handle(step.client, step.ledger)
    reply = stage.call(step.client, "tail", handle=handle, background=step.background)
    text = f"{step.client} tails {step.ledger}"
    if step.background:
        return ended(reply, text)
    entries = reply.get("read", 0)
    return ended(reply, f"{text} to its end: {entries} entries", entries=entries)


@act("delete")
def delete(stage: Stage, step: Any) -> Done:
    """Delete the ledger's metadata; from its invocation on nothing of the ledger is owed."""
    reply = stage.call(step.client, "delete", ledger=stage.ledgers.id(step.ledger))
    return ended(reply, f"{step.client} deletes {step.ledger}")


def _on_handle(do: str, sentence: str, **parameters: Any) -> Act:
    """An action that is one command on the client's present handle; ``sentence`` describes its result."""

    def carry_out(stage: Stage, step: Any) -> Done:
        handle = stage.ledgers.handle(step.client, step.ledger)
        reply = stage.call(step.client, do, handle=handle, **parameters)
        found = {key: reply.get(key, "-") for key in ("lac", "last_entry")}
        return ended(reply, sentence.format(client=step.client, ledger=step.ledger, **found))

    return carry_out


act("close")(_on_handle("close", "{client} closes {ledger} at {last_entry}"))
act("force")(_on_handle("force", "{client} forces {ledger}"))
act("lac")(_on_handle("lac", "{client} gets LAC {lac} of {ledger}"))
