"""Fencing: once a ledger is closed, or a bookie is fenced, no client adds to it any more.

Two rules. No add is acknowledged to a client that invoked it when the ledger was closed already,
beyond its last entry: operations and metadata show that. A boot of a bookie that answered EOK to
fencing takes no normal add that was asked later; recovery's adds it takes: only the wire shows that.

Two things date a close: a CLOSED version of the metadata that was seen, and an open with recovery
that returned ok. A close without a date precedes nothing. A bookie's answers count as it gave them, in one
known boot. Sources: *Fencing*; *Closing Ledgers Safely* ("fencing is a local one-way idempotent operation");
``ReadEntryProcessorV3`` (an EOK to a fencing read is sent when the fence is done, an explicit negative
without waiting for it).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from checkers.facts.alterations import rows_without_put_back
from checkers.facts.boots import bookie_of, boot_name, boots_of
from checkers.facts.keeping import fenced_since, fenced_until, forgotten_ns
from checkers.facts.ledgers import RELEASED, histories
from checkers.facts.parts import acked, recovered
from checkers.facts.wire import boot_ids, is_sure, proven_answers
from checkers.facts.wording import entries_text, operation_text, some_notes
from checkers.judging.checker import Checker
from checkers.judging.contract import Batch, Columns, LedgerFact, LedgerFacts, Rows, RunFacts, value_at
from checkers.judging.found import Found, Row, capped_rows, first_rows, proof_columns, span_rows
from checkers.sets.spans import LAST_ENTRY, Ints, Spans, ints
from evidence.codes import EXPLICIT_NEGATIVES, NEVER, Direction, FrameFlag, Message, Status
from evidence.findings import Finding, Judgement
from protocol.wording import counted

_AFTER, _TAKEN, _DENIED = "added_after_close", "accepted_when_fenced", "accepted_after_denial"
_FORGOTTEN = "accepted_when_forgotten"


class AddedLate(NamedTuple):
    """The proof of an add after the close: of neighbours the add that was invoked first."""

    invoked_ns: int
    seq: int
    client: int
    completed_ns: int


class TookLate(NamedTuple):
    """The proof of an add that a boot took when fenced: of neighbours the add that was asked first."""

    boot_id: int
    asked_ns: int
    seq: int
    source: int
    received_ns: int


class Took(NamedTuple):
    """When a boot acknowledged an add, and in which frame."""

    boot_id: int
    received_ns: int
    seq: int


class Answer(NamedTuple):
    """A row of ``ANSWERED``."""

    ledger: int
    boot_id: int
    status: int
    received_ns: int
    seq: int
    source: int
    entry: int

    def text(self, run: RunFacts) -> str:
        """``b2 boot 1 answered ENOENTRY to the fencing read of the LAC by recoverer at 7 ns (frame 3)``."""
        what = "the LAC" if self.entry < 0 else f"entry {self.entry}"
        return (
            f"{boot_name(run, self.boot_id)} answered {_status_name(self.status)} to the fencing read "
            f"of {what} by {run.source_name(self.source)} at {run.time_text(self.received_ns)} "
            f"(frame {self.seq})"
        )


def _answered(batch: Batch) -> Columns:
    answers = batch.frames.where(way=Direction.ANSWER)
    fencing = answers.filter((answers["flags"] & int(FrameFlag.FENCING)) != 0)
    sure = fencing.filter(is_sure(fencing))
    return {"boot_id": boot_ids(sure), **{name: sure[name] for name in Answer._fields if name != "boot_id"}}


ANSWERED = LedgerFact(
    "answered_fencing",
    "frames",
    _answered,
    key=("ledger", "boot_id", "status"),
    first_by=(("received_ns", "ascending"), ("seq", "ascending")),
    also=("source", "entry"),
)
"""What each boot of a bookie first answered to fencing a ledger, by status; ``entry`` -1 reads the LAC."""
RECOVERED = LedgerFact(
    "first_recovered",
    "operations",
    lambda batch: recovered(batch.operations),
    key=("ledger", "result"),
    first_by=(("completed_ns", "ascending"),),
    also=("client", "seq"),
)
"""By last entry the first open with recovery that found the ledger closed."""


class Fencing(Checker):
    """Finds adds acknowledged after the close, and adds that a fenced bookie accepted."""

    name = "fencing"
    tables = ("operations", "ledgers", "frames")
    needed = "whole evidence with a wire log, and a ledger that was seen closed or fenced"
    kinds = (_AFTER, _TAKEN)
    figures = ("acknowledged", "closed_ledgers", "fenced", "taken", "forgotten")
    facts = (ANSWERED, RECOVERED, RELEASED)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
        """Adds invoked after a close, and normal adds that a bookie took after it had answered to fencing."""
        added = batch.operations.memo(acked)
        taken = proven_answers(batch.frames, Message.ADD).where(status=Status.EOK)
        late = _after_a_close(added, facts)
        proof = proof_columns(AddedLate._fields, late)
        after = first_rows(_AFTER, late["ledger"], late["entry"], proof=proof)
        # Who took the first of neighbouring adds that came after the close.
        took = taken.filter(
            Spans.from_entries(after["ledger"], after["first"]).has(taken["ledger"], taken["entry"])
        )
        proof = proof_columns(Took._fields, took, boot_id=boot_ids(took))
        return Found.from_tables(
            after,
            span_rows("took", took["ledger"], took["entry"], proof=proof),
            _took_when_fenced(taken, facts),
            *(_took_after_denial(taken, status, facts) for status in EXPLICIT_NEGATIVES),
            _took_when_forgotten(taken, facts, run),
            acknowledged=added.num_rows,
            taken=taken.num_rows,
        )

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs a close or a fence to have been seen, and the wire log for the second rule."""
        metadata, boots_known = facts.memo(histories), not run.damage_to(("servers",))
        late, took = found.firsts(_AFTER), found.firsts(_TAKEN, 1) if boots_known else []
        late, took = (rows_without_put_back(rows, metadata, run) for rows in (late, took))
        unsure = run.damage_to(("operations", "ledgers", "servers", "faults"))
        forgotten = [] if unsure else rows_without_put_back(found.firsts(_FORGOTTEN, 2), metadata, run)
        after = list(_added_after_close(late, found, facts, run))
        taken = list(_accepted_when_fenced(took, facts, run))
        lacking = run.shortcomings((*self.tables, "servers"))
        if not run.wire:
            lacking.append("no wire log was kept: what bookies took after they were fenced was not seen")
        fenced = int((facts.columns(ANSWERED)["status"] == Status.EOK).sum())
        closed = len(facts.memo(_dated_closes))
        return self.judgement(
            run,
            [*after, *taken],
            seen={
                "acknowledged": found.count("acknowledged"),
                "closed_ledgers": closed,
                "fenced": fenced,
                "taken": found.count("taken"),
                "forgotten": sum(row.number for row in forgotten),
            },
            enough=closed + fenced,
            lacking=lacking,
            counts={_AFTER: sum(row.number for row in late), _TAKEN: sum(row.number for row in took)},
            notes=[
                *some_notes(_denied_and_took(found, facts, run)),
                *some_notes(_forgot_and_took(forgotten, run)),
            ],
        )


