"""Acts and conditions on a ledger's metadata, straight at the metadata store.

The harness makes changes that other parties make to a ledger's metadata while its writer is active, one
compare-and-swap at a time; ZooKeeper's transaction log records them like any other.
"""

from __future__ import annotations

from typing import Any

from harness.acts.registry import Done, act
from harness.conditions import condition
from harness.stage import Stage


@act("touch")
def touch(stage: Stage, step: Any) -> Done:
    """Rewrite the metadata unchanged, so that the next write based on the former version fails."""
    version = stage.cluster.metadata.touch(stage.ledgers.id(step.ledger))
    return Done(f"touch {step.ledger}: metadata version {version}")


@act("long_ids")
def long_ids(stage: Stage, step: Any) -> Done:  # noqa: ARG001  # the step has no parameters
    """Let the metadata store give out ids beyond 31 bits."""
    stage.cluster.metadata.long_ids()
    return Done("long_ids: the next ledgers have ids beyond 31 bits")


@condition("fragments")
def fragments(stage: Stage, step: Any) -> tuple[bool, str]:
    """The first entries of the ledger's fragments are those."""
    found = stage.cluster.metadata.ledger(stage.ledgers.id(step.ledger))
    if found is None:
        return False, f"{step.ledger} has no metadata"
    firsts = tuple(fragment.first_entry for fragment in found[0].fragments)
    return firsts == step.first_entries, f"{step.ledger} has fragments from {', '.join(map(str, firsts))}"
