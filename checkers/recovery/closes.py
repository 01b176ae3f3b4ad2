"""The closes by recovery, and whether each was legal on the answers that had reached a recoverer before it.

A recoverer writes IN_RECOVERY, works with the metadata it then holds, and writes CLOSED; ensembles
that it changed itself appear in the closing version (``ReadOnlyLedgerHandle#closeRecovered``).

No record names the client that wrote CLOSED. It was legal if a single recoverer had the answers for it, or
if the writer may have written it itself, or a bookie whose answers to itself cross no link. Source: *Closing
Ledgers Safely*; ``ReadLastConfirmedOp``, ``PendingReadOp`` and ``RRQuorumCoverageSet`` of the client.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from checkers.facts.histories import Histories
from checkers.facts.versions import NOBODY, Version
from checkers.found import Row
from checkers.recovery.links import FENCING, READ, Links, bookies_that
from checkers.recovery.writers import Writers
from evidence.codes import EXPLICIT_NEGATIVES, Status
from protocol.addresses import MAX_BOOKIES, name_of_id
from protocol.metadata import LedgerState
from protocol.quorums import Quorums, fenced, fragment_of, unknown_in, unrecoverable


@dataclass(frozen=True, slots=True)
class Ensemble:
    """What one version names: ``readers`` is for the entry after the end, ``last`` is what fencing asks."""

    quorums: Quorums
    readers: tuple[int, ...]
    last: tuple[int, ...]

    def ended_by(self, denied: Collection[int], entry: int) -> bool:
        """Whether explicit negatives of these bookies end the ledger before ``entry``."""
        return unrecoverable(_positions(self.readers, denied), self.quorums, entry)

    def fenced_by(self, known: Collection[int]) -> bool:
        """Whether the answers of these bookies to fencing leave no ack quorum unknown."""
        return fenced(_positions(self.last, known), self.quorums)

    def unknown(self, known: Collection[int]) -> list[int]:
        """The bookies without an answer, of the write set that has the most of them."""
        return [self.last[position] for position in unknown_in(_positions(self.last, known), self.quorums)]

    def write_set(self, entry: int) -> list[int]:
        """The bookies whose duty the entry would be."""
        return [self.readers[position] for position in self.quorums.write_set(entry)]


def _positions(ensemble: tuple[int, ...], bookies: Collection[int]) -> list[int]:
    return [position for position, bookie in enumerate(ensemble) if bookie in bookies]


@dataclass(frozen=True, slots=True)
class Close:
    """A move from IN_RECOVERY to CLOSED, or what may have been such a move.

    ``began_ns`` is when the recovery's metadata was written at the earliest. ``last_fragment`` is the highest
    first entry of a last fragment in recovery: a recoverer takes the entries before it as confirmed.
    ``ensembles`` is empty where a version that matters was not seen or is malformed: such a close cannot be
    judged.
    """

    version: Version
    began_ns: int
    last_fragment: int
    ensembles: tuple[Ensemble, ...]

    @property
    def ledger(self) -> int:
        """The ledger that this version of the metadata closed."""
        return self.version.ledger

    @property
    def beyond(self) -> int:
        """The entry that must not be: the one after the end."""
        return self.version.last_entry + 1

    @property
    def by_ns(self) -> int:
        """When it was in force at the latest: what was decided for it was decided by then."""
        return self.version.latest_ns


def closes_by_recovery(histories: Histories, numbers: Mapping[str, int]) -> Iterator[Close]:
    """Every close of a ledger in recovery, by ledger and version; ``numbers`` are the bookies' by name."""
    for chains in histories.chains.values():
        for chain in chains:
            yield from _of_chain(chain, numbers)


def _of_chain(chain: tuple[Version, ...], numbers: Mapping[str, int]) -> Iterator[Close]:
    for at, (before, version) in enumerate(pairwise((None, *chain))):
        if version is None or not version.closed or version.put_back or (before and before.closed):
            continue
        unseen = version.version != (before.version + 1 if before else 0)
        if unseen or (before and before.state == LedgerState.IN_RECOVERY):
            versions = _in_recovery(chain[: at + 1])
            began_ns = min((seen.earliest_ns for seen in versions[1:]), default=0)
            last = max((seen.fragments[-1][0] for seen in versions[1:] if seen.fragments), default=0)
            yield Close(version, began_ns, last, _ensembles(versions, version.last_entry + 1, numbers))


