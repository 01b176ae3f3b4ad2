"""Steps past the plan's clients: the observer's census, and changes of the metadata store.

Every run ends with observations; a census here is an additional one. The changes are made by other
parties to a ledger's metadata while its writer is active, one compare-and-swap at a time; ZooKeeper's
transaction log records them like any other.
"""

from __future__ import annotations

from harness.recording.context import RunContext
from harness.recording.finals import take_census
from harness.registry import Done, step
from plans.grammar.names import LedgerName, Params


class Census(Params):
    """Ask every bookie for each entry of one ledger, or of all. Passes are numbered in order.

    Every run ends with two more.
    """

    ledger: LedgerName | None = None


@step(Census)
def census(context: RunContext, step: Census) -> Done:
    return Done(take_census(context, None if step.ledger is None else context.ledgers.id(step.ledger)))


class Touch(Params):
    """Write a ledger's metadata unchanged: its version grows, as after another client's change."""

    ledger: LedgerName


@step(Touch)
def touch(context: RunContext, step: Touch) -> Done:
    version = context.cluster.metadata.touch(context.ledgers.id(step.ledger))
    return Done(f"touch {step.ledger}: metadata version {version}")


class LongIds(Params):
    """Let the metadata store give out ids beyond 31 bits to clients that have not created a ledger yet.

    ZooKeeper keeps such ledgers in a deeper tree, which takes longer to read.
    """


@step(LongIds)
def long_ids(context: RunContext, step: LongIds) -> Done:  # noqa: ARG001  # the step has no parameters
    context.cluster.metadata.long_ids()
    return Done("long_ids: the next ledgers have ids beyond 31 bits")