def _after_a_close(added: Rows, facts: LedgerFacts) -> Rows:
    """The adds that were invoked after a close of their ledger that ends below them."""
    beyond, since_ns = facts.memo(_beyond_closes)
    at = beyond.place(added["ledger"], added["entry"])  # -1 for none: the last
    return added.filter(added["invoked_ns"] > np.append(since_ns, NEVER)[at])


def _beyond_closes(facts: LedgerFacts) -> tuple[Spans, Ints]:
    """The entries from each end of a ledger to its next, and when it was first closed below them."""
    rows = []
    for ledger, ends in sorted(facts.memo(_dated_closes).items()):
        since_ns = NEVER
        for end, following in pairwise((*sorted(ends), LAST_ENTRY)):
            since_ns = min(since_ns, ends[end])
            rows.append((ledger, end + 1, following, since_ns))
    *spans, since = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return Spans(*spans), since


def _dated_closes(facts: LedgerFacts) -> Mapping[int, Mapping[int, int]]:
    """Ledger -> last entry -> by when it was closed there first (ns).

    A ledger whose metadata a fault of the run put back may not have stayed closed: it has no date.
    """
    metadata, found = facts.memo(histories), dict[int, dict[int, int]]()
    closes = [(one.ledger, one.last_entry, one.latest_ns) for one in metadata.all_closes]
    for ledger, end, at_ns, *_ in (*closes, *facts.rows(RECOVERED)):
        if at_ns != NEVER and ledger not in metadata.put_back:
            ends = found.setdefault(ledger, {})
            ends[end] = min(at_ns, ends.get(end, NEVER))
    return found


