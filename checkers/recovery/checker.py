"""Recovery: a client that closes a ledger for its writer has the answers that allow it.

Sources: *Closing Ledgers Safely* ("Quorum Coverage", figures 7 to 10c), the replication protocol
("Closing a ledger as a reader"), BP-46 ("A note on Quorums"), the client's ``LedgerRecoveryOp``. A
recoverer is judged by the answers that may have reached it before its decision, forged ones included.
Each kind of finding rests on answers that did *not* come, so nothing is found where frames
may be missing. What BP-46 demands beyond the client's rules is a note, not an anomaly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from checkers.contract import Batch, LedgerFact, LedgerFacts, RunFacts
from checkers.facts.ledgers import histories
from checkers.facts.wording import counted, entries_text, listed
from checkers.found import BOOKIE_WORDS, Found, Row, bookies_in, capped, set_rows
from checkers.recovery.closes import (
    AssessedClose,
    Assessment,
    Close,
    Ensemble,
    Grounds,
    closes_by_recovery,
    decided,
)
from checkers.recovery.differences import Difference, differences
from checkers.recovery.link_events import LinkEvents, deciding_rows, forged, lac_rows, link_events
from checkers.recovery.writers import Writers, writer_rows
from checkers.recovery.written import given_rows, unstored_rows, written_rows
from checkers.sets.spans import Spans
from evidence.codes import NEVER
from evidence.findings import Finding, Judgement, Verdict
from protocol.addresses import MAX_BOOKIES

ENDED_TOO_SOON, FENCED_TOO_FEW = Assessment.ENDED_TOO_SOON.value, Assessment.FENCED_TOO_FEW.value
NOT_WRITTEN_BACK, NOT_READ = Assessment.NOT_WRITTEN_BACK.value, Assessment.NOT_READ.value
WROTE_BACK_UNREAD = "wrote_back_unread"


_SOURCES = -1
"""In place of a ledger: its entries are the bookies that were the source of a frame."""


class Recovery:
    """Finds a close without the answers for it, and an entry written back that no bookie had given."""

    name = "recovery"
    tables: tuple[str, ...] = ("frames", "ledgers", "operations")
    kinds: tuple[str, ...] = (ENDED_TOO_SOON, FENCED_TOO_FEW, NOT_WRITTEN_BACK, NOT_READ, WROTE_BACK_UNREAD)
    facts: tuple[LedgerFact, ...] = ()

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
        """What decides closes by recovery, and entries that were written back otherwise than they may be."""
        closes = facts.once(_closes)
        ledger = np.array([close.ledger for close in closes], dtype=np.int64)
        beyond = Spans.of_entries(ledger, [close.beyond for close in closes]) if closes else Spans.empty()
        rows, sources = link_events(batch.frames), np.unique(batch.frames["source"])
        bookies = sources[(sources > 0) & (sources <= MAX_BOOKIES)]
        found = Found.of(
            *(
                [deciding_rows(rows, beyond), unstored_rows(rows, closes), given_rows(rows, closes)]
                if rows.num_rows
                else []
            ),
            lac_rows(batch.frames),
            *(writer_rows(batch, ledger) if closes else []),
            set_rows("sources", Spans.of_entries(_SOURCES, bookies)),
            forged=forged(batch.frames),
        )
        return Found.joined([found, written_rows(rows, batch, facts.once(histories), run.bookies)])

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs a recovery whose grounds crossed links, and none that was left unseen."""
        recoveries = _Recoveries(found, facts, run)
        assessments = Counter(case.assessment for case in recoveries.cases)
        lacking = run.shortcomings(self.tables)
        findings = [] if lacking or not run.wire else list(recoveries.findings())
        beside = differences(recoveries.cases, found, facts.once(histories), run) if run.wire else []
        return Judgement(
            property=self.name,
            verdict=_verdict(findings, assessments, lacking, run),
            needed="whole evidence with a wire log, and a recovery whose answers were seen, none unseen",
            seen={
                "recoveries": len(recoveries.cases),
                "legal": assessments[Assessment.LEGAL],
                "by_writer": assessments[Assessment.BY_WRITER],
                "by_bookie": assessments[Assessment.BY_BOOKIE],
                "unseen": assessments[Assessment.UNSEEN],
                "written_back": found.count("written_back"),
                "forged_answers": found.count("forged"),
                **{difference.name: difference.number for difference in beside},
            },
            findings=capped(findings),
            counts={
                kind: sum(finding.count for finding in findings if finding.kind == kind)
                for kind in self.kinds
            },
            notes=(*lacking, *_notes(recoveries, beside, run)),
            undecided=tuple(
                sorted(
                    {case.close.ledger for case in recoveries.cases if case.assessment is Assessment.UNSEEN}
                )
            ),
        )


