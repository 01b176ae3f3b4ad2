"""Steps on logs made of ledgers: put a ledger into a log's list, read a whole log."""

from __future__ import annotations

from harness.stage import Stage
from harness.steps.registry import Done, ended, step
from plans.names import ClientName, LogName, Params
from plans.steps import Act


class Extend(Act):
    """Put the ledger at the end of a log's list, by compare-and-set on the list as it is now."""

    handle = "none"
    log: LogName


@step(Extend)
def extend(stage: Stage, step: Extend) -> Done:
    text = f"{step.client} puts {step.ledger} at the end of log {step.log}"
    client = stage.client(step.client)
    listed = client.chain_list(step.log)
    if not listed.ok:
        return ended(listed, text)
    ledgers = (*listed.ledgers, stage.ledgers.id(step.ledger))
    return ended(client.chain_extend(step.log, ledgers, listed.version), text)


class ReadLog(Params):
    """Read a whole log, ledger by ledger, without recovery."""

    client: ClientName
    log: LogName


@step(ReadLog)
def read_log(stage: Stage, step: ReadLog) -> Done:
    found = stage.client(step.client).chain_read(step.log)
    return ended(found, f"{step.client} reads log {step.log}: {found.entries} entries")
