"""Closing: a close never cuts off what was promised, and a ledger has one end.

Sources: *Closing Ledgers Safely*, the replication protocol ("Closing a ledger"), the fencing
document ("persistence"). Loss itself is :mod:`checkers.durability.checker`; this property speaks of the
decision that was written to the metadata. A close that was made upon metadata which a fault of the run had
put back in time is no anomaly; such ledgers are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from checkers.facts.alterations import put_back_hidden, put_back_notes
from checkers.facts.histories import Histories
from checkers.facts.ledgers import HIGHEST_ACKED, HIGHEST_LAC, RELEASED, histories, operations_fact
from checkers.facts.parts import acked, delivered, entries_of, flagged, recovered
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
from checkers.facts.wording import entries_text, operation_text
from checkers.judging.checker import Checker
from checkers.judging.contract import Batch, LedgerFacts, Rows, RunFacts, by_ledger, value_at
from checkers.judging.found import Found, ledger_rows, set_rows
from checkers.sets.spans import LAST_ENTRY, Ints, Spans
from evidence.codes import NEVER, Flag, Kind, Outcome
from evidence.findings import Finding, Judgement
from protocol.wording import counted

_HANDLE = ("ledger", "client", "handle")
_FIRST = {"seq": "min", "completed_ns": "min"}


def _ok(kind: Kind, rows: Rows) -> Rows:
    return rows.where(kind=kind, outcome=Outcome.OK)


def _opened_closed(rows: Rows) -> Rows:
    """Opens without recovery that returned an end; -1 also stands for a ledger that is open."""
    opens = _ok(Kind.OPEN, rows)
    return opens.filter(~flagged(opens, Flag.RECOVERY) & (opens["result"] >= 0))


CREATED = operations_fact("created", partial(_ok, Kind.CREATE), key=_HANDLE)
"""The handles that created a ledger. Only their close says where it ends: a reader's says nothing of it."""
CLOSED = operations_fact("closed", partial(_ok, Kind.CLOSE), key=(*_HANDLE, "result"), values=_FIRST)
"""By handle and last entry: the first close that ended ok, and when the first answer came."""
RECOVERED = operations_fact("recovered", recovered, key=("ledger", "client", "result"), values=_FIRST)
"""By client and last entry: the first open with recovery that ended ok."""
OPENED_CLOSED = operations_fact(
    "opened_closed", _opened_closed, key=("ledger", "client", "result"), values=_FIRST
)
"""By client and last entry: the first open without recovery that found the ledger closed there."""


class Report(NamedTuple):
    """A client received a ledger's last entry: its number, the first operation, the first answer (ns)."""

    ledger: int
    client: int
    end: int
    seq: int
    completed_ns: int
    how: str

    def text(self, run: RunFacts) -> str:
        """``writer got ok for its close at 7``."""
        return f"{run.client_name(self.client)} {self.how} {self.end}"


def reports(facts: LedgerFacts) -> Mapping[int, Sequence[Report]]:
    """By ledger what clients received of its end: closes of its writers, recoveries, then other opens."""
    created = set(facts.rows(CREATED))
    found: dict[int, list[Report]] = {}
    for ledger, client, handle, end, seq, at_ns in facts.rows(CLOSED):
        if (ledger, client, handle) in created:
            report = Report(ledger, client, end, seq, at_ns, "got ok for its close at")
            found.setdefault(ledger, []).append(report)
    for fact, how in ((RECOVERED, "recovered it"), (OPENED_CLOSED, "opened it")):
        for ledger, client, end, seq, at_ns in facts.rows(fact):
            report = Report(ledger, client, end, seq, at_ns, f"{how} and received its end")
            found.setdefault(ledger, []).append(report)
    return found


