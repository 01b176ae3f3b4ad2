"""Whether each close by recovery was legal on the answers that had reached a recoverer before it.

No record names the client that wrote CLOSED. It was legal if a single recoverer had the answers for it, or
if the writer may have written it itself, or a bookie whose answers to itself cross no link. Source: *Closing
Ledgers Safely*; ``ReadLastConfirmedOp``, ``PendingReadOp`` and ``RRQuorumCoverageSet`` of the client.

Where recoveries went by the client's rules and not by BP-46's stricter numbers is a note, never an anomaly.
BP-46 ("A note on Quorums") asks for AQ positive answers to recover an entry, gives up at QC answers that
are neither positive nor negative, asks for EC positive answers to fencing, and says that fencing cannot
be denied. The client takes one positive answer, asks on after errors, counts fencing by write sets,
and takes an explicit negative to fencing as an answer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from checkers.facts.histories import Histories
from checkers.judging.contract import RunFacts
from checkers.judging.found import Found, Row
from checkers.recovery.closes import Close
from checkers.recovery.frames import FENCING, READ, Links, Moment, Unstored, Written
from checkers.recovery.writers import Writers
from evidence.codes import EXPLICIT_NEGATIVES, Status
from protocol.addresses import MAX_BOOKIES
from protocol.quorums import Quorums
from protocol.wording import counted


class Assessment(StrEnum):
    """What became of one close; the first four are no anomaly."""

    LEGAL = "legal"
    BY_WRITER = "the writer may have closed it itself"
    BY_BOOKIE = "a bookie may have closed it on its own answers"
    UNSEEN = "not seen"
    ENDED_TOO_SOON = "ended_too_soon"
    FENCED_TOO_FEW = "fenced_too_few"
    NOT_WRITTEN_BACK = "not_written_back"
    NOT_READ = "not_read"
    CLOSED_BELOW_LAC = "closed_below_lac"


@dataclass(frozen=True, slots=True)
class Grounds:
    """What may have reached one recoverer of one close; sets are of bookies' numbers."""

    source: int
    denied: frozenset[int]
    """Until the close, about the entry after the end; the same for ``found`` and ``unsure``."""
    found: frozenset[int]
    unsure: frozenset[int]
    fenced: frozenset[int]
    """Answered EOK to fencing until ``went_on_ns``."""
    fenced_empty: frozenset[int]
    """Answered an explicit negative to fencing until ``went_on_ns``."""
    unstored: Sequence[Unstored]
    """Entries that recovery reads had given it until the close, from where it began, and whose adds fewer
    than AQ bookies had acknowledged by then.
    """
    skipped: Sequence[tuple[int, int]]
    """Entries (first, last) from where it began to the end that no recovery read had given it by then."""
    lac: int
    """The highest that an answer to fencing gave it."""
    needed: Mapping[int, int]
    """Bookie -> its LAC, of answers to fencing of which it must have had one when its fencing was over; empty
    where it may have gone on with other answers alone.
    """
    went_on_ns: int

    @property
    def own(self) -> frozenset[int]:
        """The recoverer itself where it is a bookie: its answers to itself cross no link."""
        return frozenset({self.source} if self.source <= MAX_BOOKIES else ())

    @property
    def known(self) -> frozenset[int]:
        """The bookies that may have answered its fencing with anything but an error."""
        return self.fenced | self.fenced_empty | self.own

    def ends(self, close: Close) -> bool:
        """Whether the entry after the end was denied by enough bookies of its write set."""
        denied = self.denied | self.own
        return any(ensemble.ended_by(denied, close.beyond) for ensemble in close.ensembles)

    def lacks(self, close: Close) -> bool:
        """Whether it did not do all that the answers asked for before it closed."""
        return bool(self.unstored or self.skipped or self.is_below(close))

    def is_below(self, close: Close) -> bool:
        """Whether the end is below the LAC with which its recovery must have begun."""
        return min(self.needed.values(), default=-1) > close.version.last_entry

    def fences(self, close: Close) -> bool:
        """Whether no ack quorum was left unknown when it went on from fencing."""
        return any(ensemble.fenced_by(self.known) for ensemble in close.ensembles)


