"""Fencing: once a ledger is closed, or a bookie is fenced, no client adds to it any more.

Two rules. No add is acknowledged to a client that invoked it when the ledger was closed already,
beyond its last entry: operations and metadata show that. A boot of a bookie that answered EOK to
fencing takes no normal add that was asked later; recovery's adds it takes: only the wire shows that.
Sources: *Fencing*; *Closing Ledgers Safely* ("fencing is a local one-way idempotent operation").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from checkers.contract import Batch, LedgerFact, LedgerFacts, Rows, RunFacts, value_at
from checkers.facts.boots import life_name
from checkers.facts.ledgers import RELEASED
from checkers.facts.parts import acked
from checkers.facts.wire import lives, proven_answers
from checkers.facts.wording import counted, entries_text, operation_text, some_notes
from checkers.fencing.fences import (
    ANSWERED,
    RECOVERED,
    answers_of,
    closes_of,
    dated_closes,
    status_name,
    story,
)
from checkers.found import Found, first_rows, kept, span_rows
from checkers.sets.spans import LAST_ENTRY, Bools, Ints, Spans
from evidence.codes import EXPLICIT_NEGATIVES, NEVER, Message, Status
from evidence.findings import Finding, Judgement, Verdict

_AFTER, _TAKEN = "added_after_close", "accepted_when_fenced"
_DENIED = {f"took after {status.name}": status for status in EXPLICIT_NEGATIVES}


class Fencing:
    """Finds adds acknowledged after the close, and adds that a fenced bookie accepted."""

    name = "fencing"
    tables: tuple[str, ...] = ("operations", "ledgers", "frames")
    kinds: tuple[str, ...] = (_AFTER, _TAKEN)
    facts: tuple[LedgerFact, ...] = (ANSWERED, RECOVERED, RELEASED)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:  # noqa: ARG002  # by contract
        """Adds invoked after a close, and normal adds that a bookie took after it had answered to fencing."""
        added = batch.operations.once(acked)
        taken = proven_answers(batch.frames, Message.ADD).of(status=Status.EOK)
        late = added.where(_after_a_close(added, facts))
        after = _rows(_AFTER, late, "invoked_ns", "completed_ns", "client")
        return Found.of(
            after,
            _took(after, taken),
            *(
                _rows(kind, rows, "asked_ns", "received_ns", "source", [lives(rows)])
                for kind, status in ((_TAKEN, Status.EOK), *_DENIED.items())
                for rows in [_taken_after(taken, status, facts)]
            ),
            acknowledged=added.number,
            taken=taken.number,
        )

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs a close or a fence to have been seen, and the wire log for the second rule."""
        after = list(_added_after_close(found, facts, run))
        lives_known = not run.damage_to(("servers",))
        taken = list(_accepted_when_fenced(found, facts, run)) if lives_known else []
        lacking = run.shortcomings((*self.tables, "servers"))
        if not run.wire:
            lacking.append("no wire log was kept: what bookies took after they were fenced was not seen")
        fenced = int((facts.columns(ANSWERED)["status"] == Status.EOK).sum())
        closed = len(facts.once(dated_closes))
        enough = not lacking and closed + fenced > 0
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if after or taken else Verdict.VALID if enough else Verdict.UNKNOWN,
            needed="whole evidence with a wire log, and a ledger that was seen closed or fenced",
            seen={
                "acknowledged": found.count("acknowledged"),
                "closed_ledgers": closed,
                "fenced": fenced,
                "taken": found.count("taken"),
            },
            findings=(*after, *taken),
            counts={
                _AFTER: sum(row.number for row in found.firsts(_AFTER)),
                _TAKEN: sum(row.number for row in found.firsts(_TAKEN, 1)) if lives_known else 0,
            },
            notes=(*lacking, *some_notes(_denied_and_took(found, facts, run))),
        )


def _after_a_close(added: Rows, facts: LedgerFacts) -> Bools:
    """Which adds were invoked after a close of their ledger that ends below them."""
    beyond, since_ns = facts.once(_beyond_closes)
    at = beyond.place(added["ledger"], added["entry"])  # -1 for none: the last
    return np.asarray(added["invoked_ns"] > np.append(since_ns, NEVER)[at])


