"""Closing: a close never cuts off what was promised, and a ledger has one end.

Sources: *Closing Ledgers Safely*, the replication protocol ("Closing a ledger"), the fencing
document ("persistence"). Loss itself is :mod:`checkers.durability.checker`; this property speaks of the
decision that was written to the metadata. A close that was made upon metadata which a fault of the run had
put back in time is no anomaly; such ledgers are named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from checkers.contract import Batch, LedgerFact, LedgerFacts, Rows, RunFacts, value_at
from checkers.facts.alterations import put_back_notes
from checkers.facts.histories import Histories
from checkers.facts.ledgers import HIGHEST_ACKED, HIGHEST_LAC, RELEASED, histories, operations_fact
from checkers.facts.parts import flagged
from checkers.facts.promises import (
    PROMISES,
    Promises,
    promise_proof,
    promise_rows,
    promised_by_lac,
    promised_in,
    promises_found,
)
from checkers.facts.versions import Version
from checkers.facts.wording import counted, entries_text, operation_text
from checkers.found import Found, capped, ledger_rows, set_rows
from checkers.sets.ordering import firsts
from checkers.sets.spans import LAST_ENTRY, Bools, Ints, Spans
from evidence.codes import NEVER, Flag, Kind, Outcome
from evidence.findings import Finding, Judgement, Verdict

_HANDLE = ("ledger", "client", "handle")
_FIRST = {"seq": "min", "completed_ns": "min"}


def _ok(kind: Kind, rows: Rows) -> Rows:
    return rows.of(kind=kind, outcome=Outcome.OK)


def _recovering(rows: Rows) -> Rows:
    opens = _ok(Kind.OPEN, rows)
    return opens.where(flagged(opens, Flag.RECOVERY))


CREATED = operations_fact("created", partial(_ok, Kind.CREATE), key=_HANDLE)
"""The handles that created a ledger. Only their close says where it ends: a reader's says nothing of it."""
CLOSED = operations_fact("closed", partial(_ok, Kind.CLOSE), key=(*_HANDLE, "result"), values=_FIRST)
"""By handle and last entry: the first close that ended ok, and when the first answer came."""
RECOVERED = operations_fact("recovered", _recovering, key=("ledger", "client", "result"), values=_FIRST)
"""By client and last entry: the first open with recovery that ended ok."""


_CLOSED, _RECOVERED = "got ok for its close at", "recovered it and received its end"


class Report(NamedTuple):
    """A client received a ledger's last entry: its number, the first operation, the first answer (ns)."""

    ledger: int
    client: int
    end: int
    seq: int
    completed_ns: int
    how: str


class Reports:
    """What clients received of the ends of ledgers: the closes of writers, then recoveries."""

    def __init__(self, facts: LedgerFacts) -> None:
        closed, recovered = facts.columns(CLOSED), facts.columns(RECOVERED)
        written = _among(closed, facts.columns(CREATED))
        self._closes = int(written.sum())
        names = ("ledger", "client", "result", "seq", "completed_ns")
        self._columns = [np.concatenate([closed[name][written], recovered[name]]) for name in names]
        self.ledger, _, self.end, _, self.completed_ns = self._columns

    def of(self, ledgers: Iterable[int]) -> Iterator[Report]:
        """Those of some ledgers, in their order."""
        wanted = np.isin(self.ledger, np.array(sorted(ledgers), dtype=np.int64))
        for row in np.flatnonzero(wanted).tolist():
            ledger, client, end, seq, at_ns = (int(column[row]) for column in self._columns)
            yield Report(ledger, client, end, seq, at_ns, _CLOSED if row < self._closes else _RECOVERED)


def _among(rows: Mapping[str, Ints], keys: Mapping[str, Ints]) -> Bools:
    """Which rows have a handle that is among the keys."""
    both = np.concatenate([np.stack([columns[name] for name in _HANDLE], axis=1) for columns in (rows, keys)])
    numbers = np.unique(both, axis=0, return_inverse=True)[1].reshape(-1)
    number = len(rows["ledger"])
    return np.isin(numbers[:number], numbers[number:])