class Closing(Checker):
    """Finds a CLOSED below a promised entry, two ends of one ledger, and an ok close that was not written."""

    name = "closing"
    tables = ("operations", "ledgers")
    needed = "whole evidence, and a CLOSED version of every ledger with a promised entry"
    kinds = ("closed_below", "two_ends", "closed_unwritten")
    figures = ("closed_ledgers", "promised")
    facts = (*PROMISES, CREATED, CLOSED, RECOVERED, OPENED_CLOSED)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:  # noqa: ARG002  # by contract
        """Promised entries above the lowest close of their ledger; how many others are above its LAC."""
        promised = promised_in(batch, facts)
        below = _in_time(promised.above(lowest_ends(facts, promised.ledger)), batch, facts)
        beyond_lac = promised.above(facts.at(HIGHEST_LAC, "lac", promised.ledger, missing=-1))
        first, last = beyond_lac.first, beyond_lac.last
        return Found.from_tables(
            set_rows("closed_below", below),
            *promise_rows(batch, below),
            ledger_rows("promised", beyond_lac.ledger, first, last, count=last - first + 1),
        )

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs a CLOSED version of every ledger that has a promised entry."""
        metadata, received = facts.memo(histories), facts.memo(reports)
        by_lac, beyond_lac = promised_by_lac(facts), found.by_ledger("promised")
        ledgers = sorted({*by_lac.ledgers(), *(row.ledger for row in beyond_lac)})
        still_open = [ledger for ledger in ledgers if _is_open(ledger, metadata, facts)]
        lacs = by_lac.without(set(metadata.put_back))
        entries = found.spans("closed_below") | lacs.above(lowest_ends(facts, lacs.ledger))
        if put_back_hidden(run):
            entries = Spans.empty()
        below = list(_closed_below(entries, promises_found(found), facts, run))
        two = [] if put_back_hidden(run) else list(_two_ends(received, metadata, run))
        lacking = run.shortcomings(self.tables)
        unwritten = [] if lacking else list(_unwritten(received, metadata, run))
        notes = []
        if still_open:
            notes.append(
                f"{counted(len(still_open), 'promised ledger')} never seen CLOSED, "
                f"first {run.ledger_text(still_open[0])}"
            )
        promised = by_lac.count() + sum(row.number for row in beyond_lac)
        return self.judgement(
            run,
            [*below, *two, *unwritten],
            seen={"closed_ledgers": len(metadata.closes), "promised": promised},
            enough=metadata.closes and not still_open,
            lacking=lacking,
            notes=(*notes, *put_back_notes(metadata, run)),
            undecided=still_open,
        )


def _is_open(ledger: int, metadata: Histories, facts: LedgerFacts) -> bool:
    """Whether a ledger was neither seen CLOSED nor deleted by a client or by a fault of the run."""
    removed = ledger in metadata.gone and metadata.gone[ledger].put_back
    return ledger not in metadata.ends and not facts.rows(RELEASED, ledger) and not removed


def _in_time(below: Spans, batch: Batch, facts: LedgerFacts) -> Spans:
    """The entries that were promised before a fault put their ledger's metadata back, if one did.

    Who was promised one later knew a ledger that was open again, or another one of that id.
    """
    back = {ledger: rows[0].earliest_ns for ledger, rows in facts.memo(histories).put_back.items()}
    if not back:
        return below
    early = Spans.empty()
    for rows in (batch.operations.memo(acked), batch.operations.memo(delivered)):
        until_ns = value_at(*by_ledger(back), rows["ledger"], missing=NEVER)
        early |= entries_of(rows.filter(rows["completed_ns"] < until_ns))
    return below & early


def lowest_ends(facts: LedgerFacts, ledger: Ints) -> Ints:
    """For each of these ledgers, the last entry of its lowest close; ``LAST_ENTRY`` where there is none."""
    return value_at(*facts.memo(_lowest_ends), ledger, missing=LAST_ENTRY)


def _lowest_ends(facts: LedgerFacts) -> tuple[Ints, Ints]:
    return by_ledger({ledger: close.last_entry for ledger, close in facts.memo(_lowest_closes).items()})


def _lowest_closes(facts: LedgerFacts) -> Mapping[int, Version]:
    """The lowest CLOSED version of each ledger; of a released ledger, the lowest that was in force before.

    The metadata store keeps whole milliseconds; a client that received an end knows its time better.
    """
    metadata, received = facts.memo(histories), facts.memo(reports)
    released = {row[0]: row[1] for row in facts.rows(RELEASED)}
    found: dict[int, Version] = {}
    for ledger in sorted({close.ledger for close in metadata.all_closes}):
        closes = [version for version in _of_bookkeeper(ledger, metadata) if version.closed]
        if ledger in released:
            by_ns = released[ledger]
            reported = {one.end for one in received.get(ledger, ()) if one.completed_ns < by_ns}
            closes = [one for one in closes if one.latest_ns < by_ns or one.last_entry in reported]
        if closes:
            found[ledger] = min(closes, key=attrgetter("last_entry"))
    return found


def _closed_below(entries: Spans, promises: Promises, facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    """Promised entries above the lowest CLOSED version that was in force before any delete was invoked."""
    for ledger, first, last in entries:
        version = facts.memo(_lowest_closes)[ledger]
        yield run.finding(
            "closing/closed_below",
            (ledger, first, last),
            f"closed at {version.last_entry}, below {entries_text(first, last)} that had been promised",
            version.closed_text,
            *(
                f"the highest entry acknowledged is {entry}, "
                f"to {run.client_name(client)} ({operation_text(seq)})"
                for _, entry, client, seq in facts.rows(HIGHEST_ACKED, ledger)
            ),
            *promise_proof(promises, (ledger, first, last), facts, run),
        )


def _of_bookkeeper(ledger: int, histories: Histories) -> tuple[Version, ...]:
    """The versions that were not made upon metadata which a fault of the run had put back."""
    return tuple(version for version in histories.versions.get(ledger, ()) if version not in histories.behind)


def _two_ends(
    received: Mapping[int, Sequence[Report]], metadata: Histories, run: RunFacts
) -> Iterator[Finding]:
    """Ledgers for which metadata and clients have more than one last entry."""
    for ledger in sorted({*(close.ledger for close in metadata.all_closes), *received}):
        ends: dict[int, str] = {}
        for version in _of_bookkeeper(ledger, metadata):
            if version.closed:
                ends.setdefault(version.last_entry, version.closed_text)
        # Where the metadata was put back it is not known which end a client received.
        for report in received.get(ledger, ()) if ledger not in metadata.put_back else ():
            ends.setdefault(report.end, f"{report.text(run)} ({operation_text(report.seq)})")
        where = sorted(ends)
        if len(ends) > 1:
            yield run.finding(
                "closing/two_ends",
                (ledger, where[0] + 1, where[-1], 1),
                f"ends at {' and at '.join(map(str, where))}",
                *(ends[end] for end in where),
            )


def _unwritten(
    received: Mapping[int, Sequence[Report]], metadata: Histories, run: RunFacts
) -> Iterator[Finding]:
    """Closes and recoveries that ended ok before any CLOSED version can have been in force."""
    for ledger, every in sorted(received.items()):
        report = min(every, key=lambda one: (one.completed_ns, one.seq))
        first = next((version for version in metadata.versions.get(ledger, ()) if version.closed), None)
        since_ns = first.earliest_ns if first else NEVER
        if report.completed_ns >= since_ns or not metadata.seen_whole(ledger):
            continue
        claim = report.text(run)
        yield run.finding(
            "closing/closed_unwritten",
            (ledger,),
            f"{claim} before CLOSED was written",
            f"{claim} by {run.time_text(report.completed_ns)} ({operation_text(report.seq)})",
            f"{first.closed_text}, not in force before {run.time_text(first.earliest_ns)}"
            if first
            else "no version of the metadata is CLOSED",
        )
