"""Conditions on what a bookie has stored, as its files show.

A checkpoint ends with the journal's mark being written (``SyncThread#checkpoint``), also when nothing was
flushed and the mark did not move. The first end that is seen may be that of a checkpoint which began before
the step did; the second is not, for one thread makes them one after the other.

A bookie without an entry of the ledger answers a fencing request before the fence is in its journal, so the
answer does not show it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from cluster.interface import Bookie
from evidence.raw.journal import journal_id, parse
from harness.recording.context import RunContext
from harness.registry import Look, beginning, condition
from plans.cluster import of_journal
from plans.grammar.names import BookieName, LedgerName
from plans.grammar.steps import Condition

_ENOUGH = 2


class Checkpointed(Condition):
    """The bookie has completed two checkpoints since the step began, so the second began after it.

    Needs a `flushInterval` that is shorter than ``timeout_s``.
    """

    target: BookieName


@beginning(Checkpointed)
def checkpointed(context: RunContext, wanted: Checkpointed) -> Look:
    return checkpoints_ended(context.cluster.bookie(wanted.target))


def checkpoints_ended(bookie: Bookie) -> Look:
    """A question for :func:`wait_until`: whether the bookie has ended two checkpoints since this call."""
    seen = {bookie.marked_ns()}

    def ended() -> tuple[bool, str]:
        seen.add(bookie.marked_ns())
        number = len(seen) - 1
        return number >= _ENOUGH, f"{bookie.name} has ended {number} of {_ENOUGH} checkpoints"

    return ended


class FenceJournaled(Condition):
    """The bookie's journal has a record of the ledger's fence; an answer to fencing does not prove it.

    See docs/findings/fence-unwritten.md.
    """

    target: BookieName
    ledger: LedgerName


@condition(FenceJournaled)
def fence_journaled(context: RunContext, wanted: FenceJournaled) -> tuple[bool, str]:
    bookie = context.cluster.bookie(wanted.target)
    ledger = context.ledgers.id(wanted.ledger)
    journals = [folder for place, folder in bookie.places().items() if of_journal(place)]
    files = [file for folder in journals for file in (folder / "current").glob("*.txn")]
    if any(ledger in _fenced(file) for file in files if journal_id(file.name) is not None):
        return True, f"the journal of {wanted.target} has the fence of {wanted.ledger}"
    return False, f"the journal of {wanted.target} has no fence of {wanted.ledger} yet"


def _fenced(file: Path) -> Collection[int]:
    """Ledgers of whose fence a file of a journal has a record; none when a checkpoint has just removed it."""
    try:
        return parse(file.read_bytes()).fenced
    except FileNotFoundError:
        return ()
