"""LAC: the last add confirmed never goes back on a handle and never covers what cannot be.

Sources: the replication protocol ("Writing to the ledger"), BP-31. Rules: a handle's own LAC
does not fall; no client receives a LAC beyond the last entry of a ledger that was CLOSED before it
asked; a LAC of a ledger that no client recovered does not cover an entry that never left its client;
an add, which moves it, is ok when AQ bookies have acknowledged it (:mod:`checkers.lac.acks`), and a LAC
covers only what they had acknowledged by then (:mod:`checkers.lac.covered`).
A LAC read has two values: ``lac``, which the handle holds after it, and ``result``, the bookies'
answer. The answer is the best of whichever bookies came first, the client calls it best effort,
and it may lie below what the handle knows: that is noted and convicts nobody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.contract import Chunk, RunFacts
from checkers.facts.damage import shortcomings
from checkers.facts.histories import Histories, histories_of
from checkers.facts.offences import Offences, merge_offences, offences
from checkers.facts.parts import acked, entries_of, highest_lac, identified, told_lac
from checkers.facts.unrecorded import sent_lacs, unrecorded
from checkers.facts.versions import Versions, scan_versions
from checkers.facts.wording import client_name, counted, entries_text, ledger_text, operation_text, time_text
from checkers.lac.acks import KIND, TABLES, Acks, TooSoon, scan_acks, too_soon, unjudged
from checkers.lac.covered import KIND as UNACKED
from checkers.lac.covered import covers_unacked, first_tellings, writers_of
from checkers.rows import Bools, Rows
from checkers.sets.capping import capped
from checkers.sets.folded import FIRST, Folded
from checkers.sets.fronts import Fronts
from checkers.sets.peaks import Peaks
from checkers.sets.spans import LAST_ENTRY, Spans, ints
from evidence.codes import Flag, Kind, Outcome
from evidence.findings import Finding, Judgement, Verdict
from protocol.metadata import LedgerState


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The summary.

    ``fronts`` gives, for each ledger, the highest LAC told to operations invoked after any
    moment; ``failed`` are ids of adds that never left a client, ``tried`` those of all others.
    ``sent`` are the LACs that writers sent, ``acked`` the adds that are ok in some history.
    ``first_told`` are the LACs that exceed all that were received before, ``wrote`` the (client, ledger) of
    adds that may have been sent.
    """

    went_back: Offences
    told: Peaks
    fronts: Fronts
    first_told: Fronts
    wrote: Folded
    failed: Spans
    tried: Spans
    recovered: frozenset[int]
    versions: Versions
    sent: Peaks
    acked: Spans
    tellings: int
    low_answers: int
    acks: Acks


_TOLD = ("operations", "ledgers")
"""What all but one kind rest on: the wire log, where it lacks something, makes them no worse."""


class Lac:
    """Finds a LAC that goes back, lies beyond a close, covers what was never sent, or moved too soon."""

    name = "lac"
    tables: tuple[str, ...] = TABLES
    kinds: tuple[str, ...] = ("went_back", "beyond_close", "covers_unsent", KIND, UNACKED)

    def scan(self, chunk: Chunk, run: RunFacts) -> Confirmed:
        """Tellings of one chunk."""
        rows = chunk.operations
        told = rows.once(told_lac)
        went_back: Offences = {}
        for part in told:
            lower = part.where(part["lac"] < part["lac_before"])
            went_back = merge_offences(went_back, offences("went_back", lower, told="lac", due="lac_before"))
        answers = rows.of(kind=Kind.LAC, outcome=Outcome.OK)
        low = (answers["lac"] >= 0) & (answers["result"] < answers["lac_before"])
        adds, opens = rows.of(kind=Kind.ADD).once(identified), rows.of(kind=Kind.OPEN)
        # The observer opens every ledger with recovery; whether it had to recover, the metadata tells.
        recovering = opens.where((opens["flags"] & int(Flag.RECOVERY | Flag.FINAL)) == Flag.RECOVERY)
        return Confirmed(
            went_back=went_back,
            told=highest_lac(told),
            fronts=_fronts(told),
            first_told=first_tellings(told),
            wrote=writers_of(adds),
            failed=adds.of(outcome=Outcome.FAIL).once(entries_of),
            tried=adds.where(adds["outcome"] != Outcome.FAIL).once(entries_of),
            recovered=frozenset(np.unique(recovering["ledger"]).tolist()),
            versions=scan_versions(chunk),
            sent=sent_lacs(chunk),
            acked=rows.once(acked).once(entries_of),
            tellings=sum(part.number for part in told),
            low_answers=int(low.sum()),
            acks=scan_acks(chunk, run),
        )

    def merge(self, left: Confirmed, right: Confirmed) -> Confirmed:
        """Both."""
        return Confirmed(
            merge_offences(left.went_back, right.went_back),
            left.told | right.told,
            left.fronts | right.fronts,
            left.first_told | right.first_told,
            left.wrote | right.wrote,
            left.failed | right.failed,
            left.tried | right.tried,
            left.recovered | right.recovered,
            left.versions | right.versions,
            left.sent | right.sent,
            left.acked | right.acked,
            left.tellings + right.tellings,
            left.low_answers + right.low_answers,
            left.acks | right.acks,
        )

    def damage(self, summary: Confirmed, run: RunFacts) -> tuple[str, ...]:
        """What the LACs on the wire show to be missing in the histories."""
        return tuple(unrecorded(summary.sent, summary.acked, run))

    def conclude(self, summary: Confirmed, run: RunFacts) -> Judgement:
        """Needs at least one LAC told to a client."""
        histories = histories_of(summary.versions)
        lacking = shortcomings(run, _TOLD)
        back = list(_went_back(summary, run))
        beyond = list(_beyond_close(summary, histories, run))
        unsent = [] if lacking else list(_covers_unsent(summary, histories, run))
        acks = summary.acks.decided()
        early = too_soon(acks, histories, run)
        unacked = covers_unacked(summary.first_told, summary.wrote, summary.tried, acks, histories, run)
        findings = [*back, *beyond, *unsent, *early.findings, *unacked.findings]
        enough = summary.tellings > 0 and not lacking
        notes = [*lacking, *_acks_unjudged(summary, early, lacking, run)]
        if summary.low_answers:
            notes.append(
                f"{counted(summary.low_answers, 'LAC read')} answered below what the handle had been told, "
                "which a best-effort read of a quorum may do"
            )
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else Verdict.VALID if enough else Verdict.UNKNOWN,
            needed="whole evidence, and at least one LAC told to a client",
            seen={
                "told": summary.tellings,
                "low_answers": summary.low_answers,
                "acked_in_time": early.in_time,
            },
            findings=capped(findings),
            counts={
                "went_back": sum(finding.count for finding in back),
                "beyond_close": len(beyond),
                "covers_unsent": sum(finding.count for finding in unsent),
                KIND: early.count,
                UNACKED: unacked.count,
            },
            notes=tuple(notes),
        )


