"""Acts on logs made of ledgers: put a ledger into a log's list, read a whole log."""

from __future__ import annotations

from typing import Any

from harness.acts.clients import ended
from harness.acts.registry import Done, act
from harness.stage import Stage


@act("extend")
def extend(stage: Stage, step: Any) -> Done:
    """Make the ledger the log's last one, unless another client changes the list at the same time."""
    text = f"{step.client} puts {step.ledger} at the end of log {step.log}"
    listed = stage.call(step.client, "chain_list", chain=step.log)
    if not listed.get("ok"):
        return ended(listed, text)
    ledgers = [*listed["ledgers"], stage.ledgers.id(step.ledger)]
    reply = stage.call(
        step.client, "chain_extend", chain=step.log, ledgers=ledgers, version=listed["version"]
    )
    return ended(reply, text)


@act("read_log")
def read_log(stage: Stage, step: Any) -> Done:
    """One pass through the log, without recovery."""
    reply = stage.call(step.client, "chain_read", chain=step.log)
    return ended(reply, f"{step.client} reads log {step.log}: {reply.get('entries', 0)} entries")
