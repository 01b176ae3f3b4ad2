"""Whether a close by recovery was legal on the answers that had reached a recoverer before it.

No record names the client that wrote CLOSED. It was legal if a single recoverer had the answers for it, or
if the writer may have written it itself, or a bookie whose answers to itself cross no link. Source: *Closing
Ledgers Safely*; ``ReadLastConfirmedOp``, ``PendingReadOp`` and ``RRQuorumCoverageSet`` of the client.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from checkers.found import Row
from checkers.recovery.closes import Close
from checkers.recovery.link_events import LAC, LinkEvent, LinkEvents
from checkers.recovery.writers import Writers
from protocol.addresses import MAX_BOOKIES


class Assessment(Enum):
    """What became of one close; the first four are no anomaly."""

    LEGAL = "legal"
    BY_WRITER = "the writer may have closed it itself"
    BY_BOOKIE = "a bookie may have closed it on its own answers"
    UNSEEN = "not seen"
    ENDED_TOO_SOON = "ended_too_soon"
    FENCED_TOO_FEW = "fenced_too_few"
    NOT_WRITTEN_BACK = "not_written_back"
    NOT_READ = "not_read"


@dataclass(frozen=True, slots=True)
class Grounds:
    """What may have reached one recoverer of one close, by bookies' numbers.

    ``denied``, ``found`` and ``unsure`` are about the entry after the end, until the close;
    ``fenced`` are answers EOK and ``fenced_empty`` explicit negatives to fencing, until ``went_on_ns``.
    ``own`` is the recoverer itself where it is a bookie: its answers to itself cross no link.
    ``unstored`` are rows of :func:`checkers.recovery.written.unstored_rows`: entries that it had been given
    by recovery reads until the close, and whose adds fewer than AQ bookies had acknowledged by then.
    ``skipped`` are the entries (first, last) between ``lac``, the highest that an answer to fencing gave it,
    and the end that no recovery read had given it until the close.
    """

    source: int
    denied: frozenset[int]
    found: frozenset[int]
    unsure: frozenset[int]
    fenced: frozenset[int]
    fenced_empty: frozenset[int]
    own: frozenset[int]
    unstored: Sequence[Row]
    skipped: Sequence[tuple[int, int]]
    lac: int
    went_on_ns: int

    def ends(self, close: Close) -> bool:
        """Whether the entry after the end was denied by enough bookies of its write set."""
        denied = self.denied | self.own
        return any(ensemble.ended_by(denied, close.beyond) for ensemble in close.ensembles)

    def fences(self, close: Close) -> bool:
        """Whether no ack quorum was left unknown when it went on from fencing."""
        return any(ensemble.fenced_by(self.known) for ensemble in close.ensembles)

    @property
    def known(self) -> frozenset[int]:
        """The bookies that may have answered its fencing with anything but an error."""
        return self.fenced | self.fenced_empty | self.own


@dataclass(frozen=True, slots=True)
class AssessedClose:
    """A close with its assessment; ``closer`` is the recoverer that had the grounds, where one had."""

    close: Close
    assessment: Assessment
    recoverers: tuple[Grounds, ...] = ()
    closer: Grounds | None = None


def decided(
    close: Close,
    told: LinkEvents,
    writers: Writers,
    clients: Collection[int],
    unstored: Mapping[int, Sequence[Row]],
    given: Mapping[int, Sequence[Row]],
) -> AssessedClose:
    """Rule on one close.

    ``clients`` are the bookies that run a client and may recover by themselves; ``unstored`` and ``given``
    (rows of :func:`checkers.recovery.written.given_rows`) are by source.
    """
    if not close.ensembles:
        return AssessedClose(close, Assessment.UNSEEN)
    recoverers = tuple(
        _grounds(close, source, told, unstored.get(source, ()), given.get(source, ()))
        for source in told.recoverers(close.ledger)
    )
    ended = [grounds for grounds in recoverers if grounds.ends(close)]
    fenced = [grounds for grounds in ended if grounds.fences(close)]
    closer = next((grounds for grounds in fenced if not (grounds.unstored or grounds.skipped)), None)
    if closer is not None:
        assessment = Assessment.LEGAL
    elif writers.may_have_closed(
        close.ledger,
        close.version.last_entry,
        after_ns=close.began_ns,
        by_ns=close.by_ns,
        write_quorum=close.version.shape[1],
    ):
        assessment = Assessment.BY_WRITER
    elif any(_alone(close, bookie) for bookie in clients):
        assessment = Assessment.BY_BOOKIE
    elif not recoverers:
        assessment = Assessment.UNSEEN
    else:
        fewer = Assessment.FENCED_TOO_FEW if ended else Assessment.ENDED_TOO_SOON
        lacking = Assessment.NOT_WRITTEN_BACK if fenced and fenced[0].unstored else Assessment.NOT_READ
        assessment = lacking if fenced else fewer
    return AssessedClose(close, assessment, recoverers, closer)


def _alone(close: Close, bookie: int) -> bool:
    """Whether a bookie's answers to itself would do for the whole recovery."""
    return any(
        ensemble.ended_by([bookie], close.beyond) and ensemble.fenced_by([bookie])
        for ensemble in close.ensembles
    )


def _grounds(
    close: Close, source: int, told: LinkEvents, unstored: Sequence[Row], given: Sequence[Row]
) -> Grounds:
    def heard(kind: LinkEvent, entry: int, by_ns: int) -> frozenset[int]:
        return told.from_bookies(close.ledger, kind, source, entry, by_ns)

    # Fencing was over when it read the entry after the end.
    went_on_ns = told.last_read_ns(close.ledger, source, close.beyond, close.by_ns)
    lac = told.highest_lac(close.ledger, source, close.by_ns)
    return Grounds(
        source=source,
        denied=heard(LinkEvent.DENIED, close.beyond, close.by_ns),
        found=heard(LinkEvent.FOUND, close.beyond, close.by_ns),
        unsure=heard(LinkEvent.UNSURE, close.beyond, close.by_ns),
        fenced=heard(LinkEvent.FENCED, LAC, went_on_ns),
        fenced_empty=heard(LinkEvent.FENCED_EMPTY, LAC, went_on_ns),
        own=frozenset({source} if source <= MAX_BOOKIES else ()),
        unstored=unstored,
        skipped=_skipped(close, source, lac, given),
        lac=lac,
        went_on_ns=went_on_ns,
    )


def _skipped(close: Close, source: int, lac: int, given: Sequence[Row]) -> Sequence[tuple[int, int]]:
    """The entries from the LAC to the end that no recovery read gave a client; none without a LAC.

    A recovering bookie may have read the entries from itself, and have a LAC that no answer carried.
    """
    if lac < 0 or source <= MAX_BOOKIES:
        return ()
    found, entry = [], max(lac + 1, close.last_fragment)
    for row in given:
        if row.first > entry:
            found.append((entry, row.first - 1))
        entry = max(entry, row.last + 1)
    return [*found, (entry, close.version.last_entry)] if entry <= close.version.last_entry else found
