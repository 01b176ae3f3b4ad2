"""What the wire shows that a writer knew, and no history has.

A writer sends its LAC along with its adds. Every add up to it has ended ok by then: for one add after the
other the client moves the LAC and calls the application back (``LedgerHandle#sendAddSuccessCallbacks``).
So a LAC that was sent while an add below it is not ok in any history shows that outcomes are missing. The
add of the LAC itself may lack its outcome where the writer's process was ended in between.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from checkers.contract import Chunk, RunFacts
from checkers.facts.damage import shortcomings
from checkers.facts.wire import UNPROVEN, asked
from checkers.facts.wording import client_name, entries_text, ledger_text
from checkers.sets.peaks import NO_PEAKS, Peaks, peaks
from checkers.sets.spans import Spans
from evidence.codes import FrameFlag, Message

_UNSURE = int(UNPROVEN | FrameFlag.GARBLED)


def sent_lacs(chunk: Chunk) -> Peaks:
    """The highest LAC that was sent for each ledger, with the source and the frame's number."""
    sent = NO_PEAKS
    for kind in (Message.ADD, Message.WRITE_LAC):
        rows = asked(chunk.frames, kind)
        rows = rows.where((rows["ledger"] >= 0) & (rows["lac"] >= 0) & ((rows["flags"] & _UNSURE) == 0))
        sent |= peaks(rows["ledger"], rows["lac"], rows["source"], rows["seq"])
    return sent


def unrecorded(sent: Peaks, acked: Spans, run: RunFacts) -> Iterator[str]:
    """A sentence of damage to ``operations`` where a LAC was sent beyond what the histories have as ok."""
    if not run.wire or shortcomings(run, ("operations", "frames")):
        return
    ended = set(_ended_early(run))
    due = {
        ledger: peak.value - (peak.client in ended)
        for ledger, peak in sent.items()
        if peak.client in run.clients.values()
    }
    missing = Spans.up_to(due) - acked
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
