"""Closing: a close never cuts off what was promised, and a ledger has one end.

Sources: *Closing Ledgers Safely*, the replication protocol ("Closing a ledger"), the fencing
document ("persistence"). Loss itself is :mod:`checkers.durability.checker`; this property speaks of the
decision that was written to the metadata. A close that was made upon metadata which a fault of ours had
put back in time accuses nobody; such ledgers are named.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.contract import Chunk, RunFacts
from checkers.facts.damage import shortcomings
from checkers.facts.histories import Histories, histories_of
from checkers.facts.obliged import (
    Promises,
    merge_promises,
    obliged,
    promise_proof,
    promises_of,
)
from checkers.facts.parts import flagged
from checkers.facts.putback import put_back_notes
from checkers.facts.versions import Version, Versions, scan_versions
from checkers.facts.wording import client_name, counted, entries_text, ledger_text, operation_text, time_text
from checkers.rows import Rows
from checkers.sets.capping import capped
from checkers.sets.folded import LEAST, Folded
from checkers.sets.spans import LAST_ENTRY, Spans
from evidence.codes import NEVER, Flag, Kind, Outcome
from evidence.findings import Finding, Judgement, Verdict

Told = tuple[int, int, int]
"""(ledger, client number, last entry)."""


_HANDLE = ("ledger", "client", "handle")


class Telling(NamedTuple):
    """A client was told ok: the first operation, and when the first answer came (ns on the run's clock)."""

    seq: int
    completed_ns: int


@dataclass(frozen=True, slots=True)
class Ends:
    """The summary: promises, metadata, and what clients were told of the ends of ledgers.

    ``written`` are the handles (ledger, client, handle) that created a ledger: only their close says
    where it ends (a reader's handle closes without a word about the ledger). ``closed`` has a telling
    for each handle and end, ``recovered`` for each ledger, client and end.
    """

    promises: Promises
    versions: Versions
    written: Folded
    closed: Folded
    recovered: Folded

    def told(self, ledgers: Iterable[int]) -> Iterator[tuple[Told, str, Telling]]:
        """Everyone who was told where one of these ledgers ends, by what, and when: closes first."""
        ledgers = sorted(ledgers)
        for ledger in ledgers:
            for _, client, handle, end, *telling in self.closed.of(ledger):
                if self.written.of(ledger, client, handle):
                    yield (ledger, client, end), "was told ok for its close at", Telling(*telling)
        for ledger in ledgers:
            for _, client, end, *telling in self.recovered.of(ledger):
                yield (ledger, client, end), "recovered it and was told its end", Telling(*telling)


class Closing:
    """Finds a CLOSED below an obliged entry, two ends of one ledger, and an ok close that was not written."""

    name = "closing"
    tables: tuple[str, ...] = ("operations", "ledgers")
    kinds: tuple[str, ...] = ("closed_below", "two_ends", "closed_unwritten")

    def scan(self, chunk: Chunk, run: RunFacts) -> Ends:  # noqa: ARG002  # as agreed
        """Promises, metadata and told ends of one chunk."""
        rows = chunk.operations
        creates, closes, opens = (
            rows.of(kind=kind, outcome=Outcome.OK) for kind in (Kind.CREATE, Kind.CLOSE, Kind.OPEN)
        )
        return Ends(
            promises=promises_of(chunk),
            versions=scan_versions(chunk),
            written=Folded.of_rows([creates[name] for name in _HANDLE]),
            closed=_told(closes, (*_HANDLE, "result")),
            recovered=_told(opens.where(flagged(opens, Flag.RECOVERY)), ("ledger", "client", "result")),
        )

    def merge(self, left: Ends, right: Ends) -> Ends:
        """Both."""
        return Ends(
            merge_promises(left.promises, right.promises),
            left.versions | right.versions,
            left.written | right.written,
            left.closed | right.closed,
            left.recovered | right.recovered,
        )

    def conclude(self, summary: Ends, run: RunFacts) -> Judgement:
        """Needs a CLOSED version of every ledger that anyone was promised something of."""
        histories = histories_of(summary.versions)
        promised = obliged(summary.promises, {}).entries
        below = list(_closed_below(summary, promised, histories, run))
        two = list(_two_ends(summary, histories, run))
        still_open = [
            ledger
            for ledger in promised.ledgers()
            if ledger not in histories.ends
            and ledger not in summary.promises.released
            and not (ledger in histories.gone and histories.gone[ledger].put_back)
        ]
        lacking = shortcomings(run, self.tables)
        unwritten = [] if lacking else list(_unwritten(summary, histories, run))
        verdict = Verdict.VALID if histories.closes and not still_open and not lacking else Verdict.UNKNOWN
        notes = [*lacking]
        if still_open:
            notes.append(
                f"{counted(len(still_open), 'promised ledger')} never seen CLOSED, "
                f"first {ledger_text(run, still_open[0])}"
            )
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if below or two or unwritten else verdict,
            needed="whole evidence, and a CLOSED version of every ledger with a promised entry",
            seen={"closed_ledgers": len(histories.closes), "promised": promised.count()},
            findings=capped([*below, *two, *unwritten]),
            counts={
                "closed_below": sum(finding.count for finding in below),
                "two_ends": len(two),
                "closed_unwritten": len(unwritten),
            },
            notes=(*notes, *put_back_notes(histories, run)),
            undecided=tuple(still_open),
        )


