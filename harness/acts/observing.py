"""Acts of the observer within a plan: a census between steps.

Every run ends with observations; these are additional ones.
"""

from __future__ import annotations

from typing import Any

from harness.acts.registry import Done, act
from harness.finals import census
from harness.stage import Stage


@act("census")
def take_census(stage: Stage, step: Any) -> Done:
    """Ask every bookie for every entry, of one ledger or of all."""
    only = stage.ledgers.id(step.ledger) if step.ledger is not None else None
    return Done(census(stage, only))
