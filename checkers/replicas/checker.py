"""Replicas: when repair is through, every entry is on all WQ bookies that its ledger names for it.

Judged where an auditor was running and idle: no ledger was marked under-replicated any more, and an
audit had begun and ended after the last thing that it might find. Then the first of the two last census
passes must show every entry of a closed ledger, and of others every entry up to the LAC that a client
received, on each bookie of its write set. A repair that fails again and again though it has all it needs is a
violation at any time, and so is a ledger that audits do not mark although a bookie of it is gone
(:mod:`checkers.replicas.marks`), and metadata that names a bookie in another's place before the bookie has
the copies (:mod:`checkers.replicas.copies`). Sources: BP-31 (the durability
contract, its SLA), BookKeeper's autorecovery.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from checkers.contract import Batch, Columns, LedgerFact, LedgerFacts, RunFacts
from checkers.facts.boots import Health, boots_of
from checkers.facts.ledgers import PASS_TIMES, RELEASED, Pass, highest_of, histories, passes
from checkers.facts.parts import flagged, told_lac
from checkers.facts.versions import Version
from checkers.facts.wording import counted, entries_text, listed, some_notes
from checkers.found import Found, capped, set_rows
from checkers.replicas.copies import (
    NOT_COPIED,
    Move,
    Short,
    Shown,
    copies,
    due_entries,
    in_force,
    moves,
    shorts,
)
from checkers.replicas.marks import (
    NOT_MARKED,
    UNMARKED,
    Absence,
    Tries,
    absences,
    failed_tries,
    owed,
    promised,
    removed_early,
)
from checkers.replicas.repair import Mark, Repair, repair_by
from checkers.sets.spans import Spans
from evidence.codes import Flag
from evidence.findings import Finding, Judgement, Verdict

PROPERTY = "replicas"
_RESTS_ON = ("operations", "census", "ledgers", "servers", "faults")
_KINDS = ("under_replicated", "hole", "differing", "never_repaired", NOT_COPIED, NOT_MARKED, UNMARKED)


def _received_earlier(batch: Batch) -> list[Columns]:
    """The highest LAC of each ledger that clients received outside the final reads."""
    parts = (part.where(~flagged(part, Flag.FINAL)) for part in batch.operations.once(told_lac))
    return [highest_of(part, "lac") for part in parts]


TOLD_EARLIER = LedgerFact(
    "told_before_final_reads",
    "operations",
    _received_earlier,
    values={"lac": "max"},
)
"""The highest LAC that any client received otherwise than by the final reads."""


class Replicas:
    """Finds entries that lack copies although repair is through."""

    name = PROPERTY
    tables: tuple[str, ...] = ("operations", "census", "ledgers")
    kinds: tuple[str, ...] = _KINDS
    facts: tuple[LedgerFact, ...] = (PASS_TIMES, RELEASED, TOLD_EARLIER)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
        """The copies that bookies showed, and the entries that fall short, of the ledgers to be judged."""
        number = _judged_pass(facts)
        rows = batch.census.of(pass_number=number)
        due = _due(np.unique(rows["ledger"]).tolist(), facts, run) if rows.number else {}
        shown = Shown.of(rows.where(np.isin(rows["ledger"], [*due])))
        found = [Found.of(set_rows("asked", shown.asked))]
        for ledger, (versions, last) in due.items():
            entries = shown.asked.of(ledger).entries()
            found.append(copies(ledger, versions, entries[entries <= last], shown, run.bookies))
        return Found.joined(found)

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs an auditor that was quiet before the last but one pass, and an answer of each bookie."""
        lacking = run.shortcomings(_RESTS_ON)
        if len(facts.once(passes)) < 2 and not lacking:
            lacking.append("there were no two passes of the census at the end")
        repair = _repair(facts, run)
        unrest = [] if lacking else list(repair.unrest())
        every = [] if lacking else list(_cases(found, facts, run))
        cases = [] if unrest else every
        findings = [finding for case in cases for finding in case.findings(repair)]
        findings += _never_repaired(every, facts, run)
        findings += [finding for case in every if unrest for finding in case.not_copied()]
        findings += [] if lacking else list(_not_marked(repair, facts, run))
        doubts = [(case.ledger, doubt) for case in cases for doubt in case.doubts()]
        entries = sum(case.due for case in cases)
        verdict = Verdict.VALID if entries and not doubts else Verdict.UNKNOWN
        if (lacking or unrest) and self.name not in run.required:
            verdict = Verdict.NOT_JUDGED
        took_ns = repair.full_replication_ns()
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else verdict,
            needed="whole evidence, an auditor quiet before the last census, answers of every bookie",
            seen={
                "ledgers": len(cases),
                "entries": entries,
                "copies": found.count("copies") if cases else 0,
                "marked_ledgers": len(repair.marks),
                **({} if took_ns is None else {"full_replication_ms": took_ns // 1_000_000}),
            },
            findings=capped(findings),
            counts={
                kind: sum(finding.count for finding in findings if finding.kind == kind) for kind in _KINDS
            },
            notes=(*lacking, *some_notes([*unrest, *(doubt for _, doubt in doubts)])),
            undecided=tuple(sorted({ledger for ledger, _ in doubts})),
        )


@dataclass(frozen=True)
class CopiesDue:
    """One ledger: what its metadata demanded during the pass, and which copies there were."""

    run: RunFacts
    ledger: int
    versions: tuple[Version, ...]
    due: int
    short: tuple[Short, ...]
    differing: Spans
    during: Pass
    number: int
    unseen: bool = False
    put_back: bool = False
    moves: tuple[Move, ...] = ()

    def findings(self, repair: Repair) -> Iterator[Finding]:
        """Entries that a bookie lacks, and entries with different copies."""
        if self.unseen:
            return
        for short in self.short:
            for _, first, last in short.entries if short.lacking else ():
                hole = not short.having and not short.unsure and not short.elsewhere
                what = f"{self._names(short.lacking)} {'lack' if len(short.lacking) > 1 else 'lacks'} a copy"
                yield self._finding(
                    "hole" if hole else "under_replicated",
                    (first, last),
                    "no bookie showed a copy" if hole else what,
                    tuple(self._proof(short, (first, last), repair)),
                )
        for _, first, last in self.differing:
            text = (
                f"bookies showed different copies of {entries_text(first, last)} in census pass {self.number}"
            )
            yield self._finding("differing", (first, last), "different copies", (self._demand(), text))

    def never_repaired(self, tries: Tries) -> Finding:
        """The finding of a ledger that repair was due to mend and did not."""
        between = f"between {self.run.time_text(tries.began_ns)} and {self.run.time_text(tries.ended_ns)}"
        return self.run.finding(
            "replicas/never_repaired",
            (self.ledger,),
            f"repair failed {tries.number} times in a row",
            self._demand(),
            f"marked under-replicated, lacking {listed(tries.missing) or 'an unknown bookie'}",
            f"a worker locked and unlocked the ledger {tries.number} times {between}; the mark stayed",
            "nothing changed meanwhile, enough bookies with copies were up, and no fault hindered repair",
        )

    def not_copied(self) -> Iterator[Finding]:
        """Entries that lack a copy on a bookie that metadata already name in another's place."""
        if self.unseen or self.put_back:
            return
        lossy = Health(self.run, self.during.began_ns, self.during.ended_ns).lossy()
        for short in self.short if self.moves else ():
            for move in self.moves if short.having else ():
                moved = short.entries & Spans.of_ranges(self.ledger, move.first, move.last)
                if move.bookie in short.lacking and move.bookie not in lossy:
                    yield from (self._not_copied(move, short, span) for _, *span in moved)

    def _not_copied(self, move: Move, short: Short, span: Sequence[int]) -> Finding:
        first, last = span
        new, old = self.run.bookie_name(move.bookie), move.instead_of
        return self._finding(
            NOT_COPIED,
            (first, last),
            f"{new} is named instead of {old} and lacks a copy",
            (
                f"metadata version {move.version} of {self.run.time_text(move.at_ns)} names {new} for the "
                f"fragment from entry {move.first} on, where the version before names {old}",
                f"census pass {self.number}: {new} showed none of {entries_text(first, last)}, "
                f"{self._names(short.having)} a copy",
                f"{new} had not ended uncleanly, and no fault changed its disk",
            ),
        )

    def doubts(self) -> Iterator[str]:
        """What cannot be decided: a metadata version that was not seen, bookies that gave no answer."""
        if self.unseen:
            yield f"{self.run.ledger_text(self.ledger)}: a version of its metadata was not seen"
            return
        health = Health(self.run, self.during.began_ns, self.during.ended_ns)
        for short in self.short:
            for bookie in short.unsure:
                name = self.run.bookie_name(bookie)
                why = "gave no answer" if health.boot(bookie) else "was down"
                entries = counted(short.entries.count(), "entry", "entries")
                first = int(short.entries.first[0])
                yield f"{self.run.ledger_text(self.ledger)}: {name} {why} for {entries} from {first} on"

    def _finding(self, kind: str, span: tuple[int, int], text: str, proof: tuple[str, ...]) -> Finding:
        first, last = span
        return self.run.finding(
            f"replicas/{kind}",
            (self.ledger, first, last),
            f"{entries_text(first, last)}: {text}",
            *proof,
        )

    def _proof(self, short: Short, span: tuple[int, int], repair: Repair) -> Iterator[str]:
        yield self._demand()
        having = f", {self._names(short.having)} a copy" if short.having else ""
        yield (
            f"census pass {self.number}: {self._names(short.lacking)} showed none of "
            f"{entries_text(*span)}{having}"
        )
        yield from (self._since(bookie) for bookie in short.lacking)
        yield repair.told_of(self.ledger)

    def _demand(self) -> str:
        latest = self.versions[-1]
        fragments = "; ".join(
            f"from entry {first} on {listed(name.rpartition(':')[0] or name for name in names)}"
            for first, names in latest.fragments
        )
        return f"metadata version {latest.version}: WQ {latest.shape[1]}, {fragments}"

    def _since(self, bookie: int) -> str:
        """When the bookie may have lost its copy, or why it never had one."""
        name = self.run.bookie_name(bookie)
        ends = [boot for boot in boots_of(self.run).get(bookie, ()) if boot.ended_ns < self.during.began_ns]
        unclean = [boot for boot in ends if boot.unclean]
        if not unclean:
            return f"{name} had not ended uncleanly before: it never had the copy, or lost it while it ran"
        last = unclean[-1]
        return f"{name} boot {last.number} {last.how} at {self.run.time_text(last.ended_ns)}"

    def _names(self, bookies: tuple[int, ...]) -> str:
        return listed(self.run.bookie_name(bookie) for bookie in bookies)


def _judged_pass(facts: LedgerFacts) -> int:
    """The number of the last census pass but one, of the only one where there were not two; 0 without any."""
    return next(iter(sorted(facts.once(passes))[-2:]), 0)


def _repair(facts: LedgerFacts, run: RunFacts) -> Repair:
    """What repair had done when that pass began."""
    number = _judged_pass(facts)
    return repair_by(run, facts.once(passes)[number].began_ns if number else 0)


def _moves(ledger: int, facts: LedgerFacts, run: RunFacts) -> tuple[Move, ...]:
    """What repair may have changed in the ledger's metadata; nothing where no daemon repairs."""
    repairs = bool(_repair(facts, run).elected)
    return moves(facts.once(histories).of.get(ledger, ()), run) if repairs else ()


def _due(
    ledgers: Iterable[int], facts: LedgerFacts, run: RunFacts
) -> dict[int, tuple[tuple[Version, ...], int]]:
    """Of some ledgers those to be judged: their versions in force during the pass, and the last entry due.

    Where the auditor was not quiet these are the ledgers of which repair failed again and again, and
    those in whose fragments a bookie took another's place.
    """
    metadata, during = facts.once(histories), facts.once(passes)[_judged_pass(facts)]
    gone = {*metadata.deleted, *facts.columns(RELEASED)["ledger"].tolist()}
    if any(_repair(facts, run).unrest()):
        failed = failed_tries(run, metadata, during.began_ns).keys()
        gone |= {one for one in ledgers if one not in failed and not _moves(one, facts, run)}
    found = {}
    for ledger in ledgers:
        versions = in_force(metadata.of.get(ledger, ()), during) if ledger not in gone else ()
        if versions:
            told = facts.at(TOLD_EARLIER, "lac", np.array([ledger]), missing=-1)
            found[ledger] = versions, due_entries(versions, int(told[0]))
    return found


def _cases(found: Found, facts: LedgerFacts, run: RunFacts) -> Iterator[CopiesDue]:
    """Every ledger that is to be judged, with what the pass showed of it."""
    metadata, number = facts.once(histories), _judged_pass(facts)
    during, nothing = facts.once(passes)[number], Shown({}, {}, Spans.empty(), Spans.empty())
    due = _due(sorted(metadata.of), facts, run)
    asked, parts = found.spans("asked"), [found]
    for ledger, (versions, last) in due.items():
        rest = Spans.of_ranges(ledger, 0, last) - asked.of(ledger)
        if rest:
            parts.append(copies(ledger, versions, rest.entries(), nothing, run.bookies))
    short, differing = shorts(Found.joined(parts)), found.spans("differing")
    for ledger, (versions, last) in due.items():
        unseen, put_back = bool(metadata.gaps(ledger)), ledger in metadata.put_back
        what = last + 1, short.get(ledger, ()), differing.of(ledger)
        moved = _moves(ledger, facts, run)
        yield CopiesDue(run, ledger, versions, *what, during, number, unseen, put_back, moved)


def _never_repaired(cases: Iterable[CopiesDue], facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    """Ledgers whose repair failed again and again under one version of the metadata, in force until now."""
    number = _judged_pass(facts)
    failed = failed_tries(run, facts.once(histories), facts.once(passes)[number].began_ns) if number else {}
    for case in cases:
        tries = failed.get(case.ledger)
        if tries is None or case.unseen or case.put_back:
            continue
        lacking = frozenset().union(*((*one.lacking, *one.unsure) for one in case.short))
        alone = len(case.versions) == 1 and case.versions[0].latest_ns < tries.began_ns
        if alone and promised(tries, case.versions[0], lacking, run):
            yield case.never_repaired(tries)


def _not_marked(repair: Repair, facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    """Ledgers without a mark that a bookie which was gone calls for: never made, or removed too early."""
    metadata = facts.once(histories)
    gone = {*metadata.deleted, *metadata.put_back, *facts.columns(RELEASED)["ledger"].tolist()}
    away = list(absences(repair))
    for ledger in sorted(set(metadata.of if away else repair.marks) & metadata.of.keys() - gone):
        chain, marks = metadata.of[ledger], repair.marks.get(ledger, ())
        told = int(facts.at(TOLD_EARLIER, "lac", np.array([ledger]), missing=-1)[0])
        if metadata.gaps(ledger):
            continue
        for absence in away:
            versions = in_force(chain, Pass(absence.began_ns, absence.ended_ns))
            if owed(absence, versions, due_entries(versions, told), marks):
                yield _unmarked(ledger, absence, versions[-1], run)
        for bookie, end in removed_early(run, marks, chain, due_entries(chain[-1:], told)):
            yield _removed(ledger, bookie, end, repair)


def _removed(ledger: int, bookie: str, end: Mark, repair: Repair) -> Finding:
    run = repair.run
    return run.finding(
        f"replicas/{UNMARKED}",
        (ledger,),
        f"its mark was removed although {bookie} was gone and not replaced",
        f"the mark, lacking {bookie}, was removed at {run.time_text(end.latest_ns)}",
        f"{bookie} had ended before the mark was made, and did not start until it was removed",
        f"every version of the metadata in force then names {bookie}",
        repair.told_of(ledger),
    )


def _unmarked(ledger: int, absence: Absence, version: Version, run: RunFacts) -> Finding:
    gone, number = absence.bookie, absence.audits
    between = f"between {run.time_text(absence.began_ns)} and {run.time_text(absence.ended_ns)}"
    return run.finding(
        f"replicas/{NOT_MARKED}",
        (ledger,),
        f"{number} audits did not mark it, although {gone} was gone",
        f"metadata version {version.version} names {gone}",
        f"{gone} had ended, and its registration had vanished",
        f"{number} audits began and ended {between}; nothing else changed, and no fault was active",
        repair_by(run, absence.ended_ns).told_of(ledger),
    )