class Closing:
    """Finds a CLOSED below an obliged entry, two ends of one ledger, and an ok close that was not written."""

    name = "closing"
    tables: tuple[str, ...] = ("operations", "ledgers")
    kinds: tuple[str, ...] = ("closed_below", "two_ends", "closed_unwritten")
    facts: tuple[LedgerFact, ...] = (*PROMISES, CREATED, CLOSED, RECOVERED)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:  # noqa: ARG002  # by contract
        """Promised entries above the lowest close of their ledger; how many others are above its LAC."""
        promised = promised_in(batch, facts)
        below = promised.above(lowest_ends(facts, promised.ledger))
        beyond_lac = promised.above(facts.at(HIGHEST_LAC, "lac", promised.ledger, missing=-1))
        first, last = beyond_lac.first, beyond_lac.last
        return Found.of(
            set_rows("closed_below", below),
            *promise_rows(batch, below),
            ledger_rows("promised", beyond_lac.ledger, first, last, count=last - first + 1),
        )

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs a CLOSED version of every ledger that has a promised entry."""
        metadata, reports = facts.once(histories), facts.once(Reports)
        by_lac, beyond_lac = promised_by_lac(facts), found.by_ledger("promised")
        ledgers = sorted({*by_lac.ledgers(), *(row.ledger for row in beyond_lac)})
        still_open = [ledger for ledger in ledgers if _is_open(ledger, metadata, facts)]
        entries = found.spans("closed_below") | by_lac.above(lowest_ends(facts, by_lac.ledger))
        below = list(_closed_below(entries, promises_found(found), facts, run))
        two = list(_two_ends(reports, metadata, run))
        lacking = run.shortcomings(self.tables)
        unwritten = [] if lacking else list(_unwritten(reports, metadata, run))
        verdict = Verdict.VALID if metadata.closes and not still_open and not lacking else Verdict.UNKNOWN
        notes = [*lacking]
        if still_open:
            notes.append(
                f"{counted(len(still_open), 'promised ledger')} never seen CLOSED, "
                f"first {run.ledger_text(still_open[0])}"
            )
        promised = by_lac.count() + sum(row.number for row in beyond_lac)
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if below or two or unwritten else verdict,
            needed="whole evidence, and a CLOSED version of every ledger with a promised entry",
            seen={"closed_ledgers": len(metadata.closes), "promised": promised},
            findings=capped([*below, *two, *unwritten]),
            counts={
                "closed_below": entries.count(),
                "two_ends": len(two),
                "closed_unwritten": len(unwritten),
            },
            notes=(*notes, *put_back_notes(metadata, run)),
            undecided=tuple(still_open),
        )


def _is_open(ledger: int, metadata: Histories, facts: LedgerFacts) -> bool:
    """Whether a ledger was neither seen CLOSED nor deleted by a client or by a fault of the run."""
    removed = ledger in metadata.gone and metadata.gone[ledger].put_back
    return ledger not in metadata.ends and not facts.of(RELEASED, ledger) and not removed


def lowest_ends(facts: LedgerFacts, ledger: Ints) -> Ints:
    """For each of these ledgers, the last entry of its lowest close; ``LAST_ENTRY`` where there is none."""
    return value_at(*facts.once(_lowest_ends), ledger, missing=LAST_ENTRY)


def _lowest_ends(facts: LedgerFacts) -> tuple[Ints, Ints]:
    """Ledgers, ascending, and the last entries of their lowest closes."""
    metadata = facts.once(histories)
    columns, closed = metadata.plain.columns, metadata.plain.closed
    ledger, end = columns["ledger"][closed], columns["last_entry"][closed]
    closes = facts.once(_lowest_closes)
    plain = ~np.isin(ledger, np.array([*closes], dtype=np.int64))
    ledger = np.append(ledger[plain], [ledger for ledger, version in closes.items() if version])
    end = np.append(end[plain], [version.last_entry for version in closes.values() if version])
    first = firsts(ledger, end)
    return ledger[first].astype(np.int64), end[first].astype(np.int64)


def _lowest_closes(facts: LedgerFacts) -> Mapping[int, Version | None]:
    """The lowest close of each ledger that was released, or whose metadata is odd."""
    metadata, released_ns = facts.once(histories), facts.columns(RELEASED)
    released = dict(zip(released_ns["ledger"].tolist(), released_ns["invoked_ns"].tolist(), strict=True))
    reported = {
        (report.ledger, report.end)
        for report in facts.once(Reports).of(released)
        if report.completed_ns < released[report.ledger]
    }
    ledgers = sorted({*metadata.odd_of, *released})
    return {
        ledger: _lowest_close(ledger, _of_bookkeeper(ledger, metadata), released.get(ledger), reported)
        for ledger in ledgers
    }


def _closed_below(entries: Spans, promises: Promises, facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    """Promised entries above the lowest CLOSED version that was in force before any delete was invoked."""
    metadata, special = facts.once(histories), facts.once(_lowest_closes)
    for ledger, first, last in entries:
        version = special.get(ledger) or _lowest_close(ledger, metadata.of[ledger], None, ())
        assert version is not None  # noqa: S101  # entries are above its last entry
        yield run.finding(
            "closing/closed_below",
            (ledger, first, last),
            f"closed at {version.last_entry}, below {entries_text(first, last)} that had been promised",
            version.closed_text,
            *_highest(facts, ledger, run),
            *promise_proof(promises, (ledger, first, last), facts, run),
        )


def _of_bookkeeper(ledger: int, histories: Histories) -> tuple[Version, ...]:
    """The versions that were not made upon metadata which a fault of the run had put back."""
    chain = histories.of.get(ledger, ())
    if not histories.behind:
        return chain
    return tuple(version for version in chain if version not in histories.behind)


def _lowest_close(
    ledger: int,
    chain: tuple[Version, ...],
    released_ns: int | None,
    reported: Collection[tuple[int, int]],
) -> Version | None:
    """The metadata store keeps whole milliseconds; a client that received an end knows its time better."""
    closes = [version for version in chain if version.closed]
    if released_ns is not None:
        closes = [
            version
            for version in closes
            if version.latest_ns < released_ns or (ledger, version.last_entry) in reported
        ]
    return min(closes, key=lambda version: (version.last_entry, version.version), default=None)


def _highest(facts: LedgerFacts, ledger: int, run: RunFacts) -> Iterator[str]:
    for _, entry, client, seq in facts.of(HIGHEST_ACKED, ledger):
        to = f"{run.client_name(client)} ({operation_text(seq)})"
        yield f"the highest entry acknowledged is {entry}, to {to}"


def _at_odds(reports: Reports, metadata: Histories) -> Iterator[int]:
    """Ledgers that are not odd, for which metadata and clients have more than one last entry."""
    closes = metadata.all_closes
    ledger = np.concatenate([closes["ledger"], reports.ledger])
    end = np.concatenate([closes["last_entry"], reports.end])
    numbers, counts = np.unique(np.unique(np.stack([ledger, end], axis=1), axis=0)[:, 0], return_counts=True)
    yield from (number for number in numbers[counts > 1].tolist() if number not in metadata.odd_of)


def _two_ends(reports: Reports, metadata: Histories, run: RunFacts) -> Iterator[Finding]:
    """Ledgers for which metadata and clients have more than one last entry."""
    sources: dict[int, dict[int, str]] = {}
    suspects = sorted((*metadata.odd_of, *_at_odds(reports, metadata)))
    for ledger in suspects:
        for version in _of_bookkeeper(ledger, metadata):
            if version.closed:
                said = version.closed_text
                sources.setdefault(ledger, {}).setdefault(version.last_entry, said)
    for report in reports.of(suspects):
        if report.ledger in metadata.put_back:
            continue  # Which of its chains the client received the end of is not known.
        said = f"{_received(report, run)} ({operation_text(report.seq)})"
        sources.setdefault(report.ledger, {}).setdefault(report.end, said)
    for ledger, ends in sorted(sources.items()):
        if len(ends) > 1:
            where = sorted(ends)
            yield run.finding(
                "closing/two_ends",
                (ledger, where[0] + 1, where[-1], 1),
                f"ends at {' and at '.join(map(str, where))}",
                *(ends[end] for end in where),
            )


def _received(report: Report, run: RunFacts) -> str:
    return f"{run.client_name(report.client)} {report.how} {report.end}"


def _perhaps_unwritten(reports: Reports, metadata: Histories) -> set[int]:
    """Odd ledgers, and those of which a client's ok came before any CLOSED version can have been in force."""
    plain = metadata.plain
    since_ns = np.full(len(plain.ledgers), NEVER, dtype=np.int64)
    place = np.searchsorted(plain.ledgers, plain.columns["ledger"][plain.closed])
    np.minimum.at(since_ns, place, plain.columns["earliest_ns"][plain.closed])
    known = np.isin(reports.ledger, plain.ledgers)
    ledger, at_ns = reports.ledger[known], reports.completed_ns[known]
    early = at_ns < since_ns[np.searchsorted(plain.ledgers, ledger)]
    return {*ledger[early].tolist(), *metadata.odd_of}


def _unwritten(reports: Reports, metadata: Histories, run: RunFacts) -> Iterator[Finding]:
    """Closes and recoveries that ended ok before any CLOSED version can have been in force."""
    for ledger in sorted(_perhaps_unwritten(reports, metadata)):
        if not metadata.seen_whole(ledger):
            continue
        closes = [version for version in metadata.of[ledger] if version.closed]
        first = min(closes, key=lambda version: version.earliest_ns, default=None)
        since_ns = first.earliest_ns if first else NEVER
        early = [report for report in reports.of([ledger]) if report.completed_ns < since_ns]
        if early:
            report = min(early, key=lambda one: (one.completed_ns, one.seq))
            said = _received(report, run)
            yield run.finding(
                "closing/closed_unwritten",
                (ledger,),
                f"{said} before CLOSED was written",
                f"{said} by {run.time_text(report.completed_ns)} ({operation_text(report.seq)})",
                f"{first.closed_text}, not in force before {run.time_text(first.earliest_ns)}"
                if first
                else "no version of the metadata is CLOSED",
            )