def _taken_after(taken: Rows, status: Status, facts: LedgerFacts) -> Rows:
    """The adds that boots took which were asked after these had answered so to fencing."""
    answered, boot_id = facts.columns(ANSWERED), boot_ids(taken)
    since_ns = np.full(taken.num_rows, NEVER, dtype=np.int64)
    for one in np.unique(answered["boot_id"][answered["status"] == status]).tolist():
        such, mine = (answered["status"] == status) & (answered["boot_id"] == one), boot_id == one
        fences = answered["ledger"][such], answered["received_ns"][such]
        since_ns[mine] = value_at(*fences, taken["ledger"][mine], missing=NEVER)
    return taken.filter(taken["asked_ns"] > since_ns)


def _took_when_fenced(taken: Rows, facts: LedgerFacts) -> pa.Table:
    late = _taken_after(taken, Status.EOK, facts)
    boot_id, *proof = proof_columns(TookLate._fields, late, boot_id=boot_ids(late))
    return first_rows(_TAKEN, late["ledger"], late["entry"], like=[boot_id], proof=proof)


def _took_after_denial(taken: Rows, status: Status, facts: LedgerFacts) -> pa.Table:
    """Adds that boots took after this explicit negative; the proof is the boot id and the status."""
    late = _taken_after(taken, status, facts)
    like = [boot_ids(late), np.full(late.num_rows, status)]
    return first_rows(_DENIED, late["ledger"], late["entry"], like=like, proof=[])


def _took_when_forgotten(taken: Rows, facts: LedgerFacts, run: RunFacts) -> pa.Table:
    """Adds that a boot took although an earlier one had confirmed a fence which nothing may have taken since.

    The proof is the boot id, and that of the last boot before it that had confirmed the fence.
    """
    since, boot_id = run.memo(fenced_since), boot_ids(taken)
    until_ns, by = np.zeros((2, taken.num_rows), dtype=np.int64)
    fenced, by_boot = facts.memo(_fences)
    for one in set(np.unique(boot_id).tolist()) & since.keys():
        mine = boot_id == one
        before = (by_boot >= since[one]) & (by_boot < one) & np.isin(fenced, taken["ledger"][mine])
        fences = dict(zip(fenced[before].tolist(), by_boot[before].tolist(), strict=True))
        hit_ns = run.memo(fenced_until).get(bookie_of(one), NEVER)
        ends = ints([min(hit_ns, forgotten_ns(ledger, bookie_of(one), facts, run)) for ledger in fences])
        until_ns[mine] = value_at(ints([*fences]), ends, taken["ledger"][mine], missing=0)
        by[mine] = value_at(ints([*fences]), ints([*fences.values()]), taken["ledger"][mine], missing=0)
    late = taken["received_ns"] < until_ns
    like = [boot_id[late], by[late]]
    return first_rows(_FORGOTTEN, taken["ledger"][late], taken["entry"][late], like=like, proof=[])


def _fences(facts: LedgerFacts) -> tuple[Ints, Ints]:
    """Ledger and boot of each confirmed fence, ascending."""
    answered = facts.columns(ANSWERED)
    confirmed = answered["status"] == Status.EOK
    return answered["ledger"][confirmed], answered["boot_id"][confirmed]


