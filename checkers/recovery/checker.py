"""Recovery: a client that closes a ledger for its writer has the answers that allow it.

Sources: *Closing Ledgers Safely* ("Quorum Coverage", figures 7 to 10c), the replication protocol
("Closing a ledger as a reader"), BP-46 ("A note on Quorums"), the client's ``LedgerRecoveryOp``. A
recoverer is judged by the answers that may have reached it before its decision, forged ones included.
Each kind of finding rests on answers that did *not* come, so nothing is found where frames
may be missing. What BP-46 demands beyond the client's rules is a note, not an anomaly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from checkers.facts.ledgers import histories
from checkers.facts.versions import Version
from checkers.facts.wire import LOGGED
from checkers.facts.wording import entries_text
from checkers.judging.checker import Checker
from checkers.judging.contract import Batch, LedgerFacts, RunFacts
from checkers.judging.found import Found, Row
from checkers.recovery.closes import Close, Ensemble, closes_by_recovery, closes_from_open
from checkers.recovery.frames import (
    BESIDE,
    CHOSEN,
    Links,
    Written,
    forged,
    moment_rows,
    read_rows,
    went_by_entries,
    written_rows,
)
from checkers.recovery.grounds import (
    DIFFERENCES,
    AssessedClose,
    Assessment,
    Difference,
    Grounds,
    decided,
    differences,
)
from checkers.recovery.writers import ADDS_SENT, HANDLES, Writers
from evidence.codes import NEVER
from evidence.findings import Finding, Judgement
from protocol.addresses import MAX_BOOKIES
from protocol.wording import counted

_WROTE_BACK_UNREAD = "wrote_back_unread"
_NOT_IN_RECOVERY = "not_in_recovery"
_LACKING = (Assessment.NOT_WRITTEN_BACK, Assessment.NOT_READ, Assessment.CLOSED_BELOW_LAC)


class Recovery(Checker):
    """Finds a close without the answers for it, and an entry written back that no bookie had given."""

    name = "recovery"
    tables = ("frames", "ledgers", "operations")
    needed = "whole evidence with a wire log, and a recovery whose answers were seen, none unseen"
    kinds = (
        *(each.value for each in (Assessment.ENDED_TOO_SOON, Assessment.FENCED_TOO_FEW, *_LACKING)),
        _WROTE_BACK_UNREAD,
        _NOT_IN_RECOVERY,
    )
    figures = (
        "recoveries",
        "legal",
        "by_writer",
        "by_bookie",
        "unseen",
        "written_back",
        "forged_answers",
        *DIFFERENCES,
    )
    facts = (LOGGED, HANDLES, ADDS_SENT, BESIDE, CHOSEN)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
        """What decides closes by recovery, and entries that were written back otherwise than they may be."""
        closes = facts.memo(_closes)
        moments = [*moment_rows(batch.frames, closes), *read_rows(batch.frames, closes)] if closes else ()
        deciding = Found.from_tables(*moments, forged=forged(batch.frames))
        written = written_rows(batch.frames, facts.memo(histories), run.bookies)
        return Found.joined([deciding, written])

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs a recovery whose grounds crossed links, and none that was left unseen."""
        recoveries = _Recoveries(found, facts, run)
        assessments = Counter(case.assessment for case in recoveries.cases)
        judged = assessments[Assessment.LEGAL] or assessments[Assessment.UNSEEN]
        unfit = run.shortcomings(self.tables) or not run.wire
        findings = [] if unfit else list(recoveries.findings())
        lacking = run.shortcomings((*self.tables, "servers"))  # a writer's end, without which it is excused
        beside = differences(recoveries.cases, found, facts.memo(histories), run) if run.wire else []
        return self.judgement(
            run,
            findings,
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
            enough=assessments[Assessment.LEGAL] and not assessments[Assessment.UNSEEN],
            lacking=lacking,
            # Closes that the writer may have made itself show nothing about recoveries.
            idle=not run.wire or not (judged or lacking),
            notes=_notes(recoveries, beside, run),
            undecided=recoveries.unseen(),
        )


