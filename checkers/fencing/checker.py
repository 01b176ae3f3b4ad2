"""Fencing: once a ledger is closed, or a bookie has been fenced, nobody adds to it any more.

Two rules. A client is not told ok for an add that it invoked when the ledger was closed already,
beyond its last entry: operations and metadata show that. A boot of a bookie that answered EOK to
fencing takes no normal add that was asked later; recovery's adds it takes: only the wire shows that.
Sources: *Fencing*; *Closing Ledgers Safely* ("fencing is a local one-way idempotent operation").
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from checkers.contract import Chunk, RunFacts
from checkers.facts.boots import life_name
from checkers.facts.damage import damage_to, shortcomings
from checkers.facts.obliged import merge_earliest
from checkers.facts.parts import acked, deleted, earliest
from checkers.facts.versions import Versions, scan_versions
from checkers.facts.wire import source_name
from checkers.facts.wording import (
    client_name,
    counted,
    entries_text,
    ledger_text,
    operation_text,
    some_notes,
    time_text,
)
from checkers.fencing.ends import Close, Closes, scan_ends
from checkers.fencing.fences import Fences, Stories, fence_text, merge_fences, scan_fences, status_name
from checkers.sets.capping import capped
from checkers.sets.folded import Folded
from checkers.sets.lately import Columns, Lately
from evidence.codes import EXPLICIT_NEGATIVES, Status
from evidence.findings import Finding, Judgement, Verdict


@dataclass(frozen=True, slots=True)
class Facts:
    """The summary. ``added`` are ok adds by their invocation, ``released`` first invocations of deletes."""

    added: Lately
    told: Folded
    released: Mapping[int, int]
    versions: Versions
    fences: Fences


class Fencing:
    """Convicts adds acknowledged after the close, and adds that a fenced bookie took."""

    name = "fencing"
    tables: tuple[str, ...] = ("operations", "ledgers", "frames")
    kinds: tuple[str, ...] = ("added_after_close", "accepted_when_fenced")

    def scan(self, chunk: Chunk, run: RunFacts) -> Facts:  # noqa: ARG002  # as agreed
        """Adds, ends, deletes and what the wire says of fences, of one chunk."""
        rows = chunk.operations
        added = rows.once(acked)
        return Facts(
            added=Lately.of_rows(
                ledger=added["ledger"],
                who=np.zeros(added.number, dtype=np.int64),
                at_ns=added["invoked_ns"],
                seq=added["seq"],
                entry=added["entry"],
                by=added["client"],
                until_ns=added["completed_ns"],
            ),
            told=scan_ends(rows),
            released=earliest(deleted(rows)),
            versions=scan_versions(chunk),
            fences=scan_fences(chunk.frames),
        )

    def merge(self, left: Facts, right: Facts) -> Facts:
        """Both."""
        return Facts(
            left.added | right.added,
            left.told | right.told,
            merge_earliest(left.released, right.released),
            left.versions | right.versions,
            merge_fences(left.fences, right.fences),
        )

    def conclude(self, summary: Facts, run: RunFacts) -> Judgement:
        """Needs a close or a fence to have been seen, and the wire log for the second rule."""
        closes = Closes(summary.versions, summary.told, run)
        after = list(_added_after_close(summary, closes, run))
        lives_known = not damage_to(run, ("servers",))
        taken = list(_accepted_when_fenced(summary, run)) if lives_known else []
        lacking = shortcomings(run, (*self.tables, "servers"))
        if not run.wire:
            lacking.append("no wire log was kept: what bookies took after they were fenced was not seen")
        fenced = sum(status == Status.EOK for _, _, status in summary.fences.answered)
        uncounted = list(_uncounted(summary, closes, run))
        enough = not lacking and not uncounted and bool(closes or fenced)
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if after or taken else Verdict.VALID if enough else Verdict.UNKNOWN,
            needed="whole evidence with a wire log, and a ledger that was seen closed or fenced",
            seen={
                "acknowledged": summary.added.number,
                "closed_ledgers": len(closes),
                "fenced": fenced,
                "taken": summary.fences.taken.number,
            },
            findings=capped([*after, *taken]),
            counts={
                "added_after_close": sum(finding.count for finding in after),
                "accepted_when_fenced": sum(finding.count for finding in taken),
            },
            notes=(*lacking, *some_notes([*_denied_and_took(summary, run), *uncounted])),
        )


def _added_after_close(facts: Facts, closes: Closes, run: RunFacts) -> Iterator[Finding]:
    stories = Stories(facts.fences, run)
    for ledger, known in closes.before(*facts.added.latest):
        late = facts.added.after((ledger, 0), [(close.at_ns, close.last_entry) for close in known])
        for rows in _neighbours(late.rows):
            first, last = int(rows["entry"][0]), int(rows["entry"][-1])
            yield _finding(
                "added_after_close",
                ledger,
                (first, last, len(rows["seq"])),
                run,
                proof=tuple(_added_proof(ledger, rows, known, stories)),
            )
        if late.more:
            span = late.more.lowest, late.more.highest, late.more.number
            proof = tuple(_preceding(known, late.more.first_ns, late.more.lowest))
            yield _finding("added_after_close", ledger, span, run, proof=proof)


def _preceding(known: tuple[Close, ...], at_ns: int, entry: int) -> Iterator[str]:
    """The closes that came before a time and end below an entry."""
    return (close.text for close in known if close.at_ns < at_ns and close.last_entry < entry)


def _added_proof(ledger: int, rows: Columns, known: tuple[Close, ...], stories: Stories) -> Iterator[str]:
    """The close, the first add of a run of neighbours, and how its acknowledgement came together."""
    entry, invoked_ns = int(rows["entry"][0]), int(rows["at_ns"][0])
    yield from _preceding(known, invoked_ns, entry)
    client = client_name(stories.run, int(rows["by"][0]))
    yield (
        f"{client} invoked the add of entry {entry} at {time_text(stories.run, invoked_ns)} and was told ok "
        f"at {time_text(stories.run, int(rows['until_ns'][0]))} ({operation_text(int(rows['seq'][0]))})"
    )
    yield from stories.of(ledger, entry)


def _accepted_when_fenced(facts: Facts, run: RunFacts) -> Iterator[Finding]:
    for spoken, answer in sorted(facts.fences.answered.items()):
        ledger, life, status = spoken
        if status != Status.EOK:
            continue
        late = facts.fences.taken.after((ledger, life), [(answer.received_ns, -1)])
        proof = (fence_text(spoken, answer, run), *_released(facts, run, ledger, answer.received_ns))
        for rows in _neighbours(late.rows):
            span = int(rows["entry"][0]), int(rows["entry"][-1]), len(rows["seq"])
            taken = _taken_text(life, rows, run)
            yield _finding("accepted_when_fenced", ledger, span, run, life=life, proof=(*proof, taken))
        if late.more:
            span = late.more.lowest, late.more.highest, late.more.number
            yield _finding("accepted_when_fenced", ledger, span, run, life=life, proof=proof)


def _taken_text(life: int, rows: Columns, run: RunFacts) -> str:
    return (
        f"{life_name(run, life)} answered EOK to the add of entry {int(rows['entry'][0])} by "
        f"{source_name(run, int(rows['by'][0]))}, asked at {time_text(run, int(rows['at_ns'][0]))} at the "
        f"earliest and answered at {time_text(run, int(rows['until_ns'][0]))} (frame {int(rows['seq'][0])})"
    )


def _released(facts: Facts, run: RunFacts, ledger: int, by_ns: int) -> Iterator[str]:
    at_ns = facts.released.get(ledger)
    if at_ns is not None:
        order = "before" if at_ns < by_ns else "after"
        yield f"a delete of the ledger was invoked at {time_text(run, at_ns)}, {order} that answer"


def _finding(
    kind: str,
    ledger: int,
    span: tuple[int, int, int],
    run: RunFacts,
    *,
    proof: tuple[str, ...],
    life: int = 0,
) -> Finding:
    first, last, count = span
    what = f"{entries_text(first, last)} acknowledged after the close"
    if kind == "accepted_when_fenced":
        what = f"{life_name(run, life)} took {entries_text(first, last)} after it had been fenced"
    return Finding(
        property=Fencing.name,
        kind=kind,
        ledger=ledger,
        first_entry=first,
        last_entry=last,
        count=count,
        text=f"{ledger_text(run, ledger)}: {what}",
        proof=proof,
    )


def _neighbours(rows: Columns) -> Iterator[Columns]:
    """Rows in runs of neighbouring entries; the first row of each is the earliest add of its first entry."""
    if not len(rows["seq"]):
        return
    order = np.lexsort((rows["by"], rows["seq"], rows["at_ns"], rows["entry"]))
    cuts = np.flatnonzero(np.diff(rows["entry"][order]) > 1) + 1
    for part in np.split(order, cuts):
        yield {name: column[part] for name, column in rows.items()}


def _denied_and_took(facts: Facts, run: RunFacts) -> Iterator[str]:
    """Explicit negatives to fencing: the client counts them as fences, though no EOK was said."""
    for spoken, answer in sorted(facts.fences.answered.items()):
        ledger, life, status = spoken
        if status in EXPLICIT_NEGATIVES and (ledger, life, int(Status.EOK)) not in facts.fences.answered:
            late = facts.fences.taken.after((ledger, life), [(answer.received_ns, -1)])
            number = len(late.rows["seq"]) + (late.more.number if late.more else 0)
            if number:
                yield (
                    f"{ledger_text(run, ledger)}: {life_name(run, life)} answered {status_name(status)} to a "
                    f"fencing read and took {counted(number, 'add')} that were asked later; a client counts "
                    "such an answer as a fence"
                )


def _uncounted(facts: Facts, closes: Closes, run: RunFacts) -> Iterator[str]:
    """Where the latest adds that are kept one by one were too few to count all."""
    for ledger, known in closes.before(*facts.added.latest):
        if facts.added.after((ledger, 0), [(close.at_ns, close.last_entry) for close in known]).perhaps:
            yield f"{ledger_text(run, ledger)}: perhaps more adds than those counted came after the close"
    for (ledger, life, status), answer in sorted(facts.fences.answered.items()):
        if (
            status == Status.EOK
            and facts.fences.taken.after((ledger, life), [(answer.received_ns, -1)]).perhaps
        ):
            yield (
                f"{ledger_text(run, ledger)}: perhaps {life_name(run, life)} took more adds than those "
                "counted after it had been fenced"
            )
