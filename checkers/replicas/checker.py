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

from checkers.facts.boots import Health, boots_of
from checkers.facts.ledgers import PASS_TIMES, RELEASED, Pass, histories, passes, tops
from checkers.facts.parts import of_plan, received_lac
from checkers.facts.versions import Version, in_force
from checkers.facts.wording import entries_text, some_notes
from checkers.judging.checker import Checker
from checkers.judging.contract import Batch, LedgerFact, LedgerFacts, Rows, RunFacts
from checkers.judging.found import Found, set_rows
from checkers.replicas.copies import (
    Move,
    Short,
    Shown,
    copies,
    damaged_on,
    damaged_rows,
    due_entries,
    moves,
    shorts,
)
from checkers.replicas.marks import absences, failed_tries, not_marked, promised, unmarked_early
from checkers.replicas.repair import Repair
from checkers.sets.spans import Spans
from evidence.findings import Finding, Judgement
from protocol.wording import counted

_RESTS_ON = ("operations", "census", "ledgers", "servers", "faults")


def _received_earlier(batch: Batch) -> list[Rows]:
    """The highest LAC of each ledger that clients received outside the final reads."""
    return [tops(part.memo(of_plan), "lac") for part in batch.operations.memo(received_lac)]


RECEIVED_EARLIER = LedgerFact(
    "received_before_final_reads", "operations", _received_earlier, values={"lac": "max"}
)
"""The highest LAC that any client received otherwise than by the final reads."""


class Replicas(Checker):
    """Finds entries that lack copies although repair is through."""

    name = "replicas"
    tables = ("operations", "census", "ledgers")
    needed = "whole evidence, an auditor quiet before the last census, answers of every bookie"
    kinds = (
        *("under_replicated", "hole", "differing", "never_repaired", "not_copied"),
        *("not_marked", "unmarked_unrepaired"),
    )
    figures = ("ledgers", "entries", "copies", "marked_ledgers", "full_replication_ms")
    facts = (PASS_TIMES, RELEASED, RECEIVED_EARLIER)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
        """The copies that bookies showed, and the entries that fall short, of the ledgers to be judged."""
        judged = facts.memo(_JudgedPass, run)
        rows = batch.census.where(pass_number=judged.number)
        due = judged.due(np.unique(rows["ledger"]).tolist())
        rows = rows.filter(np.isin(rows["ledger"], [*due]))
        shown = Shown.from_rows(rows)
        found = [Found.from_tables(set_rows("asked", shown.asked), damaged_rows(rows))]
        for ledger, (versions, last) in due.items():
            entries = shown.asked.of_ledger(ledger).entries()
            found.append(copies(ledger, versions, entries[entries <= last], shown, run.bookies))
        return Found.joined(found)

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs an auditor that was quiet before the last but one pass, and an answer of each bookie."""
        judged, lacking = facts.memo(_JudgedPass, run), run.shortcomings(_RESTS_ON)
        if len(facts.memo(passes)) < 2 and not lacking:
            lacking.append("there were no two passes of the census at the end")
        every = [] if lacking else list(judged.cases(found))
        unrest = [] if lacking else judged.unrest
        cases = [] if unrest else every
        findings = [finding for case in cases for finding in case.findings()]
        findings += [finding for case in every for finding in case.never_repaired()]
        findings += [finding for case in every if unrest for finding in case.not_copied(found)]
        findings += [] if lacking else list(judged.not_marked())
        doubts = [(case.ledger, doubt) for case in cases for doubt in case.doubts()]
        entries = sum(case.due for case in cases)
        took_ns = judged.repair.full_replication_ns()
        return self.judgement(
            run,
            findings,
            seen={
                "ledgers": len(cases),
                "entries": entries,
                "copies": found.count("copies") if cases else 0,
                "marked_ledgers": len(judged.repair.marks),
                **({} if took_ns is None else {"full_replication_ms": took_ns // 1_000_000}),
            },
            enough=entries and not doubts,
            lacking=lacking,
            idle=judged.unrest,
            notes=some_notes([*unrest, *(doubt for _, doubt in doubts)]),
            undecided=[ledger for ledger, _ in doubts],
        )


class _JudgedPass:
    """The census pass that is judged (the last but one, or the only one), and what was known by then.

    ``number`` is 0 where there was none; ``unrest`` says why the auditor was not quiet, ``tries`` are the
    ledgers whose repair had failed again and again.
    """

    def __init__(self, facts: LedgerFacts, run: RunFacts) -> None:
        self.facts, self.run, self.metadata = facts, run, facts.memo(histories)
        self.number = next(iter(sorted(facts.memo(passes))[-2:]), 0)
        self.during = facts.memo(passes)[self.number] if self.number else Pass(0, 0)
        self.repair = Repair(run, self.during.began_ns)
        self.unrest = list(self.repair.unrest())
        self.tries = failed_tries(run, self.metadata, self.during.began_ns)

    def moves(self, ledger: int) -> tuple[Move, ...]:
        """What repair may have changed in the ledger's metadata; nothing where no daemon repairs."""
        return moves(self.metadata.versions.get(ledger, ()), self.run) if self.repair.elected else ()

    def highest_lac(self, ledger: int) -> int:
        """The highest LAC that a client had received outside the final reads.

        -1 where another ledger had this id before: it may have been that one's.
        """
        if ledger in self.metadata.created_again:
            return -1
        return int(self.facts.at(RECEIVED_EARLIER, "lac", np.array([ledger]), missing=-1)[0])

    def due(self, ledgers: Iterable[int]) -> dict[int, tuple[tuple[Version, ...], int]]:
        """Of some ledgers those to be judged: their versions in force then, and the last entry due.

        Where the auditor was not quiet these are the ledgers of which repair failed again and again, and
        those in whose fragments a bookie took another's place.
        """
        gone = {*self.metadata.gone, *self.facts.columns(RELEASED)["ledger"].tolist()}
        found = {}
        for ledger in ledgers:
            chain = self.metadata.versions.get(ledger, ())
            wanted = not self.unrest or ledger in self.tries or self.moves(ledger)
            versions = in_force(chain, *self.during) if wanted and ledger not in gone else ()
            if versions:
                found[ledger] = versions, due_entries(versions, self.highest_lac(ledger))
        return found

    def cases(self, found: Found) -> Iterator[_Case]:
        """Every ledger that is to be judged, with what the pass showed of it."""
        due, asked, parts = self.due(sorted(self.metadata.versions)), found.spans("asked"), [found]
        for ledger, (versions, last) in due.items():
            rest = Spans.from_ranges(ledger, 0, last) - asked.of_ledger(ledger)
            if rest:
                parts.append(copies(ledger, versions, rest.entries(), Shown(), self.run.bookies))
        short, differing = shorts(Found.joined(parts)), found.spans("differing")
        for ledger, (versions, last) in due.items():
            yield _Case(self, ledger, versions, last + 1, short.get(ledger, ()), differing.of_ledger(ledger))

    def not_marked(self) -> Iterator[Finding]:
        """Ledgers without a mark that a bookie which was gone calls for: never made, or removed too early."""
        metadata, marks = self.metadata, self.repair.marks
        gone = {*metadata.deleted, *metadata.put_back, *self.facts.columns(RELEASED)["ledger"].tolist()}
        away = list(absences(self.repair))
        for ledger in sorted(set(metadata.versions if away else marks) & metadata.versions.keys() - gone):
            if ledger not in metadata.gaps:
                chain, lac = metadata.versions[ledger], self.highest_lac(ledger)
                yield from not_marked(ledger, chain, lac, away, self.repair)
                yield from unmarked_early(ledger, chain, lac, self.repair)