def _in_recovery(chain: tuple[Version, ...]) -> list[Version]:
    """The closing version and those IN_RECOVERY before it; empty when one of them may be missing."""
    found = [chain[-1]]
    for version in reversed(chain[:-1]):
        if version.version != found[-1].version - 1:
            return []
        if version.state != LedgerState.IN_RECOVERY:
            return found
        found.append(version)
    return []


def _ensembles(versions: list[Version], entry: int, numbers: Mapping[str, int]) -> tuple[Ensemble, ...]:
    """What each version names for the entry, each once; nothing when one of them is malformed."""
    found: dict[Ensemble, None] = {}
    for version in versions:
        try:
            metadata = version.metadata()
            named = fragment_of(metadata.fragments, entry).bookies, metadata.fragments[-1].bookies
        except ValueError:  # an anomaly of `metadata`
            return ()
        if any(len(bookies) != metadata.quorums.ensemble for bookies in named):
            return ()
        readers, last = (tuple(numbers.get(name_of_id(one), NOBODY) for one in some) for some in named)
        found[Ensemble(metadata.quorums, readers, last)] = None
    return tuple(found)


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


@dataclass(frozen=True, slots=True)
class Grounds:
    """What may have reached one recoverer of one close, by bookies' numbers.

    ``denied``, ``found`` and ``unsure`` are about the entry after the end, until the close;
    ``fenced`` are answers EOK and ``fenced_empty`` explicit negatives to fencing, until ``went_on_ns``.
    ``unstored`` are rows of :func:`checkers.recovery.written.read_rows`: entries that it had been given
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
    unstored: Sequence[Row]
    skipped: Sequence[tuple[int, int]]
    lac: int
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

    def fences(self, close: Close) -> bool:
        """Whether no ack quorum was left unknown when it went on from fencing."""
        return any(ensemble.fenced_by(self.known) for ensemble in close.ensembles)


@dataclass(frozen=True, slots=True)
class AssessedClose:
    """A close with its assessment; ``closer`` is the recoverer that had the grounds, where one had."""

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
    closer = next((grounds for grounds in fenced if not (grounds.unstored or grounds.skipped)), None)
    if closer is not None:
        assessment = Assessment.LEGAL
    elif writers.may_have_closed(close.version, close.began_ns):
        assessment = Assessment.BY_WRITER
    elif any(_alone(close, bookie) for bookie in clients):
        assessment = Assessment.BY_BOOKIE
    elif not recoverers:
        assessment = Assessment.UNSEEN
    elif fenced:
        assessment = Assessment.NOT_WRITTEN_BACK if fenced[0].unstored else Assessment.NOT_READ
    else:
        assessment = Assessment.FENCED_TOO_FEW if ended else Assessment.ENDED_TOO_SOON
    return AssessedClose(close, assessment, recoverers, closer)


def _alone(close: Close, bookie: int) -> bool:
    """Whether a bookie's answers to itself would do for the whole recovery."""
    return any(
        ensemble.ended_by([bookie], close.beyond) and ensemble.fenced_by([bookie])
        for ensemble in close.ensembles
    )


def _grounds(number: int, close: Close, source: int, links: Links) -> Grounds:
    moments = links.until(close.ledger, source, close.by_ns)
    reads = [one for one in moments if one.kind == READ and one.entry == close.beyond]
    fences = [one for one in moments if one.kind == FENCING]
    lac = max((one.lac for one in fences if one.status == Status.EOK), default=-1)
    # Fencing was over when it read the entry after the end.
    went_on_ns = max((one.at_ns for one in reads if one.status == Status.NONE), default=close.by_ns)
    fences = [one for one in fences if one.at_ns <= went_on_ns and one.entry < 0]
    return Grounds(
        source=source,
        denied=bookies_that(reads, *EXPLICIT_NEGATIVES),
        found=bookies_that(reads, Status.EOK),
        unsure=bookies_that(reads),
        fenced=bookies_that(fences, Status.EOK),
        fenced_empty=bookies_that(fences, *EXPLICIT_NEGATIVES),
        unstored=links.unstored.get((number, source), ()),
        skipped=_skipped(close, source, lac, links.given.get((number, source), ())),
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
