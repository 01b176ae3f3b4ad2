"""Steps on logs made of ledgers: put a ledger into a log's list, read a whole log."""

from __future__ import annotations

from typing import ClassVar

from harness.stage import Stage
from harness.steps.clients import ended
from harness.steps.registry import Done, step
from plans.names import ClientName, LogName, Params
from plans.steps import Act


class Extend(Act):
    """Put the ledger at the end of a log's list, by compare-and-set on the list as it is now."""

    needs_handle: ClassVar[bool] = False
    log: LogName


@step(Extend)
def extend(stage: Stage, step: Extend) -> Done:
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


class ReadLog(Params):
    """Read a whole log, ledger by ledger, without recovery."""

    client: ClientName
    log: LogName


@step(ReadLog)
def read_log(stage: Stage, step: ReadLog) -> Done:
    """One pass through the log, without recovery."""
    reply = stage.call(step.client, "chain_read", chain=step.log)
    return ended(reply, f"{step.client} reads log {step.log}: {reply.get('entries', 0)} entries")
