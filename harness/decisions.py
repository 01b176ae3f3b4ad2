"""Clients' decisions in a run, from its recorded steps: how each step that can decide ended.

Also whether a client or a server decided otherwise than a step plans, which ended the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from checkers.availability.stuck import NO_ANSWERS
from evidence.folder import RunFolder
from evidence.recorders import read_lines
from plans.decisions import Decision

CONTRADICTED = "contradicted"
"""Marks the record of a step that ended because a server did what the plan rules out."""
_DECIDING = ("create", "append", "read", "tail", "recover", "close")


def decisions(folder: RunFolder) -> Iterator[Decision]:
    """Every decision, in the order in which the steps ended; a step that raised decided nothing."""
    for record in read_lines(folder.steps).records:
        if record.get("step") in _DECIDING and "outcome" in record:
            yield _decision(record)


def decided_otherwise(folder: RunFolder) -> str:
    """Who decided otherwise than planned and so ended the steps, ``client`` or ``server``; empty for neither.

    What a client learned or a server was seen to do is a decision; a missing reply is not.
    """
    for record in read_lines(folder.steps).records:
        if record.get(CONTRADICTED):
            return "server"
        if _otherwise(record):
            return "client"
    return ""


def _otherwise(record: Mapping[str, Any]) -> bool:
    if "outcome" not in record or "client" not in record["params"]:
        return False
    silent = record["outcome"] == "unknown" and record.get("facts", {}).get("code", 0) in NO_ANSWERS
    return record["planned"] not in ("any", record["outcome"]) and not silent


def _decision(record: Mapping[str, Any]) -> Decision:
    params, facts = record["params"], record.get("facts", {})
    return Decision(
        step=record["step"],
        client=params["client"],
        ledger=params["ledger"],
        round=record.get("round", 1),
        began_ns=record["began_ns"],
        outcome=record["outcome"],
        last_entry=facts.get("last_entry"),
        error=facts.get("error", ""),
        code=facts.get("code", 0),
        entries=facts.get("entries"),
        lac=facts.get("lac"),
    )
