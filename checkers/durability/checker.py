"""Durability: an entry that was promised is there in the end, with the bytes that were acknowledged.

What became of each promised entry is decided where all rows of it are (:mod:`checkers.durability.fates`),
and so is the class of a loss (:mod:`checkers.durability.classes`). Entries without any row, promised by a LAC
or a close alone, are decided in the conclusion. What is lost does not depend on the wire log; its class does:
without one, every loss is ``undetermined``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from checkers.durability.classes import (
    CLASSES,
    EXPLAINED,
    FORGED,
    FORGERIES,
    HONEST,
    UNDETERMINED,
    classified,
    forgery_proof,
    holder_proof,
    undetermined_because,
)
from checkers.durability.fates import FACTS, beyond_end, fates_of, promised_up_to
from checkers.durability.holders import Holders, by_bookie, holders_of, inside, knowledge
from checkers.facts.alterations import put_back_hidden, put_back_notes, put_back_text
from checkers.facts.ledgers import BORN, OPENED, REFUSED, RELEASED, histories, passes
from checkers.facts.parts import delivered, final, proven, signed
from checkers.facts.promises import (
    PROMISES,
    acknowledged_in,
    promise_proof,
    promise_rows,
    promised_in,
    promises_found,
)
from checkers.facts.versions import DELETED, duties
from checkers.facts.wire import FORCED
from checkers.facts.wording import entries_text, some_notes
from checkers.judging.checker import Checker
from checkers.judging.contract import EVERY_LEDGER, Batch, LedgerFacts, Rows, RunFacts, value_at
from checkers.judging.found import Found, capped_rows, set_rows, span_rows
from checkers.sets.spans import Spans, ints
from evidence.codes import Holding
from evidence.findings import Finding, Judgement
from protocol.wording import counted

_RESTS_ON = ("operations", "census", "ledgers")
_LOST = ("truncated", "absent")
_HAD = ("had", "had_shown", "had_on_disk")
"""What boots had acknowledged of the bad entries; what the last census and the boot's disk showed of it."""
_ANSWERED = {"absent": "answered no such entry for", "damaged": "answered with other bytes for"}
"""What bookies denied of the bad entries in the last census pass, or showed as other bytes."""