@dataclass(frozen=True, slots=True)
class AssessedClose:
    """A close with its assessment; ``closer`` is the first recoverer with the answers for end and fencing.

    Of a legal close it is the first that also read and wrote back what it had to.
    """

    close: Close
    assessment: Assessment
    recoverers: tuple[Grounds, ...] = ()
    closer: Grounds | None = None


def decided(
    number: int, close: Close, links: Links, writers: Writers, clients: Collection[int]
) -> AssessedClose:
    """Rule on one close; ``clients`` are the bookies that run a client and may recover by themselves."""
    if not close.ensembles:
        return AssessedClose(close, Assessment.UNSEEN)
    recoverers = tuple(_grounds(number, close, source, links) for source in links.recoverers(close.ledger))
    ended = [grounds for grounds in recoverers if grounds.ends(close)]
    fenced = [grounds for grounds in ended if grounds.fences(close)]
    closer = next((grounds for grounds in fenced if not grounds.lacks(close)), None)
    # A bookie's answers to itself may do for the whole recovery.
    by_bookie = (
        ensemble.ended_by([bookie], close.beyond) and ensemble.fenced_by([bookie])
        for bookie in clients
        for ensemble in close.ensembles
    )
    if closer is not None:
        assessment = Assessment.LEGAL
    elif writers.may_have_closed(close.version, close.began_ns):
        assessment = Assessment.BY_WRITER
    elif any(by_bookie):
        assessment = Assessment.BY_BOOKIE
    elif not recoverers:
        assessment = Assessment.UNSEEN
    elif fenced:
        lacking = Assessment.NOT_READ if fenced[0].skipped else Assessment.CLOSED_BELOW_LAC
        assessment = Assessment.NOT_WRITTEN_BACK if fenced[0].unstored else lacking
    else:
        assessment = Assessment.FENCED_TOO_FEW if ended else Assessment.ENDED_TOO_SOON
    return AssessedClose(close, assessment, recoverers, closer or next(iter(fenced), None))


def _grounds(number: int, close: Close, source: int, links: Links) -> Grounds:
    moments = [one for one in links.moments.get((close.ledger, source), ()) if one.at_ns <= close.by_ns]
    reads = [one for one in moments if one.kind == READ and one.entry == close.beyond]
    fences = [one for one in moments if one.kind == FENCING]
    lac = max((one.lac for one in fences if one.status == Status.EOK), default=-1)
    since = max(lac + 1, close.last_fragment)  # no recovery needs the entries before
    # A recovering bookie may have read the entries from itself, and have a LAC that no answer carried.
    known = lac >= 0 and source > MAX_BOOKIES
    went_on_ns = _went_on_ns(close, moments)
    fences = [one for one in fences if one.at_ns <= went_on_ns]
    return Grounds(
        source=source,
        denied=_bookies(reads, EXPLICIT_NEGATIVES),
        found=_bookies(reads, [Status.EOK]),
        unsure=frozenset(
            one.bookie for one in reads if one.status not in (Status.NONE, Status.EOK, *EXPLICIT_NEGATIVES)
        ),
        fenced=_bookies(fences, [Status.EOK]),
        fenced_empty=_bookies(fences, EXPLICIT_NEGATIVES),
        unstored=Unstored.from_rows(links.unstored.get((number, source), ()), since),
        skipped=_skipped(close, since, links.given.get((number, source), ())) if known else (),
        lac=lac,
        needed=_needed(close, source, fences),
        went_on_ns=went_on_ns,
    )


def _went_on_ns(close: Close, moments: Sequence[Moment]) -> int:
    """When a recoverer's fencing was over: it read then.

    Where it asked a bookie to fence more than once, or one of another ensemble, it tried more than once. Then
    each answer may belong to any try, and its fencing was over when it last read the entry after the end.
    """
    asked = [one for one in moments if one.status == Status.NONE]
    fences = [one.bookie for one in asked if one.kind == FENCING]
    once = len(fences) == len({*fences}) and any({*fences} <= {*named.last} for named in close.ensembles)
    reads = [one for one in asked if one.kind == READ and (once or one.entry == close.beyond)]
    times = [one.at_ns for one in reads] or [close.by_ns]
    return min(times) if once else max(times)


def _bookies(moments: Iterable[Moment], status: Collection[Status]) -> frozenset[int]:
    """The bookies that answered so."""
    return frozenset(one.bookie for one in moments if one.status in status)


