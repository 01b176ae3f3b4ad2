"""Durability: an entry that was promised is there in the end, with the bytes that were acknowledged.

Holds the obliged set (:mod:`checkers.facts.obliged`) against the final reads and the census
(:mod:`checkers.facts.observations`). What is lost does not depend on the wire log; its class does
(:mod:`checkers.durability.classes`): without one, every loss is ``undetermined``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from checkers.contract import EVERY_LEDGER, Chunk, RunFacts
from checkers.durability.classes import (
    CLASSES,
    EXPLAINED,
    FORGED,
    UNDETERMINED,
    classified,
    forgery_proof,
    holder_proof,
    knowledge,
    undetermined_because,
)
from checkers.facts.damage import damage_to, shortcomings
from checkers.facts.disks import scan_disks
from checkers.facts.histories import histories_of
from checkers.facts.holders import Holders, merge_holders, scan_holders
from checkers.facts.losses import Losses, holders, part
from checkers.facts.obliged import Obliged, Promises, merge_promises, obliged, promise_proof, promises_of
from checkers.facts.observations import Census, Finals, merge_census, merge_finals, scan_census, scan_finals
from checkers.facts.passes import Passes, merge_passes, scan_passes
from checkers.facts.putback import put_back_notes, put_back_text
from checkers.facts.versions import DELETED, Versions, scan_versions
from checkers.facts.wording import bookie_name, counted, entries_text, ledger_text, listed
from checkers.sets.capping import room_for
from checkers.sets.spans import Spans, ints
from checkers.sets.stripes import Stripes
from evidence.findings import Finding, Judgement, Verdict

_RESTS_ON = ("operations", "census", "ledgers")


@dataclass(frozen=True, slots=True)
class Facts:
    """The summary: promises, final reads, census, metadata, who acknowledged what, what disks held."""

    promises: Promises
    finals: Finals
    census: Census
    passes: Passes
    versions: Versions
    holders: Holders
    disks: Stripes


class Durability:
    """Convicts when an obliged entry is lost, or only other bytes are left of it."""

    name = "durability"
    tables: tuple[str, ...] = (*_RESTS_ON, "frames", "holdings")
    kinds: tuple[str, ...] = ("lost", "corrupt", "vanished")

    def scan(self, chunk: Chunk, run: RunFacts) -> Facts:  # noqa: ARG002  # as agreed
        """Promises, deliveries, answers and metadata of one chunk."""
        rows, census = chunk.operations, chunk.census
        return Facts(
            promises=promises_of(chunk),
            finals=scan_finals(rows),
            census=census.once(scan_census),
            passes=census.once(scan_passes),
            versions=scan_versions(chunk),
            holders=scan_holders(chunk.frames),
            disks=chunk.holdings.once(scan_disks),
        )

    def merge(self, left: Facts, right: Facts) -> Facts:
        """Both."""
        return Facts(
            merge_promises(left.promises, right.promises),
            merge_finals(left.finals, right.finals),
            merge_census(left.census, right.census),
            merge_passes(left.passes, right.passes),
            left.versions | right.versions,
            merge_holders(left.holders, right.holders),
            left.disks | right.disks,
        )

    def conclude(self, summary: Facts, run: RunFacts) -> Judgement:
        """Every obliged entry is kept, lost, corrupt, vanished or unavailable; only kept is good."""
        case = _Case(summary, run)
        lacking = shortcomings(run, _RESTS_ON)
        findings = tuple(case.findings())
        if findings:
            verdict = Verdict.ANOMALY
        elif lacking or not case.judged.entries or case.losses.unavailable:
            verdict = Verdict.UNKNOWN
        else:
            verdict = Verdict.VALID
        return Judgement(
            property=self.name,
            verdict=verdict,
            needed="whole evidence, at least one obliged entry, and every one of them read back at the end",
            seen=case.seen(),
            findings=findings,
            counts=case.counts(),
            notes=(*lacking, *case.notes(bool(findings))),
            undecided=tuple(case.losses.unavailable.ledgers()),
        )


class _Case:
    """Everything that one run's conclusion works out, once."""

    def __init__(self, facts: Facts, run: RunFacts) -> None:
        self.facts, self.run = facts, run
        self.histories = histories_of(facts.versions)
        everything = obliged(facts.promises, self.histories.ends)
        self.released = set(facts.promises.released)
        self.judged = Obliged(
            everything.acknowledged.without(self.released),
            everything.entries.without(self.released),
            everything.marks,
        )
        self.obliged_in_all = everything.entries.count()
        self.vanished = self._vanished()
        last = facts.passes.get(facts.census.last_pass)
        self.losses: Losses = part(
            self.judged, facts.finals, facts.census, last, self.histories, self.vanished, run
        )
        self.known = knowledge(facts.holders, facts.disks, self.histories, facts.census, facts.passes, run)
        self.lost_by_class = classified(self.losses.lost, self.known, self.histories)

    def _vanished(self) -> set[int]:
        """Ledgers whose metadata was removed although every invocation is known and none deleted it.

        One that a fault of ours removed is vanished as long as it is gone, and for that fault's sake.
        """
        if not self.run.complete or damage_to(self.run, ("operations",)):
            return set()
        by_others = {row.ledger for row in self.histories.odd if row.state == DELETED and not row.put_back}
        return (by_others | set(self.histories.gone)) - self.released

    def _by_fault(self, ledger: int) -> bool:
        return ledger in self.histories.gone and self.histories.gone[ledger].put_back

    def seen(self) -> dict[str, int]:
        """What there was to judge by."""
        finals, census = self.facts.finals, self.facts.census
        return {
            "acknowledged": self.judged.acknowledged.count(),
            "obliged": self.judged.entries.count(),
            "released": self.obliged_in_all - self.judged.entries.count(),
            "ledgers": len(self.judged.entries.ledgers()),
            "final_opens_ok": len(finals.opened),
            "final_entries": finals.kept.spans().count(),
            "census_answers": census.answers,
            "census_passes": len(census.passes),
        }

    def counts(self) -> dict[str, int]:
        """Exact totals, in entries; ``excused`` are the losses that the plan's allowance covers."""
        gone = self.losses.lost | self.losses.corrupt | self.losses.vanished
        return {
            "kept": self.losses.kept.count(),
            "lost": self.losses.lost.count(),
            **{f"lost_{name}": self.lost_by_class[name].count() for name in CLASSES},
            "corrupt": self.losses.corrupt.count(),
            "vanished": self.losses.vanished.count(),
            "vanished_explained": self._explained().count(),
            "vanished_ledgers": len(self.vanished),
            "vanished_ledgers_explained": sum(map(self._by_fault, self.vanished)),
            "unavailable": self.losses.unavailable.count(),
            "excused": self._excused(),
            "gone": gone.count(),
            "acknowledged_gone": (gone & self.judged.acknowledged).count(),
        }

    def _excused(self) -> int:
        """Explained losses of the ledgers that lost no more so than the plan allows them."""
        lost = self.lost_by_class[EXPLAINED] | self._explained()
        numbers = {ledger: lost.of(ledger).count() for ledger in lost.ledgers()}
        rest = self.run.allowance.get(EVERY_LEDGER, 0)
        return sum(n for ledger, n in numbers.items() if n <= self.run.allowance.get(ledger, rest))

    def _explained(self) -> Spans:
        """The entries that vanished because a fault of ours removed the metadata."""
        vanished = self.losses.vanished
        return vanished - vanished.without(set(filter(self._by_fault, self.vanished)))

    def findings(self) -> Iterator[Finding]:
        """One for each span of entries that shared a fate."""
        taken: Counter[tuple[str, int]] = Counter()
        for ledger in sorted(self.vanished):
            if not self._by_fault(ledger) or self.losses.vanished.of(ledger):
                yield self._vanished_finding(ledger)
        kinds = [("lost", name, self.lost_by_class[name]) for name in CLASSES]
        for kind, loss, spans in (*kinds, ("corrupt", "", self.losses.corrupt)):
            for span in spans:
                if room_for((f"{kind} {loss}", span[0]), taken):
                    yield self._finding(kind, loss, span)

    def _finding(self, kind: str, loss: str, span: tuple[int, int, int]) -> Finding:
        ledger, first, last = span
        what = "lost" if kind == "lost" else "readable only as other bytes"
        return Finding(
            property=Durability.name,
            kind=kind,
            ledger=ledger,
            first_entry=first,
            last_entry=last,
            count=last - first + 1,
            loss=loss,
            text=f"{ledger_text(self.run, ledger)}: {entries_text(first, last)} {what}",
            proof=tuple(self._proof(loss, span)),
        )

    def _proof(self, loss: str, span: tuple[int, int, int]) -> Iterator[str]:
        ledger, first, last = span
        yield from promise_proof(self.facts.promises, span, self.run)
        close = self.histories.closes.get(ledger)
        if close and close.last_entry >= first:
            yield f"metadata version {close.version}: CLOSED at {close.last_entry}"
        if close and last > close.last_entry:
            yield f"metadata version {close.version}: CLOSED at {close.last_entry}, below entry {last}"
        yield from self._answers(span)
        if loss:
            yield from holder_proof(span, self.known, self.run)
        if loss == FORGED:
            yield from forgery_proof(ledger, self.facts.holders, self.histories, self.run)

    def _answers(self, span: tuple[int, int, int]) -> Iterator[str]:
        """What the holders answered in the last pass, bookies with one answer for the whole span together."""
        ledger, first, last = span
        number = self.facts.census.last_pass
        duties = holders(self.histories.of.get(ledger, ()), ints([first, last]), self.run.bookies)
        asked = sorted({bookie for bookie, _ in duties})
        for spans_by, said in (
            (self.facts.census.absent, "answered no such entry for"),
            (self.facts.census.damaged, "answered with other bytes for"),
        ):
            agreed = [
                bookie_name(self.run, bookie)
                for bookie in asked
                if spans_by.get((number, bookie), Spans.empty()).covers(ledger, first, last)
            ]
            if agreed:
                yield f"census pass {number}: {listed(agreed)} {said} {entries_text(first, last)}"

    def _vanished_finding(self, ledger: int) -> Finding:
        gone = self.losses.vanished.of(ledger)
        ours = self._by_fault(ledger)
        row = self.histories.gone[ledger] if ours else self.histories.deleted[ledger]
        how = put_back_text(row, self.histories, self.run)
        return Finding(
            property=Durability.name,
            kind="vanished",
            ledger=ledger,
            first_entry=int(gone.first[0]) if gone else -1,
            last_entry=int(gone.last[-1]) if gone else -1,
            count=gone.count(),
            loss=EXPLAINED if ours else "",
            text=f"{ledger_text(self.run, ledger)}: the metadata vanished and no client invoked a delete",
            proof=(
                how if ours else f"the metadata was removed by transaction 0x{row.zxid:x}",
                "the histories of all clients are whole and hold no delete of this ledger that was sent",
            ),
        )

    def notes(self, convicted: bool) -> Iterator[str]:
        """What convicts nobody: unavailable entries by ledger, released ones, the class of losses."""
        if not self.judged.entries:
            yield "no entry was promised to anyone"
        yield from put_back_notes(self.histories, self.run)
        for ledger in self.losses.unavailable.ledgers()[:20]:
            yield self._unavailable(ledger)
        more = len(self.losses.unavailable.ledgers()) - 20
        if more > 0:
            yield f"{counted(more, 'more ledger')} with unavailable entries"
        undetermined = self.lost_by_class[UNDETERMINED].count()
        if convicted and undetermined:
            what = counted(undetermined, "loss", "losses")
            yield f"{what} of class undetermined: {undetermined_because(self.run)}"

    def _unavailable(self, ledger: int) -> str:
        spans = self.losses.unavailable.of(ledger)
        error = self.facts.finals.refused.get(ledger)
        refused = error is not None and ledger not in self.facts.finals.opened
        why = f"it could not be opened at the end (error {error})" if refused else "not read back"
        if not refused and not self.histories.seen_whole(ledger):
            why = "not read back, and the ledger's metadata was not seen whole"
        if spans & self.facts.finals.kept.spans():
            why = "read back, then denied by every bookie while the ledger's metadata may have changed"
        return (
            f"{ledger_text(self.run, ledger)}: {counted(spans.count(), 'entry', 'entries')} unavailable "
            f"(first {int(spans.first[0])}): {why}, with no proof of loss"
        )