def _verdict(
    findings: list[Finding], assessments: Counter[Assessment], lacking: list[str], run: RunFacts
) -> Verdict:
    """A close that needs no recoverer to explain it gives the property no work."""
    if findings:
        return Verdict.ANOMALY
    idle = not (assessments[Assessment.LEGAL] or assessments[Assessment.UNSEEN] or lacking)
    if (idle or not run.wire) and Recovery.name not in run.required:
        return Verdict.NOT_JUDGED
    enough = run.wire and assessments[Assessment.LEGAL] and not assessments[Assessment.UNSEEN] and not lacking
    return Verdict.VALID if enough else Verdict.UNKNOWN


def _closes(facts: LedgerFacts) -> tuple[Close, ...]:
    """The closes by recovery, by ledger; with no bookie known by its number."""
    return tuple(closes_by_recovery(facts.once(histories), {}))


class _Recoveries:
    """The cases of one run."""

    def __init__(self, found: Found, facts: LedgerFacts, run: RunFacts) -> None:
        self.run, self.found = run, found
        self.writers = Writers(found, run)
        guarded = {number for name, number in run.bookies.items() if name in run.guarded}
        clients = sorted(guarded | set(found.spans("sources").entries().tolist()))
        unstored, given = _by_source(found.firsts("unstored", 2)), _by_source(found.firsts("given", 2))
        told = LinkEvents(found)
        self.cases = [
            decided(close, told, self.writers, clients, unstored.get(number, {}), given.get(number, {}))
            for number, close in enumerate(closes_by_recovery(facts.once(histories), run.bookies))
        ]

    def findings(self) -> Iterator[Finding]:
        """The anomalies of all closes, in their order."""
        for case in self.cases:
            if case.assessment is Assessment.ENDED_TOO_SOON:
                yield self._ended_too_soon(case)
            elif case.assessment is Assessment.FENCED_TOO_FEW:
                yield self._fenced_too_few(case)
            elif case.assessment in (Assessment.NOT_WRITTEN_BACK, Assessment.NOT_READ):
                yield from self._not_written_back(case)
                yield from self._not_read(case)
        yield from map(self._unread, self.found.firsts("unread", 1))

    def _ended_too_soon(self, case: AssessedClose) -> Finding:
        close, entry = case.close, case.close.beyond
        ensemble = close.ensembles[-1]
        quorums = ensemble.quorums
        where = listed(self.run.bookie_name(bookie) for bookie in ensemble.write_set(entry))
        proof = [
            *_closed(case, self.run),
            f"entry {entry} would be on {where}: {quorums.coverage} of them must deny it "
            f"(WQ {quorums.write}, AQ {quorums.ack})",
            *(self._answers(grounds, ensemble, entry) for grounds in case.recoverers),
        ]
        top = self.writers.last_acknowledged(close.ledger)
        if top >= 0:
            proof.append(f"the last entry acknowledged to the writer is {top}")
        return self.run.finding(
            f"recovery/{ENDED_TOO_SOON}",
            (close.ledger, entry, entry),
            f"closed at {close.version.last_entry} while entry {entry} was not denied by enough bookies",
            *(proof),
        )

    def _answers(self, grounds: Grounds, ensemble: Ensemble, entry: int) -> str:
        duty = ensemble.write_set(entry)
        silent = set(duty) - grounds.denied - grounds.found - grounds.unsure
        parts = (
            ("no such entry", grounds.denied),
            ("the entry", grounds.found),
            ("an error", grounds.unsure),
            ("nothing", silent),
        )
        said = [
            f"{what} from {listed(self.run.bookie_name(bookie) for bookie in duty if bookie in bookies)}"
            for what, bookies in parts
            if bookies.intersection(duty)
        ]
        return f"to {self.run.source_name(grounds.source)} about entry {entry}: {'; '.join(said)}"

    def _fenced_too_few(self, case: AssessedClose) -> Finding:
        close = case.close
        ensemble = close.ensembles[-1]
        ended = [grounds for grounds in case.recoverers if grounds.ends(close)]
        return self.run.finding(
            f"recovery/{FENCED_TOO_FEW}",
            (close.ledger,),
            f"closed at {close.version.last_entry} while an ack quorum was not known to be fenced",
            *_closed(case, self.run),
            *(self._fencing(grounds, ensemble) for grounds in ended),
        )

    def _fencing(self, grounds: Grounds, ensemble: Ensemble) -> str:
        known = [self.run.bookie_name(bookie) for bookie in sorted(grounds.known)]
        unknown = [self.run.bookie_name(bookie) for bookie in sorted(ensemble.unknown(grounds.known))]
        return (
            f"{self.run.source_name(grounds.source)} went on by {self.run.time_text(grounds.went_on_ns)} "
            f"with answers to fencing from {listed(known) or 'no bookie'}; unknown in one write set: "
            f"{listed(unknown)} (AQ {ensemble.quorums.ack})"
        )

    def _not_written_back(self, case: AssessedClose) -> Iterator[Finding]:
        close, ack = case.close, case.close.version.shape[2]
        closer = _closer(case)
        source = self.run.source_name(closer.source)
        for row in closer.unstored:
            ledger, first, last, count, (_, _, *words) = row
            given, stored = bookies_in(words[:BOOKIE_WORDS]), bookies_in(words[BOOKIE_WORDS:])
            yield self.run.finding(
                f"recovery/{NOT_WRITTEN_BACK}",
                (ledger, first, last, count),
                f"closed at {close.version.last_entry} before "
                f"{entries_text(first, last)} had been written back to an ack quorum",
                *_closed(case, self.run),
                f"{source} was given entry {first} by {self._bookies(given)} in a recovery read",
                f"recovery adds of entry {first} were acknowledged to {source} by "
                f"{self._bookies(stored)} (AQ {ack})",
            )

    def _not_read(self, case: AssessedClose) -> Iterator[Finding]:
        close, closer = case.close, _closer(case)
        source = self.run.source_name(closer.source)
        for first, last in closer.skipped:
            yield self.run.finding(
                f"recovery/{NOT_READ}",
                (close.ledger, first, last),
                f"closed at {close.version.last_entry} without a read of {entries_text(first, last)}",
                *_closed(case, self.run),
                f"the highest LAC that an answer to fencing brought {source} is {closer.lac}",
                f"no positive answer to a recovery read of entry {first} had reached {source} by then",
            )

    def _bookies(self, numbers: Iterable[int]) -> str:
        return listed(self.run.bookie_name(number) for number in numbers) or "no bookie"

    def _unread(self, row: Row) -> Finding:
        ledger, first, last, count, (number, sent_ns) = row
        source = self.run.source_name(number)
        return self.run.finding(
            f"recovery/{WROTE_BACK_UNREAD}",
            (ledger, first, last, count),
            f"{source} wrote back {entries_text(first, last)} that no bookie had given it",
            f"{source} sent a recovery add of entry {first}, at the proxy by {self.run.time_text(sent_ns)}",
            f"no positive answer to a read of entry {first} had been passed on to {source} by then",
        )