def _closes(facts: LedgerFacts) -> tuple[Close, ...]:
    """The closes by recovery, by ledger; with no bookie known by its number."""
    return tuple(closes_by_recovery(facts.memo(histories), {}))


class _Recoveries:
    """The cases of one run."""

    def __init__(self, found: Found, facts: LedgerFacts, run: RunFacts) -> None:
        self.run, self.found = run, found
        self.writers, links = Writers(facts, run), Links(found, went_by_entries(facts, run))
        guarded = {number for name, number in run.bookies.items() if name in run.guarded}
        asking = {one for one in facts.columns(LOGGED)["source"].tolist() if one <= MAX_BOOKIES}
        clients = sorted(guarded | asking)
        closes = enumerate(closes_by_recovery(facts.memo(histories), run.bookies))
        self.cases = [decided(number, close, links, self.writers, clients) for number, close in closes]
        self.unannounced = [
            version
            for version in closes_from_open(facts.memo(histories))
            if self.writers.cannot_have_closed(version)
        ]

    def unseen(self) -> list[int]:
        """The ledgers of closes that were not seen well enough."""
        return [case.close.ledger for case in self.cases if case.assessment is Assessment.UNSEEN]

    def findings(self) -> Iterator[Finding]:
        """The anomalies of all closes, in their order."""
        for case in self.cases:
            if case.assessment is Assessment.ENDED_TOO_SOON:
                yield self._ended_too_soon(case)
            elif case.assessment is Assessment.FENCED_TOO_FEW:
                yield self._fenced_too_few(case)
            elif case.assessment in _LACKING and case.closer:
                yield from self._not_written_back(case, case.closer)
                yield from self._not_read(case, case.closer)
                if case.closer.is_below(case.close):
                    yield self._below_lac(case, case.closer)
        yield from map(self._unread, self.found.firsts("unread", 1))
        yield from map(self._not_in_recovery, self.unannounced)

    def _of_close(
        self, kind: Assessment, case: AssessedClose, entries: Sequence[int], what: str, *proof: str
    ) -> Finding:
        """A finding about a close and some of its entries (first and last)."""
        version = case.close.version
        when = "" if version.latest_ns == NEVER else f", in force by {self.run.time_text(version.latest_ns)}"
        return self.run.finding(
            f"recovery/{kind}",
            (version.ledger, *entries),
            f"closed at {version.last_entry} {what}",
            f"{version.closed_text} after IN_RECOVERY{when}",
            *proof,
        )

    def _ended_too_soon(self, case: AssessedClose) -> Finding:
        entry, ensemble = case.close.beyond, case.close.ensembles[-1]
        quorums, top = ensemble.quorums, self.writers.last_acknowledged(case.close.ledger)
        return self._of_close(
            Assessment.ENDED_TOO_SOON,
            case,
            (entry, entry),
            f"while entry {entry} was not denied by enough bookies",
            f"entry {entry} would be on {self._bookies(ensemble.write_set(entry))}: "
            f"{quorums.coverage} of them must deny it (WQ {quorums.write}, AQ {quorums.ack})",
            *(self._answers(grounds, ensemble, entry) for grounds in case.recoverers),
            *([f"the last entry acknowledged to the writer is {top}"] if top >= 0 else []),
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
        answers = [
            f"{what} from {self._bookies(bookie for bookie in duty if bookie in bookies)}"
            for what, bookies in parts
            if bookies.intersection(duty)
        ]
        return f"to {self.run.source_name(grounds.source)} about entry {entry}: {'; '.join(answers)}"

    def _fenced_too_few(self, case: AssessedClose) -> Finding:
        ended = [grounds for grounds in case.recoverers if grounds.ends(case.close)]
        return self._of_close(
            Assessment.FENCED_TOO_FEW,
            case,
            (),
            "while an ack quorum was not known to be fenced",
            *(self._fencing(grounds, case.close.ensembles[-1]) for grounds in ended),
        )

    def _fencing(self, grounds: Grounds, ensemble: Ensemble) -> str:
        unknown = self._bookies(sorted(ensemble.unknown(grounds.known)))
        return (
            f"{self.run.source_name(grounds.source)} went on by {self.run.time_text(grounds.went_on_ns)} "
            f"with answers to fencing from {self._bookies(sorted(grounds.known))}; unknown in one write set: "
            f"{unknown} (AQ {ensemble.quorums.ack})"
        )

    def _not_written_back(self, case: AssessedClose, closer: Grounds) -> Iterator[Finding]:
        source = self.run.source_name(closer.source)
        for first, last, given, stored in closer.unstored:
            yield self._of_close(
                Assessment.NOT_WRITTEN_BACK,
                case,
                (first, last),
                f"before {entries_text(first, last)} had been written back to an ack quorum",
                f"{source} was given entry {first} by {self._bookies(given)} in a recovery read",
                f"recovery adds of entry {first} were acknowledged to {source} by "
                f"{self._bookies(stored)} (AQ {case.close.version.shape[2]})",
            )

    def _not_read(self, case: AssessedClose, closer: Grounds) -> Iterator[Finding]:
        source = self.run.source_name(closer.source)
        for first, last in closer.skipped:
            yield self._of_close(
                Assessment.NOT_READ,
                case,
                (first, last),
                f"without a read of {entries_text(first, last)}",
                f"the highest LAC that an answer to fencing brought {source} is {closer.lac}",
                f"no positive answer to a recovery read of entry {first} had reached {source} by then",
            )

    def _below_lac(self, case: AssessedClose, closer: Grounds) -> Finding:
        source, lac = self.run.source_name(closer.source), min(closer.needed.values())
        given = (f"LAC {one} from {self.run.bookie_name(bookie)}" for bookie, one in closer.needed.items())
        others = self._bookies(sorted(closer.known - {*closer.needed}))
        return self._of_close(
            Assessment.CLOSED_BELOW_LAC,
            case,
            (case.close.beyond, lac),
            f"below LAC {lac}, with which the recovery began",
            f"{source} went on by {self.run.time_text(closer.went_on_ns)} with these answers to fencing: "
            f"{', '.join(given)}",
            f"without them an ack quorum was not known to be fenced (answers of others: {others})",
        )

    def _not_in_recovery(self, version: Version) -> Finding:
        top = self.writers.last_acknowledged(version.ledger)
        return self.run.finding(
            f"recovery/{_NOT_IN_RECOVERY}",
            (version.ledger,),
            f"closed at {version.last_entry} by a client that neither wrote it nor had written IN_RECOVERY",
            f"metadata version {version.version - 1}: OPEN",
            version.closed_text,
            f"no writer had invoked a close by then, and every add was ok (the last: {top}) and was answered "
            "normally by every bookie of its write set",
        )

    def _bookies(self, numbers: Iterable[int]) -> str:
        return ", ".join(self.run.bookie_name(number) for number in numbers) or "no bookie"

    def _unread(self, row: Row) -> Finding:
        first, last, written = row.first, row.last, Written(*row.proof)
        source, sent = self.run.source_name(written.source), self.run.time_text(written.sent_ns)
        return self.run.finding(
            f"recovery/{_WROTE_BACK_UNREAD}",
            row,
            f"{source} wrote back {entries_text(first, last)} that no bookie had given it",
            f"{source} sent a recovery add of entry {first}, at the proxy by {sent}",
            f"no positive answer to a read of entry {first} had been passed on to {source} by then",
        )


def _notes(recoveries: _Recoveries, beside: Iterable[Difference], run: RunFacts) -> Iterator[str]:
    if not run.wire:
        yield "the run kept no wire log, so what recoverers received is unknown"
        return
    unseen = recoveries.unseen()
    if unseen:
        yield (
            f"{counted(len(unseen), 'close')} after a recovery of which no frame or not every version was "
            f"seen, first {run.ledger_text(unseen[0])}"
        )
    for difference in beside:
        if difference.number:
            yield f"differs from BP-46: {difference.text}"