def _needed(close: Close, source: int, fences: Sequence[Moment]) -> Mapping[int, int]:
    """The answers with the highest LACs without which the others would not have ended a recoverer's fencing.

    It begins at the highest LAC of the answers that ended its fencing. An answer that was passed on before
    may have come after. Where it tried more than once, each answer may belong to any try.
    """
    answered = [one for one in fences if one.status in (Status.EOK, *EXPLICIT_NEGATIVES)]
    for lac in sorted({one.sure_lac for one in answered} - {-1}, reverse=True):
        lower = {one.bookie for one in answered if one.sure_lac < lac} | {source}
        if not any(ensemble.fenced_by(lower) for ensemble in close.ensembles):
            given = [(one.bookie, -one.sure_lac) for one in answered if one.sure_lac >= lac]
            return {bookie: -least for bookie, least in sorted(given)}
    return {}


def _skipped(close: Close, since: int, given: Sequence[Row]) -> Sequence[tuple[int, int]]:
    """The entries from ``since`` to the end that no recovery read gave a client."""
    found, entry = [], since
    for row in given:
        if row.first > entry:
            found.append((entry, row.first - 1))
        entry = max(entry, row.last + 1)
    return [*found, (entry, close.version.last_entry)] if entry <= close.version.last_entry else found


class Difference(NamedTuple):
    """One rule of BP-46 that recoveries did without: how often, and a sentence with the first example."""

    name: str
    number: int
    text: str


DIFFERENCES = (
    "found_by_fewer_than_AQ",
    "found_beside_QC_unknown",
    "fenced_by_fewer_than_EC",
    "fencing_denied",
)


def differences(
    cases: Collection[AssessedClose], found: Found, metadata: Histories, run: RunFacts
) -> list[Difference]:
    """One for each of ``DIFFERENCES``; ``found`` has :func:`checkers.recovery.frames.written_rows`.

    Recoverers inside a bookie are left out: what the bookie answers itself is not seen.
    """

    def quorums(row: Row) -> Quorums:
        return Quorums(*metadata.versions[row.ledger][-1].shape)

    def entry(row: Row) -> str:
        return f"entry {row.first} of {run.ledger_text(row.ledger)}"

    few = [
        f"{entry(row)} was recovered on {counted(Written(*row.proof).answers, 'positive answer')}; "
        f"BP-46 asks for {quorums(row).ack} (AQ)"
        for row in found.firsts("few", 1)
    ]
    many = [
        f"{entry(row)} was recovered beside unknown answers; "
        f"BP-46 makes no progress at {quorums(row).coverage} of them (QC)"
        for row in found.firsts("many", 1)
    ]
    little, denied = [], []
    legal = [(one.close, one.closer) for one in cases if one.assessment is Assessment.LEGAL]
    for close, closer in ((close, closer) for close, closer in legal if closer and not closer.own):
        name, last = run.ledger_text(close.ledger), close.ensembles[-1]  # the one in recovery
        answers, wanted = len(closer.known & {*last.last}), last.quorums.ensemble_coverage
        if answers < wanted:
            text = f"{name} was fenced on {counted(answers, 'answer')}"
            little.append(f"{text}; BP-46 asks for {wanted} (EC)")
        if closer.fenced_empty:
            who = ", ".join(run.bookie_name(bookie) for bookie in sorted(closer.fenced_empty))
            text = f"{name}: {who} answered a fencing read with an explicit negative, which counted"
            denied.append(f"{text}; BP-46 says that there is none")
    entries = {kind: sum(row.number for row in found.firsts(kind, 1)) for kind in ("few", "many")}
    each = (
        (entries["few"], few, ("entry", "entries")),
        (entries["many"], many, ("entry", "entries")),
        (len(little), little, ("ledger",)),
        (len(denied), denied, ("ledger",)),
    )
    return [
        _difference(name, number, texts, *noun)
        for name, (number, texts, noun) in zip(DIFFERENCES, each, strict=True)
    ]


def _difference(name: str, number: int, texts: Sequence[str], *noun: str) -> Difference:
    """The first of some texts, and how many cases there are."""
    more = f" ({counted(number, *noun)} in all)" if number > 1 else ""
    return Difference(name, number, f"{texts[0]}{more}" if number else "")