def _added_after_close(late: list[Row], found: Found, facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    took = {where: [Took(*one) for one in proofs] for where, proofs in found.by_entry("took").items()}
    for span in capped_rows(late):
        ledger, entry, add = span.ledger, span.first, AddedLate(*span.proof)
        yield run.finding(
            f"fencing/{_AFTER}",
            span,
            f"{entries_text(entry, span.last)} acknowledged after the close",
            *(
                text
                for at_ns, end, text in _closes(ledger, facts, run)
                if at_ns < add.invoked_ns and end < entry
            ),
            f"{run.client_name(add.client)} invoked the add of entry {entry} at "
            f"{run.time_text(add.invoked_ns)} and got ok at {run.time_text(add.completed_ns)} "
            f"({operation_text(add.seq)})",
            *_story(took.get((ledger, entry), ()), ledger, entry, facts, run),
        )


def _closes(ledger: int, facts: LedgerFacts, run: RunFacts) -> list[tuple[int, int, str]]:
    """The closes of one ledger, the earliest first: by when (ns), last entry, words for it."""
    closes = [
        (one.latest_ns, one.last_entry, f"{one.closed_text}, in force by {run.time_text(one.latest_ns)}")
        for one in facts.memo(histories).versions.get(ledger, ())
        if one.closed
    ]
    for _, last_entry, at_ns, client, seq in facts.rows(RECOVERED, ledger):
        end = f"received its end {last_entry} ({operation_text(seq)})"
        text = f"{run.client_name(client)} had recovered it by {run.time_text(at_ns)} and {end}"
        closes.append((at_ns, last_entry, text))
    return sorted(closes)


def _story(taken: Iterable[Took], ledger: int, entry: int, facts: LedgerFacts, run: RunFacts) -> list[str]:
    """In order of time: who took the add of an entry, what they had answered to fencing, their deaths.

    What a restart made a bookie forget shows here.
    """
    boots = {boot.id: boot for mine in boots_of(run).values() for boot in mine}
    events: set[tuple[int, str]] = set()
    for boot_id, at_ns, seq in taken:
        when = f"at {run.time_text(at_ns)} (frame {seq})"
        events.add((at_ns, f"{boot_name(run, boot_id)} acknowledged entry {entry} {when}"))
        before = [one for one in _answers(facts, ledger) if bookie_of(one.boot_id) == bookie_of(boot_id)]
        if not before:
            name = run.bookie_name(bookie_of(boot_id))
            events.add((at_ns, f"{name} answered no fencing read of this ledger"))
        for answer in before:
            events.add((answer.received_ns, answer.text(run)))
            boot = boots.get(answer.boot_id)
            if boot is not None and boot.ended_ns <= at_ns:
                ended = f"{boot_name(run, boot.id)} {boot.how} at {run.time_text(boot.ended_ns)}"
                events.add((boot.ended_ns, ended))
    return [text for _, text in sorted(events)]


def _accepted_when_fenced(took: list[Row], facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    for span in capped_rows(took):
        add = TookLate(*span.proof)
        [answer] = _answers(facts, span.ledger, add.boot_id, Status.EOK)
        name = boot_name(run, add.boot_id)
        yield run.finding(
            f"fencing/{_TAKEN}",
            span,
            f"{name} took {entries_text(span.first, span.last)} after it had been fenced",
            answer.text(run),
            *(
                f"a delete of the ledger was invoked at {run.time_text(at_ns)}, "
                f"{'before' if at_ns < answer.received_ns else 'after'} that answer"
                for _, at_ns in facts.rows(RELEASED, span.ledger)
            ),
            f"{name} answered EOK to the add of entry {span.first} by {run.source_name(add.source)}, asked "
            f"at {run.time_text(add.asked_ns)} at the earliest and answered at "
            f"{run.time_text(add.received_ns)} (frame {add.seq})",
        )


def _answers(facts: LedgerFacts, *key: int) -> list[Answer]:
    """The first answers to fencing, of (ledger, boot_id, status), or of all whose key begins so."""
    return [Answer(*row) for row in facts.rows(ANSWERED, *key)]


def _status_name(status: int) -> str:
    return Status(status).name if status in set(Status) else f"status {status}"


def _forgot_and_took(rows: Sequence[Row], run: RunFacts) -> list[str]:
    """The restarts that forgot a fence."""
    numbers = Counter[tuple[int, ...]]()
    for row in rows:
        numbers[row.ledger, *row.proof] += row.number
    return [
        f"{run.ledger_text(ledger)}: {boot_name(run, boot_id)} forgot a fence that {boot_name(run, fenced)} "
        f"had confirmed, and took {counted(number, 'add')}"
        for (ledger, boot_id, fenced), number in sorted(numbers.items())
    ]


def _denied_and_took(found: Found, facts: LedgerFacts, run: RunFacts) -> list[str]:
    """Explicit negatives to fencing: the client counts them as fences, though no EOK was said."""
    numbers = Counter[tuple[int, int, int]]()
    for row in found.firsts(_DENIED, 2):
        boot_id, status = row.proof
        numbers[row.ledger, boot_id, status] += row.number
    return [
        f"{run.ledger_text(ledger)}: {boot_name(run, boot_id)} answered {_status_name(status)} to a fencing "
        f"read and took {counted(number, 'add')} that were asked later; a client counts such an answer as a "
        "fence"
        for (ledger, boot_id, status), number in sorted(numbers.items())
        if not facts.rows(ANSWERED, ledger, boot_id, int(Status.EOK))
    ]