def _told(rows: Rows, key: tuple[str, ...]) -> Folded:
    """The tellings by these columns."""
    return Folded.of_rows([rows[name] for name in key], (rows["seq"], LEAST), (rows["completed_ns"], LEAST))


def _closed_below(ends: Ends, promised: Spans, histories: Histories, run: RunFacts) -> Iterator[Finding]:
    """Promised entries above the lowest CLOSED version that was in force before any delete was invoked."""
    released = ends.promises.released
    told = {
        (ledger, end)
        for (ledger, _, end), _, telling in ends.told(released)
        if telling.completed_ns < released[ledger]
    }
    lowest = {
        ledger: version
        for ledger in _perhaps_below(promised, histories, released)
        if (version := _lowest_close(ledger, _of_bookkeeper(ledger, histories), released.get(ledger), told))
    }
    beyond = promised & Spans.beyond({ledger: version.last_entry for ledger, version in lowest.items()})
    for ledger, first, last in beyond:
        version = lowest[ledger]
        yield Finding(
            property=Closing.name,
            kind="closed_below",
            ledger=ledger,
            first_entry=first,
            last_entry=last,
            count=last - first + 1,
            text=(
                f"{ledger_text(run, ledger)}: closed at {version.last_entry}, "
                f"below {entries_text(first, last)} that had been promised"
            ),
            proof=(
                f"metadata version {version.version}: CLOSED at {version.last_entry}",
                *_highest(ends.promises, ledger, run),
                *promise_proof(ends.promises, (ledger, first, last), run),
            ),
        )


def _perhaps_below(promised: Spans, histories: Histories, released: Collection[int]) -> Iterator[int]:
    """Odd and released ledgers, and those with a promised entry above any CLOSED version."""
    plain = histories.plain
    closed = plain.closed
    lowest = Folded.of_rows([plain.columns["ledger"][closed]], (plain.columns["last_entry"][closed], LEAST))
    above = promised & Spans.of_ranges(lowest.columns[0], lowest.columns[1] + 1, LAST_ENTRY)
    yield from sorted({*above.ledgers(), *released, *histories.odd_of} & set(promised.ledgers()))


def _of_bookkeeper(ledger: int, histories: Histories) -> tuple[Version, ...]:
    """The versions that were not made upon metadata which a fault of ours had put back."""
    chain = histories.of.get(ledger, ())
    if not histories.behind:
        return chain
    return tuple(version for version in chain if version not in histories.behind)


def _lowest_close(
    ledger: int, chain: tuple[Version, ...], released_ns: int | None, told: set[tuple[int, int]]
) -> Version | None:
    """The metadata store keeps whole milliseconds; whom it told of a close knows better when that was."""
    closes = [version for version in chain if version.closed]
    if released_ns is not None:
        closes = [
            version
            for version in closes
            if version.latest_ns < released_ns or (ledger, version.last_entry) in told
        ]
    return min(closes, key=lambda version: (version.last_entry, version.version), default=None)


def _highest(promises: Promises, ledger: int, run: RunFacts) -> Iterator[str]:
    top = promises.top.get(ledger)
    if top:
        yield (
            f"the highest entry acknowledged is {top.value}, to {client_name(run, top.client)} "
            f"({operation_text(top.seq)})"
        )


