"""The condition that a bookie's journal holds the fence of a ledger, as its files show.

A bookie without an entry of the ledger answers a fencing request before the fence is in its journal,
so the answer does not show it.
"""

from __future__ import annotations

from typing import Any

from cluster.interface import Bookie
from evidence.journal import journal_id, parse
from harness.conditions import condition
from harness.stage import Stage
from plans.settings import of_journal


@condition("fence_journaled")
def fence_journaled(stage: Stage, step: Any) -> tuple[bool, str]:
    """A file of the bookie's journal has a record of the fence."""
    bookie = stage.cluster.bookie(step.target)
    ledger = stage.ledgers.id(step.ledger)
    if any(ledger in fenced for fenced in _fences(bookie)):
        return True, f"the journal of {step.target} has the fence of {step.ledger}"
    return False, f"the journal of {step.target} has no fence of {step.ledger} yet"


def _fences(bookie: Bookie) -> list[frozenset[int]]:
    journals = [folder for place, folder in bookie.places().items() if of_journal(place)]
    files = [file for folder in journals for file in (folder / "current").glob("*.txn")]
    return [parse(file.read_bytes()).fenced for file in files if journal_id(file.name) is not None]
