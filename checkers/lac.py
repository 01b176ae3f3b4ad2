"""LAC: the last add confirmed never goes back on a handle and never covers what cannot be.

Sources: the replication protocol ("Writing to the ledger"), BP-31. Rules: a handle's own LAC
does not fall; nobody is told a LAC beyond the last entry of a ledger that was CLOSED before he
asked; a LAC of a ledger that nobody recovered does not cover an entry that never left its client.
A LAC read has two values: ``lac``, which the handle holds after it, and ``result``, the bookies'
answer. The answer is the best of whichever bookies came first, the client calls it best effort,
and it may lie below what the handle knows: that is noted and convicts nobody.
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
from checkers.obliged import TELLING
from checkers.offences import Offences, merge_offences, offences
from checkers.peaks import Peaks, merge_peaks, peaks
from checkers.spans import Spans
from checkers.versions import Histories, Versions, scan_versions
from checkers.wording import client_name, counted, entries_text, ledger_text, operation_text
from evidence.codes import Flag, Kind, Outcome
from evidence.findings import Finding, Judgement, Verdict
from protocol.metadata import LedgerState

Columns = Mapping[str, NDArray[Any]]
Front = tuple[tuple[int, int, int, int], ...]
"""(invoked_ns, lac, client, seq) ascending in time, strictly falling in LAC."""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The summary.

    ``fronts`` gives, for each ledger, the highest LAC told to operations invoked after any
    moment; ``failed`` are ids of adds that never left a client, ``tried`` those of all others.
    """

    went_back: Offences
    told: Peaks
    fronts: Mapping[int, Front]
    failed: Spans
    tried: Spans
    recovered: frozenset[int]
    versions: Versions
    tellings: int
    low_answers: int


class Lac:
    """Convicts a LAC that goes back, lies beyond a close, or covers an add that was never sent."""

    name = "lac"
    tables: tuple[str, ...] = ("operations", "ledgers")

    def scan(self, chunk: Chunk, run: RunFacts) -> Confirmed:  # noqa: ARG002  # as agreed
        """Tellings of one chunk."""
        rows = chunk.operations
        kind, outcome, lac = rows["kind"], rows["outcome"], rows["lac"]
        told = (outcome == Outcome.OK) & np.isin(kind, TELLING) & (lac >= 0)
        lower = told & (lac < rows["lac_before"])
        low_answer = told & (kind == Kind.LAC) & (rows["result"] < rows["lac_before"])
        adds = (kind == Kind.ADD) & (rows["entry"] >= 0)
        failed = adds & (outcome == Outcome.FAIL)
        # The observer opens every ledger with recovery; whether it had to recover, the metadata tells.
        recovering = (kind == Kind.OPEN) & ((rows["flags"] & (Flag.RECOVERY | Flag.FINAL)) == Flag.RECOVERY)
        tried = adds & ~failed
        return Confirmed(
            went_back=offences("went_back", rows, lower, told="lac", due="lac_before"),
            told=peaks(rows["ledger"][told], lac[told], rows["client"][told], rows["seq"][told]),
            fronts=_fronts(rows, told),
            failed=Spans.of_entries(rows["ledger"][failed], rows["entry"][failed]),
            tried=Spans.of_entries(rows["ledger"][tried], rows["entry"][tried]),
            recovered=frozenset(np.unique(rows["ledger"][recovering]).tolist()),
            versions=scan_versions(chunk),
            tellings=int(told.sum()),
            low_answers=int(low_answer.sum()),
        )

    def merge(self, left: Confirmed, right: Confirmed) -> Confirmed:
        """Both."""
        fronts = dict(left.fronts)
        for ledger, front in right.fronts.items():
            fronts[ledger] = _front([*fronts.get(ledger, ()), *front])
        return Confirmed(
            merge_offences(left.went_back, right.went_back),
            merge_peaks(left.told, right.told),
            fronts,
            left.failed | right.failed,
            left.tried | right.tried,
            left.recovered | right.recovered,
            left.versions | right.versions,
            left.tellings + right.tellings,
            left.low_answers + right.low_answers,
        )

    def conclude(self, summary: Confirmed, run: RunFacts) -> Judgement:
        """Needs at least one LAC told to a client."""
        histories = Histories(summary.versions)
        lacking = shortcomings(run, self.tables)
        back = list(_went_back(summary, run))
        beyond = list(_beyond_close(summary, histories, run))
        unsent = [] if lacking else list(_covers_unsent(summary, histories, run))
        findings = [*back, *beyond, *unsent]
        enough = summary.tellings > 0 and not lacking
        notes = [*lacking]
        if summary.low_answers:
            notes.append(
                f"{counted(summary.low_answers, 'LAC read')} answered below what the handle had been told, "
                "which a best-effort read of a quorum may do"
            )
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else Verdict.VALID if enough else Verdict.UNKNOWN,
            needed="whole evidence, and at least one LAC told to a client",
            seen={"told": summary.tellings, "low_answers": summary.low_answers},
            findings=capped(findings),
            counts={
                "went_back": sum(finding.count for finding in back),
                "beyond_close": len(beyond),
                "covers_unsent": sum(finding.count for finding in unsent),
            },
            notes=tuple(notes),
        )


