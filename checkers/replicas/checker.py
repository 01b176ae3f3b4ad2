"""Replicas: when repair is through, every entry is on all WQ bookies that its ledger names for it.

Judged where an auditor was at work and quiet: no ledger was marked under-replicated any more, and an
audit had begun and ended after the last thing that it might find. Then the first of the two last census
passes must show every entry of a closed ledger, and of others every entry up to the LAC that somebody was
told, on each bookie of its write set. A repair that fails again and again though it has all it needs is a
violation at any time (:mod:`checkers.replicas.unending`). Sources: BP-31 (the durability contract, its SLA),
BookKeeper's autorecovery.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.contract import Chunk, RunFacts
from checkers.facts.boots import boots_of
from checkers.facts.damage import shortcomings
from checkers.facts.health import Health
from checkers.facts.histories import histories_of
from checkers.facts.observations import Census, merge_census, scan_census
from checkers.facts.parts import deleted, flagged, highest_lac, told_lac
from checkers.facts.passes import Pass, Passes, merge_passes, scan_passes
from checkers.facts.versions import Version, Versions, scan_versions
from checkers.facts.wording import (
    bookie_name,
    counted,
    entries_text,
    ledger_text,
    listed,
    some_notes,
    time_text,
)
from checkers.replicas.copies import Copies, Short, copies, due_entries, in_force, shown_in
from checkers.replicas.repair import Repair, repair_by
from checkers.replicas.unending import Tries, failed_tries, promised
from checkers.sets.capping import capped
from checkers.sets.peaks import Peaks
from evidence.codes import Flag
from evidence.findings import Finding, Judgement, Verdict

PROPERTY = "replicas"
_RESTS_ON = ("operations", "census", "ledgers", "servers", "faults")
_KINDS = ("under_replicated", "hole", "differing", "never_repaired")


@dataclass(frozen=True, slots=True)
class Facts:
    """The summary; ``told`` has the highest LAC of each ledger that anybody but the final reads was told."""

    census: Census
    passes: Passes
    versions: Versions
    released: frozenset[int]
    told: Peaks


class Replicas:
    """Convicts entries that lack copies although repair is through."""

    name = PROPERTY
    tables: tuple[str, ...] = ("operations", "census", "ledgers")
    kinds: tuple[str, ...] = _KINDS

    def scan(self, chunk: Chunk, run: RunFacts) -> Facts:  # noqa: ARG002  # as agreed
        """Answers of the census, metadata, deletes and LACs of one chunk."""
        rows = chunk.operations
        earlier = tuple(part.where(~flagged(part, Flag.FINAL)) for part in rows.once(told_lac))
        return Facts(
            census=chunk.census.once(scan_census),
            passes=chunk.census.once(scan_passes),
            versions=scan_versions(chunk),
            released=frozenset(np.unique(deleted(rows)["ledger"]).tolist()),
            told=highest_lac(earlier),
        )

    def merge(self, left: Facts, right: Facts) -> Facts:
        """Both."""
        return Facts(
            merge_census(left.census, right.census),
            merge_passes(left.passes, right.passes),
            left.versions | right.versions,
            left.released | right.released,
            left.told | right.told,
        )

    def conclude(self, summary: Facts, run: RunFacts) -> Judgement:
        """Needs an auditor that was quiet before the last but one pass, and an answer of each bookie."""
        numbers = sorted(summary.passes)[-2:]
        lacking = shortcomings(run, _RESTS_ON)
        if len(numbers) < 2 and not lacking:
            lacking.append("there were no two passes of the census at the end")
        during = summary.passes[numbers[0]] if numbers else Pass(0, 0)
        repair = repair_by(run, during.began_ns)
        unrest = [] if lacking else list(repair.unrest())
        cases = [] if lacking or unrest else list(_cases(summary, run, numbers[0]))
        findings = [finding for case in cases for finding in case.findings(repair)]
        findings += [] if lacking else _never_repaired(summary, run, numbers[0])
        doubts = [(case.ledger, doubt) for case in cases for doubt in case.doubts()]
        entries = sum(case.found.due for case in cases)
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
                "copies": sum(case.found.there for case in cases),
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
class Case:
    """One ledger: what its metadata demanded during the pass, and which copies there were."""

    run: RunFacts
    ledger: int
    versions: tuple[Version, ...]
    found: Copies
    during: Pass
    number: int
    unseen: bool = False
    put_back: bool = False

    def findings(self, repair: Repair) -> Iterator[Finding]:
        """Entries that somebody lacks, and those of which there are different copies."""
        if self.unseen:
            return
        for short in self.found.short:
            for _, first, last in short.entries if short.lacking else ():
                hole = not short.having and not short.unsure and not short.elsewhere
                what = f"{self._names(short.lacking)} {'lack' if len(short.lacking) > 1 else 'lacks'} a copy"
                yield self._finding(
                    "hole" if hole else "under_replicated",
                    (first, last),
                    "no bookie showed a copy" if hole else what,
                    tuple(self._proof(short, (first, last), repair)),
                )
        for _, first, last in self.found.differing:
            text = (
                f"bookies showed different copies of {entries_text(first, last)} in census pass {self.number}"
            )
            yield self._finding("differing", (first, last), "different copies", (self._demand(), text))

    def never_repaired(self, tries: Tries) -> Finding:
        """The finding of a ledger that repair was due to mend and did not."""
        between = f"between {time_text(self.run, tries.began_ns)} and {time_text(self.run, tries.ended_ns)}"
        return Finding(
            property=PROPERTY,
            kind="never_repaired",
            ledger=self.ledger,
            text=f"{ledger_text(self.run, self.ledger)}: repair failed {tries.number} times in a row",
            proof=(
                self._demand(),
                f"marked under-replicated, lacking {listed(tries.missing) or 'an unknown bookie'}",
                f"a worker locked and unlocked the ledger {tries.number} times {between}; the mark stayed",
                "nothing changed meanwhile, enough bookies with copies were up, and no fault hindered repair",
            ),
        )

    def doubts(self) -> Iterator[str]:
        """What cannot be decided: a version that nobody saw, bookies that gave no answer."""
        if self.unseen:
            yield f"{ledger_text(self.run, self.ledger)}: a version of its metadata was not seen"
            return
        health = Health(self.run, self.during.began_ns, self.during.ended_ns)
        for short in self.found.short:
            for bookie in short.unsure:
                name = bookie_name(self.run, bookie)
                why = "gave no answer" if health.boot(bookie) else "was down"
                entries = counted(short.entries.count(), "entry", "entries")
                first = int(short.entries.first[0])
                yield f"{ledger_text(self.run, self.ledger)}: {name} {why} for {entries} from {first} on"

    def _finding(self, kind: str, span: tuple[int, int], text: str, proof: tuple[str, ...]) -> Finding:
        first, last = span
        return Finding(
            property=PROPERTY,
            kind=kind,
            ledger=self.ledger,
            first_entry=first,
            last_entry=last,
            count=last - first + 1,
            text=f"{ledger_text(self.run, self.ledger)}: {entries_text(first, last)}: {text}",
            proof=proof,
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
        name = bookie_name(self.run, bookie)
        ends = [boot for boot in boots_of(self.run).get(bookie, ()) if boot.ended_ns < self.during.began_ns]
        unclean = [boot for boot in ends if boot.unclean]
        if not unclean:
            return f"{name} had not ended uncleanly before: it never had the copy, or lost it while it ran"
        last = unclean[-1]
        return f"{name} boot {last.number} {last.how} at {time_text(self.run, last.ended_ns)}"

    def _names(self, bookies: tuple[int, ...]) -> str:
        return listed(bookie_name(self.run, bookie) for bookie in bookies)


def _cases(facts: Facts, run: RunFacts, number: int) -> Iterator[Case]:
    """Every ledger that still has to be there, with what the pass showed of it."""
    histories, during = histories_of(facts.versions), facts.passes[number]
    shown = shown_in(facts.census, number)
    for ledger, chain in sorted(histories.of.items()):
        if ledger in histories.deleted or ledger in facts.released:
            continue
        versions = in_force(chain, during)
        if not versions:
            continue
        told = facts.told.get(ledger)
        last = due_entries(versions, -1 if told is None else told.value)
        found = copies(ledger, versions, last, shown, run.bookies)
        unseen, put_back = bool(histories.gaps(ledger)), ledger in histories.put_back
        yield Case(run, ledger, versions, found, during, number, unseen=unseen, put_back=put_back)


def _never_repaired(facts: Facts, run: RunFacts, number: int) -> Iterator[Finding]:
    """Ledgers whose repair failed again and again under one version of the metadata, in force until now."""
    failed = failed_tries(run, histories_of(facts.versions), facts.passes[number].began_ns)
    for case in _cases(facts, run, number) if failed else ():
        tries = failed.get(case.ledger)
        if tries is None or case.unseen or case.put_back:
            continue
        lacking = frozenset().union(*((*one.lacking, *one.unsure) for one in case.found.short))
        alone = len(case.versions) == 1 and case.versions[0].latest_ns < tries.began_ns
        if alone and promised(tries, case.versions[0], lacking, run):
            yield case.never_repaired(tries)