def _acks_unjudged(summary: Confirmed, early: TooSoon, known: list[str], run: RunFacts) -> Iterator[str]:
    """Why nobody was, or could be, told that he was told ok too soon; ``known`` is said already."""
    missing = [why for why in unjudged(run) if why not in known]
    if missing and summary.tellings:
        yield f"{'; '.join(missing)}: whether adds were told ok too soon was not judged"
    yield from early.notes


def _fronts(told: tuple[Rows, ...]) -> Fronts:
    """The fronts of LACs by when they were asked for."""
    late = [part.where(_not_before_the_top(part)) for part in told]
    none = np.empty(0, dtype=np.int64)
    names = ("ledger", "invoked_ns", "lac", "client", "seq")
    return Fronts.of_rows(*(np.concatenate([none, *(part[name] for part in late)]) for name in names))


def _not_before_the_top(rows: Rows) -> Bools:
    """Which rows, sorted by ledger, came no earlier than the last one that told its ledger's highest LAC."""
    ledger, lac, invoked = rows["ledger"], rows["lac"], rows["invoked_ns"]
    starts = np.flatnonzero(np.concatenate([[True], ledger[1:] != ledger[:-1]]))
    sizes = np.diff(np.append(starts, len(ledger)))
    at_top = lac == np.repeat(np.maximum.reduceat(lac, starts), sizes)
    last = np.maximum.reduceat(np.where(at_top, invoked, invoked.min()), starts)
    late: Bools = invoked >= np.repeat(last, sizes)
    return late


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
    plain = histories.plain
    ledgers, *when = (
        plain.columns[name][plain.closed] for name in ("ledger", "latest_ns", "version", "last_entry")
    )
    ledgers, at_ns, _, last = Folded.of_rows([ledgers], *((column, FIRST) for column in when)).columns
    for ledger in sorted(
        {*summary.fronts.beyond(ledgers, at_ns, last), *histories.odd_of} & histories.closes.keys()
    ):
        closes = (version for version in histories.of[ledger] if version.closed)
        version = min(closes, key=lambda one: (one.latest_ns, one.version))
        if ledger in histories.put_back:
            continue  # It may have been open again since.
        later = [point for point in summary.fronts.of(ledger) if point[0] > version.latest_ns]
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
                    f"in force by {time_text(run, version.latest_ns)}",
                    f"{client_name(run, client)}, {operation_text(seq)}, invoked later: told LAC {lac}",
                ),
            )


def _covers_unsent(summary: Confirmed, histories: Histories, run: RunFacts) -> Iterator[Finding]:
    """Ids of ledgers with an add in a history; of whole histories none is missing."""
    added = ints((summary.failed | summary.tried).ledgers())
    covered = (summary.told.below() & Spans.of_ranges(added, 0, LAST_ENTRY)) - summary.tried
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
                f"no add of {entries_text(first, last)} left its client",
                f"{client_name(run, told.client)}, {operation_text(told.seq)}: told LAC {told.value}",
            ),
        )