def _fronts(rows: Columns, told: NDArray[np.bool_]) -> dict[int, Front]:
    """The front of each ledger: scanning back from the latest, rows that exceed all later ones."""
    at = np.flatnonzero(told)
    if not len(at):
        return {}
    client, seq, lac = rows["client"][at], rows["seq"][at], rows["lac"][at]
    ledger, invoked = rows["ledger"][at], rows["invoked_ns"][at]
    order = np.lexsort((-seq, -client.astype(np.int64), lac, invoked, ledger))[::-1]
    ledger, invoked, lac, client, seq = (column[order] for column in (ledger, invoked, lac, client, seq))
    starts = np.concatenate([[True], ledger[1:] != ledger[:-1]])
    group = np.cumsum(starts) - 1
    ceiling = int(lac.max()) + 1
    running = np.maximum.accumulate(lac + group * ceiling) - group * ceiling
    fresh = starts.copy()
    fresh[1:] |= (running[1:] > running[:-1]) & (group[1:] == group[:-1])
    fronts: dict[int, list[tuple[int, int, int, int]]] = {}
    picked = (column[fresh].tolist() for column in (ledger, invoked, lac, client, seq))
    for one, *point in zip(*picked, strict=True):
        fronts.setdefault(one, []).append(tuple(point))
    return {one: tuple(reversed(front)) for one, front in fronts.items()}


def _front(points: list[tuple[int, int, int, int]]) -> Front:
    kept: list[tuple[int, int, int, int]] = []
    for point in sorted(points, key=lambda p: (-p[0], -p[1], p[2], p[3])):
        if not kept or point[1] > kept[-1][1]:
            kept.append(point)
    return tuple(reversed(kept))


def _went_back(summary: Confirmed, run: RunFacts) -> Iterator[Finding]:
    for (kind, ledger), offence in sorted(summary.went_back.items()):
        yield Finding(
            property=Lac.name,
            kind=kind,
            ledger=ledger,
            first_entry=offence.first,
            last_entry=offence.last,
            count=offence.number,
            text=f"{ledger_text(run, ledger)}: a handle's LAC went back ({counted(offence.number, 'time')})",
            proof=(
                f"{client_name(run, offence.client)}, {operation_text(offence.seq)}: told LAC {offence.told} "
                f"on a handle that had been told {offence.due} before it asked",
            ),
        )


def _beyond_close(summary: Confirmed, histories: Histories, run: RunFacts) -> Iterator[Finding]:
    for ledger, version in sorted(histories.closes.items()):
        later = [point for point in summary.fronts.get(ledger, ()) if point[0] > version.latest_ns]
        if later and later[0][1] > version.last_entry:
            _, lac, client, seq = later[0]
            yield Finding(
                property=Lac.name,
                kind="beyond_close",
                ledger=ledger,
                first_entry=version.last_entry + 1,
                last_entry=lac,
                count=lac - version.last_entry,
                text=f"{ledger_text(run, ledger)}: LAC {lac} told after the close at {version.last_entry}",
                proof=(
                    f"metadata version {version.version}: CLOSED at {version.last_entry}, "
                    f"in force by {version.latest_ns} ns",
                    f"{client_name(run, client)}, {operation_text(seq)}, invoked later: told LAC {lac}",
                ),
            )


def _covers_unsent(summary: Confirmed, histories: Histories, run: RunFacts) -> Iterator[Finding]:
    unsent = summary.failed - summary.tried
    covered = unsent & Spans.up_to({ledger: peak.value for ledger, peak in summary.told.items()})
    for ledger, first, last in covered.without(summary.recovered):
        chain = histories.of.get(ledger, ())
        if not histories.seen_whole(ledger) or any(v.state == LedgerState.IN_RECOVERY for v in chain):
            continue
        told = summary.told[ledger]
        yield Finding(
            property=Lac.name,
            kind="covers_unsent",
            ledger=ledger,
            first_entry=first,
            last_entry=last,
            count=last - first + 1,
            text=f"{ledger_text(run, ledger)}: the LAC covers {entries_text(first, last)}, never sent",
            proof=(
                f"the add of {entries_text(first, last)} failed before anything was sent",
                f"{client_name(run, told.client)}, {operation_text(told.seq)}: told LAC {told.value}",
            ),
        )
