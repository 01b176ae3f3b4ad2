"""Closing: a close never cuts off what was promised, and a ledger has one end.

Sources: *Closing Ledgers Safely*, the replication protocol ("Closing a ledger"), the fencing
document ("persistence"). Loss itself is :mod:`checkers.durability`; this property speaks of the
decision that was written to the metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checkers.capping import capped
from checkers.contract import Chunk, RunFacts
from checkers.damage import shortcomings
from checkers.obliged import Promises, merge_earliest, merge_promises, obliged, promise_proof, scan_promises
from checkers.spans import Spans
from checkers.versions import Histories, Version, Versions, scan_versions
from checkers.wording import client_name, counted, entries_text, ledger_text, operation_text
from evidence.codes import Flag, Kind, Outcome
from evidence.findings import Finding, Judgement, Verdict

Handle = tuple[int, int, int]
"""(ledger, client number, handle)."""
Told = tuple[int, int, int]
"""(ledger, client number, last entry)."""


@dataclass(frozen=True, slots=True)
class Ends:
    """The summary: promises, metadata, and what clients were told of the ends of ledgers.

    ``written`` are the handles that created a ledger: only their close says where it ends (a
    reader's handle closes without a word about the ledger). Both mappings give the first operation.
    """

    promises: Promises
    versions: Versions
    written: frozenset[Handle]
    closed: Mapping[tuple[Handle, int], int]
    recovered: Mapping[Told, int]


class Closing:
    """Convicts a CLOSED below an obliged entry, and two ends of one ledger."""

    name = "closing"
    tables: tuple[str, ...] = ("operations", "ledgers")

    def scan(self, chunk: Chunk, run: RunFacts) -> Ends:  # noqa: ARG002  # as agreed
        """Promises, metadata and told ends of one chunk."""
        rows = chunk.operations
        ok, kind = rows["outcome"] == Outcome.OK, rows["kind"]
        closes = ok & (kind == Kind.CLOSE)
        recovered = ok & (kind == Kind.OPEN) & ((rows["flags"] & Flag.RECOVERY) != 0)
        return Ends(
            promises=scan_promises(rows),
            versions=scan_versions(chunk),
            written=frozenset(
                (ledger, client, handle)
                for ledger, client, handle, *_ in _picked(rows, ok & (kind == Kind.CREATE))
            ),
            closed=_firsts(
                (((ledger, client, handle), result), seq)
                for ledger, client, handle, result, seq in _picked(rows, closes)
            ),
            recovered=_firsts(
                ((ledger, client, result), seq) for ledger, client, _, result, seq in _picked(rows, recovered)
            ),
        )

    def merge(self, left: Ends, right: Ends) -> Ends:
        """Both."""
        return Ends(
            merge_promises(left.promises, right.promises),
            left.versions | right.versions,
            left.written | right.written,
            merge_earliest(left.closed, right.closed),
            merge_earliest(left.recovered, right.recovered),
        )

    def conclude(self, summary: Ends, run: RunFacts) -> Judgement:
        """Needs a CLOSED version of every ledger that anyone was promised something of."""
        histories = Histories(summary.versions)
        promised = obliged(summary.promises, {}).entries
        below = list(_closed_below(summary, promised, histories, run))
        two = list(_two_ends(summary, histories, run))
        still_open = [
            ledger
            for ledger in promised.ledgers()
            if ledger not in histories.closes and ledger not in summary.promises.released
        ]
        lacking = shortcomings(run, self.tables)
        verdict = Verdict.VALID if histories.closes and not still_open and not lacking else Verdict.UNKNOWN
        notes = [*lacking]
        if still_open:
            notes.append(
                f"{counted(len(still_open), 'promised ledger')} never seen CLOSED, "
                f"first {ledger_text(run, still_open[0])}"
            )
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if below or two else verdict,
            needed="whole evidence, and a CLOSED version of every ledger with a promised entry",
            seen={"closed_ledgers": len(histories.closes), "promised": promised.count()},
            findings=capped([*below, *two]),
            counts={"closed_below": sum(finding.count for finding in below), "two_ends": len(two)},
            notes=tuple(notes),
        )


def _picked(rows: Mapping[str, NDArray[Any]], pick: NDArray[np.bool_]) -> Iterator[tuple[int, ...]]:
    names = ("ledger", "client", "handle", "result", "seq")
    return zip(*(rows[name][pick].tolist() for name in names), strict=True)


def _firsts(pairs: Iterator[tuple[Any, int]]) -> dict[Any, int]:
    firsts: dict[Any, int] = {}
    for key, seq in pairs:
        firsts[key] = min(firsts.get(key, seq), seq)
    return firsts


def _closed_below(ends: Ends, promised: Spans, histories: Histories, run: RunFacts) -> Iterator[Finding]:
    """Promised entries above the lowest CLOSED version that was in force before any delete was invoked."""
    lowest = {
        ledger: version
        for ledger in promised.ledgers()
        if (version := _lowest_close(histories.of.get(ledger, ()), ends.promises.released.get(ledger)))
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


def _lowest_close(chain: tuple[Version, ...], released_ns: int | None) -> Version | None:
    closes = [version for version in chain if version.closed]
    if released_ns is not None:
        closes = [version for version in closes if version.latest_ns < released_ns]
    return min(closes, key=lambda version: (version.last_entry, version.version), default=None)


def _highest(promises: Promises, ledger: int, run: RunFacts) -> Iterator[str]:
    top = promises.top.get(ledger)
    if top:
        yield (
            f"the highest entry acknowledged is {top.value}, to {client_name(run, top.client)} "
            f"({operation_text(top.seq)})"
        )


def _two_ends(ends: Ends, histories: Histories, run: RunFacts) -> Iterator[Finding]:
    """Ledgers of which metadata or clients were told more than one last entry."""
    sources: dict[int, dict[int, str]] = {}
    for ledger, chain in sorted(histories.of.items()):
        for version in chain:
            if version.closed:
                said = f"metadata version {version.version}: CLOSED at {version.last_entry}"
                sources.setdefault(ledger, {}).setdefault(version.last_entry, said)
    for (handle, end), seq in sorted(ends.closed.items()):
        if handle in ends.written:
            said = f"{client_name(run, handle[1])} was told ok for its close at {end} ({operation_text(seq)})"
            sources.setdefault(handle[0], {}).setdefault(end, said)
    for (ledger, client, end), seq in sorted(ends.recovered.items()):
        said = f"{client_name(run, client)} recovered it and was told its end {end} ({operation_text(seq)})"
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