class Durability(Checker):
    """Finds promised entries that are lost, or of which only other bytes are left."""

    name = "durability"
    tables = (*_RESTS_ON, "frames", "holdings")
    needed = "whole evidence, at least one promised entry, and every one of them read back at the end"
    kinds = ("lost", "corrupt", "vanished")
    figures = (
        "acknowledged",
        "promised",
        "released",
        "ledgers",
        "final_opens_ok",
        "final_entries",
        "census_answers",
        "census_passes",
    )
    facts = (*FACTS, *PROMISES, BORN, OPENED, REFUSED, FORGERIES, HONEST, FORCED)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
        """The fates of the promised entries, the lost ones by class, and who had these."""
        released = facts.columns(RELEASED)["ledger"].tolist()
        promised, acknowledged = promised_in(batch, facts), acknowledged_in(batch, facts).without(released)
        fates = fates_of(promised.without(released), batch, facts, run)
        got = batch.operations.memo(delivered).memo(proven).memo(final).memo(signed)
        counts = {
            "acknowledged": acknowledged.count(),
            "final_entries": got.spans().count(),
            "census_answers": batch.census.num_rows,
        }
        beyond = promised.above(value_at(*facts.memo(promised_up_to), promised.ledger, -1))
        tables = [set_rows("promised", beyond), set_rows("acknowledged", acknowledged - fates.kept)]
        tables += [set_rows(name, getattr(fates, name)) for name in ("read", "unsure", "corrupt")]
        bad = fates.lost | fates.corrupt
        if not len(bad):
            return Found.from_tables(*tables, **counts)
        last = max(facts.memo(passes), default=0)
        had = holders_of(bad, batch, last, facts)
        classes = classified(fates.lost, had, facts.memo(knowledge, run), facts)
        asked = inside(batch.census.where(pass_number=last), bad)
        tables += [*_whose_rows(had, asked), *promise_rows(batch, bad)]
        tables += [
            set_rows(f"{name}/{loss}", getattr(fates, name) & entries)
            for name in _LOST
            for loss, entries in classes.items()
        ]
        return Found.from_tables(*tables, **counts)

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Every promised entry is kept, lost, corrupt, vanished or unavailable; only kept is good."""
        case = _Conclusion(found, facts, run)
        return self.judgement(
            run,
            list(case.findings()),
            seen=case.seen(),
            enough=case.promised and not case.unavailable and not case.reborn,
            lacking=run.shortcomings(_RESTS_ON),
            counts=case.counts(),
            notes=case.notes(),
            undecided=(*case.unavailable.ledgers(), *case.reborn),
        )


def _whose_rows(holders: Holders, asked: Rows) -> Iterator[pa.Table]:
    """For proofs: the entries that boots had and that bookies denied; the boot or bookie is their mark."""
    had, on_disk = holders.held, holders.on_disk
    whose = {
        "had": had,
        "had_shown": {boot_id: held & holders.shown_by(boot_id) for boot_id, held in had.items()},
        "had_on_disk": {boot_id: had[boot_id] & held for boot_id, held in on_disk.items() if boot_id in had},
        "absent": by_bookie(asked.where(holding=Holding.ABSENT)),
        "damaged": by_bookie(asked.where(holding=Holding.DAMAGED)),
    }
    for kind, sets in whose.items():
        for who, entries in sets.items():
            yield span_rows(kind, *entries.columns, proof=[np.full(len(entries), who)])


def _union(sets: Iterable[Spans]) -> Spans:
    """The union; one sweep over all."""
    return Spans.from_ranges(*map(np.concatenate, zip(*(some.columns for some in sets), strict=True)))


class _Conclusion:
    """Everything that one run's conclusion works out, once."""

    def __init__(self, found: Found, facts: LedgerFacts, run: RunFacts) -> None:
        self.found, self.facts, self.run = found, facts, run
        self.histories, self.known = facts.memo(histories), facts.memo(knowledge, run)
        self.promises = promises_found(found)
        self.whose = {kind: found.marks(kind) for kind in (*_HAD, *_ANSWERED)}
        ledger, deleted_ns = facts.columns(RELEASED).values()
        born_ns = facts.at(BORN, "invoked_ns", ledger, missing=-1)
        self.released = set(ledger.tolist())
        self.reborn = sorted({*ledger[born_ns > deleted_ns].tolist(), *self.histories.created_again})
        ledgers, up_to = facts.memo(promised_up_to)
        everything = Spans.from_ranges(ledgers, 0, up_to) | found.spans("promised")
        self.promised = everything.without(self.released)
        self.promised_in_all = everything.count()
        self.vanished_ledgers = self._vanished_ledgers()
        put_back = {ledger for ledger, row in self.histories.gone.items() if row.put_back}
        self.by_fault = self.vanished_ledgers & put_back
        self._part()

    def _part(self) -> None:
        """Part the promised entries; what the last census pass says counts only where that is undamaged.

        A close counts unless a fault put metadata back, and damage may hide that it undid the close.
        """
        spans, believed = self.found.spans, not self.run.damage_to(("ledgers", "census"))
        closed = not put_back_hidden(self.run)
        lost = {(name, loss): spans(f"{name}/{loss}") for name in _LOST for loss in CLASSES}
        read, self.unsure, corrupt = map(spans, ("read", "unsure", "corrupt"))
        bad = _union((corrupt, *lost.values()))
        beyond = beyond_end(self.promised - read - bad, self.facts) if closed else Spans.empty()
        rowless = beyond.without(self.vanished_ledgers)
        classes = classified(rowless, Holders(), self.known, self.facts)
        for (name, loss), entries in lost.items():
            if believed or (closed and name == "truncated"):
                classes[loss] |= entries.without(self.vanished_ledgers) | (entries & read)
        self.lost_by_class, self.lost = classes, _union(classes.values())
        self.corrupt = corrupt.without(self.vanished_ledgers) | (corrupt & read)
        self.kept = read - bad - self.unsure
        if not believed:
            self.kept, self.unsure, self.corrupt = read, Spans.empty(), Spans.empty()
        unread = self.promised - read
        self.vanished = unread - unread.without(self.vanished_ledgers)
        self.vanished_by_fault = self.vanished - self.vanished.without(self.by_fault)
        self.unavailable = self.promised - _union((self.kept, self.lost, self.corrupt, self.vanished))

    def _vanished_ledgers(self) -> set[int]:
        """Ledgers whose metadata was removed although every invocation is known and none deleted it.

        A ledger that a fault of the run removed counts as vanished while its metadata is missing.
        """
        if not self.run.complete or self.run.damage_to(("operations",)):
            return set()
        deleted = (row for row in self.histories.in_time if row.state == DELETED)
        by_others = {row.ledger for row in deleted if not row.put_back}
        return (by_others | set(self.histories.gone)) - self.released

    def seen(self) -> dict[str, int]:
        """What there was to judge by."""
        return {
            "acknowledged": self.found.count("acknowledged"),
            "promised": self.promised.count(),
            "released": self.promised_in_all - self.promised.count(),
            "ledgers": len(self.promised.ledgers()),
            "final_opens_ok": len(self.facts.columns(OPENED)["ledger"]),
            "final_entries": self.found.count("final_entries"),
            "census_answers": self.found.count("census_answers"),
            "census_passes": len(self.facts.memo(passes)),
        }

    def counts(self) -> dict[str, int]:
        """Exact totals, in entries; ``excused`` are the losses that the plan's allowance covers."""
        gone = _union((self.lost, self.corrupt, self.vanished))
        return {
            "kept": self.kept.count(),
            "lost": self.lost.count(),
            **{f"lost_{name}": self.lost_by_class[name].count() for name in CLASSES},
            "corrupt": self.corrupt.count(),
            "vanished": self.vanished.count(),
            "vanished_explained": self.vanished_by_fault.count(),
            "vanished_ledgers": len(self.vanished_ledgers),
            "vanished_ledgers_explained": len(self.by_fault),
            "unavailable": self.unavailable.count(),
            "excused": self._excused(),
            "gone": gone.count(),
            "acknowledged_gone": (gone & self.found.spans("acknowledged")).count(),
        }

    def _excused(self) -> int:
        """Explained losses of the ledgers that have no more of them than the plan allows."""
        lost = self.lost_by_class[EXPLAINED] | self.vanished_by_fault
        numbers = {ledger: lost.of_ledger(ledger).count() for ledger in lost.ledgers()}
        rest = self.run.allowance.get(EVERY_LEDGER, 0)
        return sum(n for ledger, n in numbers.items() if n <= self.run.allowance.get(ledger, rest))

    def findings(self) -> Iterator[Finding]:
        """One for each span of entries that shared a fate."""
        for ledger in sorted(self.vanished_ledgers):
            if ledger not in self.by_fault or self.vanished.of_ledger(ledger):
                yield self._vanished_finding(ledger)
        kinds = [("lost", name, self.lost_by_class[name]) for name in CLASSES]
        for kind, loss, spans in (*kinds, ("corrupt", "", self.corrupt)):
            yield from (self._finding(kind, loss, span) for span in capped_rows(spans))

    def _finding(self, kind: str, loss: str, span: tuple[int, int, int]) -> Finding:
        ledger, first, last = span
        what = "lost" if kind == "lost" else "readable only as other bytes"
        return self.run.finding(
            f"durability/{kind}",
            (ledger, first, last),
            f"{entries_text(first, last)} {what}",
            *self._proof(loss, span),
            loss=loss,
        )

    def _proof(self, loss: str, span: tuple[int, int, int]) -> Iterator[str]:
        ledger, first, last = span
        yield from promise_proof(self.promises, span, self.facts, self.run)
        close = self.histories.closes.get(ledger)
        if close and close.last_entry >= first:
            yield close.closed_text
        if close and last > close.last_entry:
            yield f"{close.closed_text}, below entry {last}"
        yield from self._answers(span)
        if loss and self.known:
            had, shown, on_disk = (self._numbers(kind, span) for kind in _HAD)
            counts = {boot_id: (had[boot_id], shown[boot_id], on_disk[boot_id]) for boot_id in sorted(had)}
            yield from holder_proof(span, counts, self.known, self.run)
        if loss == FORGED:
            yield from forgery_proof(ledger, self.facts, self.run)

    def _numbers(self, kind: str, span: tuple[int, int, int]) -> Counter[int]:
        """By boot or bookie how many entries of a span it had."""
        found = Counter[int]()
        for who, first, last in self.whose[kind].within(*span):
            found[who] += last - first + 1
        return found

    def _answers(self, span: tuple[int, int, int]) -> Iterator[str]:
        """Which of the responsible bookies gave the same answer to a whole span in the last census pass."""
        ledger, first, last = span
        due = duties(self.histories.versions.get(ledger, ()), ints([first, last]), self.run.bookies)
        for kind, answer in _ANSWERED.items():
            numbers = self._numbers(kind, span)
            agreed = [bookie for bookie in sorted(due) if numbers[bookie] == last - first + 1]
            if agreed:
                names = ", ".join(self.run.bookie_name(bookie) for bookie in agreed)
                number = max(self.facts.memo(passes))
                yield f"census pass {number}: {names} {answer} {entries_text(first, last)}"

    def _vanished_finding(self, ledger: int) -> Finding:
        gone = self.vanished.of_ledger(ledger)
        ours = ledger in self.by_fault
        how = (
            put_back_text(self.histories.gone[ledger], self.histories, self.run)
            if ours
            else f"the metadata was removed by transaction 0x{self.histories.deleted[ledger].zxid:x}"
        )
        return self.run.finding(
            "durability/vanished",
            (ledger, int(gone.first[0]) if gone else -1, int(gone.last[-1]) if gone else -1, gone.count()),
            "the metadata vanished and no client invoked a delete",
            how,
            "the histories of all clients are whole and hold no delete of this ledger that was sent",
            loss=EXPLAINED if ours else "",
        )

    def notes(self) -> Iterator[str]:
        """Unavailable entries by ledger, metadata that was put back, and why losses have no class."""
        if not self.promised:
            yield "no entry was promised to anyone"
        for ledger in self.reborn:
            name = self.run.ledger_text(ledger)
            yield f"{name}: its id was given again, so which of the two was promised what is unknown"
        yield from put_back_notes(self.histories, self.run)
        ledgers = self.unavailable.ledgers()
        yield from some_notes(ledgers, self._unavailable, "ledger", " with unavailable entries")
        undetermined = self.lost_by_class[UNDETERMINED].count()
        if undetermined:
            what = counted(undetermined, "loss", "losses")
            yield f"{what} of class undetermined: {undetermined_because(self.run)}"

    def _unavailable(self, ledger: int) -> str:
        spans = self.unavailable.of_ledger(ledger)
        errors = [error for _, error, *_ in self.facts.rows(REFUSED, ledger)]
        refused = errors and not self.facts.rows(OPENED, ledger)
        why = f"it could not be opened at the end (error {min(errors)})" if refused else "not read back"
        if not refused and not self.histories.seen_whole(ledger):
            why = "not read back, and the ledger's metadata was not seen whole"
        if spans & self.unsure:
            why = "read back, then denied by every bookie that must have it, and a copy may be elsewhere"
        return (
            f"{self.run.ledger_text(ledger)}: {counted(spans.count(), 'entry', 'entries')} unavailable "
            f"(first {int(spans.first[0])}): {why}, with no proof of loss"
        )