def _beyond_closes(facts: LedgerFacts) -> tuple[Spans, Ints]:
    """The entries from each end of a ledger to its next, and when it was first closed below them."""
    rows = []
    for ledger, ends in sorted(facts.once(dated_closes).items()):
        since_ns = NEVER
        for end, following in pairwise((*sorted(ends), LAST_ENTRY)):
            since_ns = min(since_ns, ends[end])
            rows.append((ledger, end + 1, following, since_ns))
    *spans, since = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return Spans(*spans), since


def _taken_after(taken: Rows, status: Status, facts: LedgerFacts) -> Rows:
    """The adds that lives took which were asked after these had answered so to fencing."""
    said, life = facts.columns(ANSWERED), lives(taken)
    since_ns = np.full(taken.number, NEVER, dtype=np.int64)
    for one in np.unique(said["life"][said["status"] == status]).tolist():
        such, mine = (said["status"] == status) & (said["life"] == one), life == one
        fences = said["ledger"][such], said["received_ns"][such]
        since_ns[mine] = value_at(*fences, taken["ledger"][mine], missing=NEVER)
    return taken.where((taken["asked_ns"] > since_ns) & (taken["entry"] >= 0))


def _rows(kind: str, late: Rows, began: str, ended: str, by: str, like: Sequence[Ints] = ()) -> pa.Table:
    """Late adds: the proof of neighbours is their first one, by when it began, its number, whose it was."""
    proof = [late[name] for name in (began, "seq", by, ended)]
    return first_rows(kind, late["ledger"], late["entry"], like=like, proof=proof)


def _took(after: pa.Table, taken: Rows) -> pa.Table:
    """Who took the first of neighbouring adds that came after the close."""
    first = Spans.of_entries(after["ledger"], after["first"])
    rows = taken.where(first.has(taken["ledger"], taken["entry"]))
    return span_rows(
        "took", rows["ledger"], rows["entry"], proof=[lives(rows), rows["received_ns"], rows["seq"]]
    )


def _added_after_close(found: Found, facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    took: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for row in found.runs("took"):
        for entry in range(row.first, row.last + 1):
            took.setdefault((row.ledger, entry), []).append(row.proof)
    for span in kept(found.firsts(_AFTER)):
        invoked_ns, seq, client, completed_ns = span.proof
        ledger, entry = span.ledger, span.first
        closes = closes_of(ledger, facts, run)
        added = (
            f"{run.client_name(client)} invoked the add of entry {entry} at {run.time_text(invoked_ns)} "
            f"and got ok at {run.time_text(completed_ns)} ({operation_text(seq)})"
        )
        yield run.finding(
            f"fencing/{_AFTER}",
            span,
            f"{entries_text(entry, span.last)} acknowledged after the close",
            *(close.text for close in closes if close.at_ns < invoked_ns and close.last_entry < entry),
            added,
            *story(took.get((ledger, entry), ()), ledger, entry, facts, run),
        )


def _accepted_when_fenced(found: Found, facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    for span in kept(found.firsts(_TAKEN, 1)):
        life, asked_ns, seq, source, received_ns = span.proof
        [answer] = answers_of(facts, span.ledger, life, Status.EOK)
        name = life_name(run, life)
        taken = (
            f"{name} answered EOK to the add of entry {span.first} by {run.source_name(source)}, asked at "
            f"{run.time_text(asked_ns)} at the earliest and answered at {run.time_text(received_ns)} "
            f"(frame {seq})"
        )
        deletes = (
            f"a delete of the ledger was invoked at {run.time_text(at_ns)}, "
            f"{'before' if at_ns < answer.received_ns else 'after'} that answer"
            for _, at_ns in facts.of(RELEASED, span.ledger)
        )
        yield run.finding(
            f"fencing/{_TAKEN}",
            span,
            f"{name} took {entries_text(span.first, span.last)} after it had been fenced",
            answer.text(run),
            *deletes,
            taken,
        )


def _denied_and_took(found: Found, facts: LedgerFacts, run: RunFacts) -> list[str]:
    """Explicit negatives to fencing: the client counts them as fences, though no EOK was said."""
    numbers = Counter[tuple[int, int, int]]()
    for kind, status in _DENIED.items():
        for row in found.firsts(kind, 1):
            numbers[row.ledger, row.proof[0], status] += row.number
    return [
        f"{run.ledger_text(ledger)}: {life_name(run, life)} answered {status_name(status)} to a fencing "
        f"read and took {counted(number, 'add')} that were asked later; a client counts such an answer as a "
        "fence"
        for (ledger, life, status), number in sorted(numbers.items())
        if not facts.of(ANSWERED, ledger, life, int(Status.EOK))
    ]
