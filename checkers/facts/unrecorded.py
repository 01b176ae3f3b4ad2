"""What the wire shows that a writer knew, and no history has.

A writer sends its LAC along with its adds. Every add up to it has ended ok by then: for one add after the
other the client moves the LAC and calls the application back (``LedgerHandle#sendAddSuccessCallbacks``).
So a LAC that was sent while an add below it is not ok in any history shows that outcomes are missing. The
add of the LAC itself may lack its outcome where the writer's process was ended in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from checkers.contract import Batch, Found, LedgerFact, LedgerFacts, RunFacts
from checkers.facts.damage import shortcomings
from checkers.facts.parts import acked, entries_of
from checkers.facts.wire import UNPROVEN, requests
from checkers.facts.wording import client_name, entries_text, ledger_text
from checkers.found import set_rows
from checkers.ledger_facts import Columns
from checkers.sets.spans import Spans
from evidence.codes import FrameFlag, Message

_UNSURE = int(UNPROVEN | FrameFlag.GARBLED)


def _sent(batch: Batch) -> Columns:
    kinds = (requests(batch.frames, kind) for kind in (Message.ADD, Message.WRITE_LAC))
    parts = [
        rows.where((rows["ledger"] >= 0) & (rows["lac"] >= 0) & ((rows["flags"] & _UNSURE) == 0))
        for rows in kinds
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in _SENT}


_SENT = ("ledger", "lac", "source", "seq")
SENT_LAC = LedgerFact(
    "sent_lac",
    "frames",
    _sent,
    first_by=(("lac", "descending"),),
)
"""The highest LAC that was sent for each ledger, with the source and the frame's number."""


def acked_below_sent(batch: Batch, facts: LedgerFacts) -> pa.Table:
    """The ok adds up to the highest LAC that was sent, for :func:`unrecorded`."""
    ok = batch.operations.once(acked).once(entries_of)
    return set_rows("acked", ok.up_to_each(facts.at(SENT_LAC, "lac", ok.ledger, missing=-1)))


def unrecorded(found: Found, facts: LedgerFacts, run: RunFacts) -> Iterator[str]:
    """A sentence of damage to ``operations`` where a LAC was sent beyond what the histories have as ok."""
    if not run.wire or shortcomings(run, ("operations", "frames")):
        return
    ended, clients = set(_ended_early(run)), set(run.clients.values())
    sent = {ledger: row for ledger, *row in facts.of(SENT_LAC) if row[1] in clients}
    due = {ledger: lac - (source in ended) for ledger, (lac, source, _) in sent.items()}
    missing = Spans.up_to(due) - found.spans("acked")
    for ledger, first, last in list(missing)[:1]:
        lac, source, frame = sent[ledger]
        yield (
            f"operations: {client_name(run, source)} sent LAC {lac} of {ledger_text(run, ledger)} "
            f"(frame {frame}), and no history has an ok add of {entries_text(first, last)} "
            f"({missing.count():,} in all)"
        )


def _ended_early(run: RunFacts) -> Iterator[int]:
    """The clients of which a process did not exit with 0."""
    for row in run.servers:
        number = run.clients.get(row["server"])
        if row["event"] == "exit" and number is not None and json.loads(row["detail"]).get("code") != 0:
            yield number