@dataclass(frozen=True)
class _Case:
    """One ledger: what its metadata demanded during the pass, and which copies there were."""

    judged: _JudgedPass
    ledger: int
    versions: tuple[Version, ...]
    due: int
    short: tuple[Short, ...]
    differing: Spans

    @property
    def run(self) -> RunFacts:
        """The run."""
        return self.judged.run

    @property
    def unseen(self) -> bool:
        """Whether a version of its metadata was not seen."""
        return self.ledger in self.judged.metadata.gaps

    @property
    def whole(self) -> bool:
        """Whether every version was seen, and none put back by a fault of the run."""
        return not self.unseen and self.ledger not in self.judged.metadata.put_back

    def findings(self) -> Iterator[Finding]:
        """Entries that a bookie lacks, and entries with different copies."""
        if self.unseen:
            return
        for short in self.short:
            for _, *span in short.entries if short.lacking else ():
                hole = not short.having and not short.unsure and not short.elsewhere
                lack = "lack" if len(short.lacking) > 1 else "lacks"
                yield self._finding(
                    "hole" if hole else "under_replicated",
                    span,
                    "no bookie showed a copy" if hole else f"{self._names(short.lacking)} {lack} a copy",
                    *self._proof(short, span),
                )
        for _, *span in self.differing:
            text = f"bookies showed different copies of {entries_text(*span)} in {self._pass}"
            yield self._finding("differing", span, "different copies", self._demand(), text)

    def never_repaired(self) -> Iterator[Finding]:
        """Repair failed again and again under one version of the metadata, in force until now."""
        tries, version = self.judged.tries.get(self.ledger), self.versions[0]
        if tries is None or not self.whole or len(self.versions) > 1 or version.latest_ns >= tries.began_ns:
            return
        lacking = frozenset().union(*((*one.lacking, *one.unsure) for one in self.short))
        if promised(tries, version, lacking, self.run):
            between = " and ".join(map(self.run.time_text, (tries.began_ns, tries.ended_ns)))
            yield self.run.finding(
                "replicas/never_repaired",
                (self.ledger,),
                f"repair failed {tries.number} times in a row",
                self._demand(),
                f"marked under-replicated, lacking {', '.join(tries.missing) or 'an unknown bookie'}",
                f"a worker locked and unlocked the ledger {tries.number} times between {between}; "
                "the mark stayed",
                "nothing changed meanwhile, enough bookies with copies were up, and no fault hindered repair",
            )

    def not_copied(self, found: Found) -> Iterator[Finding]:
        """Entries that lack a copy on a bookie that metadata already name in another's place."""
        moved = self.judged.moves(self.ledger) if self.whole else ()
        lossy = Health(self.run, *self.judged.during).lossy() if moved else {}
        for short in self.short:
            for move in moved if short.having else ():
                if move.bookie in short.lacking and move.bookie not in lossy:
                    entries = short.entries & Spans.from_ranges(self.ledger, move.first, move.last)
                    entries -= damaged_on(move.bookie, self.ledger, found)
                    yield from (self._not_copied(move, short, span) for _, *span in entries)

    def _not_copied(self, move: Move, short: Short, span: Sequence[int]) -> Finding:
        new, old = self.run.bookie_name(move.bookie), move.instead_of
        return self._finding(
            "not_copied",
            span,
            f"{new} is named instead of {old} and lacks a copy",
            f"metadata version {move.version} of {self.run.time_text(move.at_ns)} names {new} for the "
            f"fragment from entry {move.first} on, where the version before names {old}",
            f"{self._pass}: {new} showed none of {entries_text(*span)}, {self._names(short.having)} a copy",
            f"no end of {new} and no fault may have taken what it had acknowledged",
        )

    def doubts(self) -> Iterator[str]:
        """What cannot be decided: a metadata version that was not seen, bookies that gave no answer."""
        name = self.run.ledger_text(self.ledger)
        if self.unseen:
            yield f"{name}: a version of its metadata was not seen"
            return
        health = Health(self.run, *self.judged.during)
        for short in self.short:
            entries = counted(short.entries.count(), "entry", "entries")
            entries += f" from {int(short.entries.first[0])} on"
            for bookie in short.unsure:
                why = "gave no answer" if health.boot(bookie) else "was down"
                yield f"{name}: {self.run.bookie_name(bookie)} {why} for {entries}"
            if not short.lacking and not short.unsure:
                yield f"{name}: a bookie that is not of the run owes {entries}"

    def _finding(self, kind: str, span: Sequence[int], text: str, *proof: str) -> Finding:
        where = (self.ledger, *span)
        return self.run.finding(f"replicas/{kind}", where, f"{entries_text(*span)}: {text}", *proof)

    @property
    def _pass(self) -> str:
        return f"census pass {self.judged.number}"

    def _proof(self, short: Short, span: Sequence[int]) -> Iterator[str]:
        yield self._demand()
        having = f", {self._names(short.having)} a copy" if short.having else ""
        yield f"{self._pass}: {self._names(short.lacking)} showed none of {entries_text(*span)}{having}"
        yield from (self._since(bookie) for bookie in short.lacking)
        yield self.judged.repair.summary_of(self.ledger)

    def _demand(self) -> str:
        latest = self.versions[-1]
        fragments = "; ".join(
            f"from entry {first} on {', '.join(name.rpartition(':')[0] or name for name in names)}"
            for first, names in latest.fragments
        )
        return f"metadata version {latest.version}: WQ {latest.shape[1]}, {fragments}"

    def _since(self, bookie: int) -> str:
        """When the bookie may have lost its copy, or why it never had one."""
        name = self.run.bookie_name(bookie)
        by_ns = self.judged.during.began_ns
        boots = boots_of(self.run).get(bookie, ())
        unclean = [boot for boot in boots if boot.ended_ns < by_ns and boot.unclean]
        if not unclean:
            return f"{name} had not ended uncleanly before: it never had the copy, or lost it while it ran"
        last = unclean[-1]
        return f"{name} boot {last.number} {last.how} at {self.run.time_text(last.ended_ns)}"

    def _names(self, bookies: tuple[int, ...]) -> str:
        return ", ".join(self.run.bookie_name(bookie) for bookie in bookies)
