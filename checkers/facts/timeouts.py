"""Whether final opens may have timed out: their client reports that as any other failed recovery.

By the wire log, which shows the requests and how late bookies answered them; without one, by how long the
opens lasted. Judges nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from checkers.facts.boots import Health
from checkers.facts.ledgers import REFUSED
from checkers.judging.contract import Batch, Columns, LedgerFact, LedgerFacts, Rows, RunFacts
from checkers.judging.found import Found, whole_rows
from checkers.sets.spans import Ints
from evidence.codes import NEVER, Direction
from protocol.addresses import OBSERVER

SLOW_NS = 5 * 10**9
"""BookKeeper's default for how long a client waits for an answer; those of runs mostly wait longer."""


def _slow(batch: Batch) -> Columns:
    answers = batch.frames.where(way=Direction.ANSWER)
    timed = answers.filter((answers["asked_ns"] != NEVER) & (answers["received_ns"] != NEVER))
    slow = timed.filter(timed["received_ns"] - timed["asked_ns"] > SLOW_NS)
    return {name: slow[name] for name in ("ledger", "source", "bookie", "received_ns")}


SLOW = LedgerFact("slow", "frames", _slow, key=("ledger", "source", "bookie"), values={"received_ns": "max"})
"""Which bookies answered requests about a ledger so late that a client may have given up, and when last."""


def asked_rows(frames: Rows, facts: LedgerFacts, run: RunFacts) -> pa.Table:
    """What final opens that failed asked bookies more than 5 s before the last ended: 1, answered -1."""
    ledgers, began_ns, ended_ns = facts.memo(_refused_times)
    rows = frames.where(source=run.clients.get(OBSERVER, -1))
    rows = rows.filter(np.isin(rows["ledger"], ledgers))
    is_answer, place = rows["way"] == Direction.ANSWER, np.searchsorted(ledgers, rows["ledger"])
    asked_ns = np.where(is_answer & (rows["asked_ns"] != NEVER), rows["asked_ns"], rows["received_ns"])
    rows = rows.filter((asked_ns >= began_ns[place]) & (asked_ns < ended_ns[place] - SLOW_NS))
    number = np.where(rows["way"] == Direction.ANSWER, -1, 1)
    return whole_rows("asked", rows["ledger"], [rows["ledger"], rows["bookie"], number])


def _refused_times(facts: LedgerFacts) -> tuple[Ints, Ints, Ints]:
    """The ledgers of ``REFUSED``, when the first of these opens was invoked, and when the last ended."""
    columns = facts.columns(REFUSED)
    ledgers, place = np.unique(columns["ledger"], return_inverse=True)
    began, ended = np.full(len(ledgers), NEVER), np.zeros(len(ledgers), dtype=np.int64)
    np.minimum.at(began, place, columns["invoked_ns"])
    np.maximum.at(ended, place, columns["completed_ns"])
    return ledgers, began, ended


def unanswered(found: Found) -> Mapping[int, Sequence[int]]:
    """Ledger -> the bookies that left a request of ``asked_rows`` without an answer."""
    numbers: Counter[tuple[int, int]] = Counter()
    for ledger, bookie, number in zip(*(one.tolist() for one in found.columns("asked")), strict=True):
        numbers[ledger, bookie] += number
    by_ledger: dict[int, list[int]] = defaultdict(list)
    for (ledger, bookie), number in sorted(numbers.items()):
        by_ledger[ledger] += [bookie] if number > 0 else []
    return by_ledger


def slowness(ledger: int, health: Health, lasted_ns: int, silent: Sequence[int], facts: LedgerFacts) -> str:
    """Why one of the opens may have timed out; empty when none did.

    The longest lasted ``lasted_ns``; ``silent`` are the bookies that left a request without an answer.
    """
    run, limit = health.run, f"{SLOW_NS // 10**9} s"
    if not run.wire:
        return f"an open lasted over {limit}, and the run has no wire log" if lasted_ns > SLOW_NS else ""
    if run.damage_to(("frames",)):
        return "what bookies answered may be missing in the wire log"
    observer = run.clients.get(OBSERVER, -1)
    late = [bookie for *_, bookie, at_ns in facts.rows(SLOW, ledger, observer) if at_ns > health.began_ns]
    slow = [f"{run.bookie_name(one)} took over {limit} for an answer" for one in late]
    return "; ".join([*slow, *(f"{run.bookie_name(one)} gave no answer within {limit}" for one in silent)])