def _closer(case: AssessedClose) -> Grounds:
    """The first recoverer that had the answers for the end and for fencing."""
    return next(one for one in case.recoverers if one.ends(case.close) and one.fences(case.close))


def _by_source(rows: Iterable[Row]) -> dict[int, dict[int, list[Row]]]:
    """Rows whose proofs begin with the number of a close and a source, by both."""
    found: dict[int, dict[int, list[Row]]] = {}
    for row in rows:
        found.setdefault(row.proof[0], {}).setdefault(row.proof[1], []).append(row)
    return found


def _closed(case: AssessedClose, run: RunFacts) -> Iterator[str]:
    version = case.close.version
    when = "" if version.latest_ns == NEVER else f", in force by {run.time_text(version.latest_ns)}"
    yield f"{version.closed_text} after IN_RECOVERY{when}"


def _notes(recoveries: _Recoveries, beside: Iterable[Difference], run: RunFacts) -> Iterator[str]:
    if not run.wire:
        yield "the run kept no wire log, so what recoverers received is unknown"
        return
    unseen = [case.close.ledger for case in recoveries.cases if case.assessment is Assessment.UNSEEN]
    if unseen:
        yield (
            f"{counted(len(unseen), 'close')} after a recovery of which no frame or not every version was "
            f"seen, first {run.ledger_text(unseen[0])}"
        )
    for difference in beside:
        if difference.number:
            yield f"differs from BP-46: {difference.text}"