def _at_odds(ends: Ends, histories: Histories) -> Iterator[int]:
    """Ledgers that are not odd, of which metadata or clients were told more than one last entry."""
    columns, closed = histories.plain.columns, histories.plain.closed
    pairs = [(columns["ledger"][closed], columns["last_entry"][closed])]
    written = ends.closed.among(ends.written)
    pairs.append((ends.closed.columns[0][written], ends.closed.columns[3][written]))
    pairs.append((ends.recovered.columns[0], ends.recovered.columns[2]))
    ledger, end = (np.concatenate(column) for column in zip(*pairs, strict=True))
    numbers, counts = np.unique(np.unique(np.stack([ledger, end], axis=1), axis=0)[:, 0], return_counts=True)
    yield from (number for number in numbers[counts > 1].tolist() if number not in histories.odd_of)


def _two_ends(ends: Ends, histories: Histories, run: RunFacts) -> Iterator[Finding]:
    """Ledgers of which metadata or clients were told more than one last entry."""
    sources: dict[int, dict[int, str]] = {}
    suspects = sorted((*histories.odd_of, *_at_odds(ends, histories)))
    for ledger in suspects:
        for version in _of_bookkeeper(ledger, histories):
            if version.closed:
                said = f"metadata version {version.version}: CLOSED at {version.last_entry}"
                sources.setdefault(ledger, {}).setdefault(version.last_entry, said)
    for (ledger, client, end), how, telling in ends.told(suspects):
        if ledger in histories.put_back:
            continue  # Which of its chains the client was told of, nobody says.
        said = f"{client_name(run, client)} {how} {end} ({operation_text(telling.seq)})"
        sources.setdefault(ledger, {}).setdefault(end, said)
    for ledger, told in sorted(sources.items()):
        if len(told) > 1:
            where = sorted(told)
            yield Finding(
                property=Closing.name,
                kind="two_ends",
                ledger=ledger,
                first_entry=where[0] + 1,
                last_entry=where[-1],
                count=1,
                text=f"{ledger_text(run, ledger)}: ends at {' and at '.join(map(str, where))}",
                proof=tuple(told[end] for end in where),
            )


def _perhaps_unwritten(ends: Ends, histories: Histories) -> set[int]:
    """Odd ledgers, and those of which a client's ok came before any CLOSED version can have been in force."""
    plain, written = histories.plain, ends.closed.among(ends.written)
    tellings = ((ends.closed, written), (ends.recovered, np.ones(len(ends.recovered), dtype=np.bool_)))
    ledger, at_ns = (
        np.concatenate([told.columns[column][picked] for told, picked in tellings]) for column in (0, -1)
    )
    closed = [plain.columns[name][plain.closed] for name in ("ledger", "earliest_ns")]
    never = np.full(len(plain.ledgers), NEVER, dtype=np.int64)
    first = Folded.of_rows(
        [np.concatenate([closed[0], plain.ledgers])], (np.concatenate([closed[1], never]), LEAST)
    )
    ledgers, since_ns = first.columns
    known = np.isin(ledger, ledgers)
    ledger, at_ns = ledger[known], at_ns[known]
    early = at_ns < since_ns[np.searchsorted(ledgers, ledger)]
    return {*ledger[early].tolist(), *histories.odd_of}


def _unwritten(ends: Ends, histories: Histories, run: RunFacts) -> Iterator[Finding]:
    """Closes and recoveries that ended ok before any CLOSED version can have been in force."""
    for ledger in sorted(_perhaps_unwritten(ends, histories)):
        if not histories.seen_whole(ledger):
            continue
        closes = [version for version in histories.of[ledger] if version.closed]
        first = min(closes, key=lambda version: version.earliest_ns, default=None)
        since_ns = first.earliest_ns if first else NEVER
        told = [one for one in ends.told([ledger]) if one[2].completed_ns < since_ns]
        if told:
            (_, client, end), how, telling = min(told, key=lambda one: (one[2].completed_ns, one[2].seq))
            said = f"{client_name(run, client)} {how} {end}"
            yield Finding(
                property=Closing.name,
                kind="closed_unwritten",
                ledger=ledger,
                count=1,
                text=f"{ledger_text(run, ledger)}: {said} before CLOSED was written",
                proof=(
                    f"{said} by {time_text(run, telling.completed_ns)} ({operation_text(telling.seq)})",
                    f"metadata version {first.version}: CLOSED at {first.last_entry}, not in force before "
                    f"{time_text(run, first.earliest_ns)}"
                    if first
                    else "no version of the metadata is CLOSED",
                ),
            )
