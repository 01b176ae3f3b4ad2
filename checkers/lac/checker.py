"""LAC: the last add confirmed never goes back on a handle and never covers what cannot be.

Sources: the replication protocol ("Writing to the ledger"), BP-31. The rules:

- A handle's own LAC does not fall.
- No client receives a LAC beyond the last entry of a ledger that was CLOSED before it asked.
- A LAC received before any recovery does not cover an entry that never left its client.
- An add, which moves the LAC, is ok when AQ bookies have acknowledged it, and a LAC covers only what they
  had acknowledged by then (both :mod:`checkers.lac.acks`).
- A force is ok when AQ bookies have confirmed it (:mod:`checkers.lac.forces`).
- No bookie acknowledges an add that no version of the metadata gives to it.

A LAC read has two values: ``lac``, which the handle holds after it, and ``result``, the bookies'
answer. The answer is the best of whichever bookies came first, the client calls it best effort,
and it may lie below what the handle knows: that is a note, not an anomaly.

A client sends an add to the write set of its entry, by the ensemble of the entry's fragment, and it writes a
new ensemble to the metadata before it sends an add there (the replication protocol, "Writing to the ledger"
and "Ensemble changes"). No reader asks for a copy elsewhere, so it must not count. Recovery's
adds are left out: recovery keeps a new ensemble to itself until it closes the ledger.

A writer sends its LAC along with its adds. Every add up to it has ended ok by then: for one add after the
other the client moves the LAC and calls the application back (``LedgerHandle#sendAddSuccessCallbacks``).
So a LAC that was sent while an add below it is not ok in any history shows that outcomes are missing. The
add of the LAC itself may lack its outcome where the writer's process was ended in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from checkers.facts.alterations import put_back_hidden
from checkers.facts.histories import Histories
from checkers.facts.ledgers import HIGHEST_LAC, histories, operations_fact
from checkers.facts.parts import TELLING, acked, entries_of, identified, received_lac
from checkers.facts.versions import Version, duties
from checkers.facts.wire import UNPROVEN, proven_answers_about_entries, requests
from checkers.facts.wording import entries_text, operation_text
from checkers.judging.checker import Checker
from checkers.judging.contract import Batch, LedgerFact, LedgerFacts, Rows, RunFacts, value_at
from checkers.judging.found import Found, Row, capped_rows, first_rows, ledger_rows, proof_columns, set_rows
from checkers.lac.ack_findings import ack_findings, ack_rows
from checkers.lac.acks import (
    FACTS,
    FIRST_RECEIVED,
    KINDS,
    TABLES,
    check_acks,
    recovery_began,
    tried,
    unjudged,
)
from checkers.lac.forces import CONFIRMED, FORCED_TOO_SOON, FORCES, forced_too_soon
from checkers.sets.ordering import firsts
from checkers.sets.spans import LAST_ENTRY, Bools, Ints, Spans, ints
from evidence.codes import NEVER, FrameFlag, Kind, Message, Outcome, Status
from evidence.findings import Finding, Judgement
from protocol.addresses import name_of_id
from protocol.wording import counted

_RECEIVED = ("operations", "ledgers")
"""Tables on which all but two kinds rest: gaps in the wire log do not weaken these kinds."""


ADDED = operations_fact("added", lambda rows: rows.where(kind=Kind.ADD).memo(identified))
"""The ledgers with an add in a history, sent or not."""
_OUTSIDE = "acked_outside"
_UNSURE = int(UNPROVEN | FrameFlag.GARBLED)


def _sent(batch: Batch) -> list[Rows]:
    return [
        rows.filter((rows["ledger"] >= 0) & ((rows["flags"] & _UNSURE) == 0))
        for rows in (requests(batch.frames, kind) for kind in (Message.ADD, Message.WRITE_LAC))
    ]


SENT_LAC = LedgerFact("sent_lac", "frames", _sent, first_by=(("lac", "descending"),), also=("source", "seq"))
"""The highest LAC that was sent for each ledger, with the source and the frame's number."""


class Stray(NamedTuple):
    """The proof of an add that a bookie outside the write set acknowledged: of neighbours the first."""

    bookie: int
    received_ns: int
    seq: int
    source: int


class WentBack(NamedTuple):
    """The proof of a LAC that went back: the ledger's first such operation."""

    client: int
    seq: int
    lac: int
    lac_before: int


class Lac(Checker):
    """Finds a LAC that goes back, lies beyond a close, covers what was never sent, or moved too soon."""

    name = "lac"
    tables = TABLES
    needed = "whole evidence, and at least one LAC that a client received"
    kinds = ("went_back", "beyond_close", "covers_unsent", *KINDS, _OUTSIDE, FORCED_TOO_SOON)
    figures = ("told", "low_answers", "acked_in_time")
    facts = (HIGHEST_LAC, SENT_LAC, ADDED, FORCES, CONFIRMED, *FACTS)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
        """Lower LACs than before, LACs beyond a close, and the adds that were sent up to the highest LAC."""
        received = batch.operations.memo(received_lac)
        answers = batch.operations.where(kind=Kind.LAC, outcome=Outcome.OK)
        low = answers["result"] < answers["lac_before"]
        sent, ok = (batch.operations.memo(part).memo(entries_of) for part in (tried, acked))
        mine = Found.from_tables(
            *map(_went_back, _lower(batch.operations)),
            *(_beyond_close(part, facts) for part in received),
            set_rows("sent", sent.up_to_each(facts.at(HIGHEST_LAC, "lac", sent.ledger, missing=-1))),
            set_rows("acked", ok.up_to_each(facts.at(SENT_LAC, "lac", ok.ledger, missing=-1))),
            _outside(batch, facts, run),
            told=sum(part.num_rows for part in received),
            low_answers=int(low.sum()),
        )
        return Found.joined([mine, check_acks(batch, facts, run)])

    def damage(self, found: Found, facts: LedgerFacts, run: RunFacts) -> tuple[str, ...]:
        """What the LACs on the wire show to be missing in the histories."""
        return tuple(_unrecorded(found, facts, run))

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs at least one LAC that a client received."""
        lacking = run.shortcomings(_RECEIVED)
        back = list(_back_findings(found, run))
        beyond = [] if put_back_hidden(run) else list(_beyond_findings(found, facts, run))
        unsent = [] if lacking else list(_covers_unsent(found, facts, run))
        acks, unlogged = ack_rows(found, facts, run)
        strays = [] if unjudged(run) else found.firsts(_OUTSIDE, 1)
        forces = [] if unjudged(run) else list(forced_too_soon(facts, run))
        findings = [
            *(*back, *beyond, *unsent),
            *ack_findings(acks, found, facts, run),
            *_outside_findings(strays, facts, run),
            *forces,
        ]
        received, low_answers = found.count("told"), found.count("low_answers")
        return self.judgement(
            run,
            findings,
            seen={
                "told": received,
                "low_answers": low_answers,
                "acked_in_time": 0 if unjudged(run) else found.count("acked_in_time"),
            },
            enough=received,
            lacking=lacking,
            counts={
                "went_back": sum(finding.count for finding in back),
                "beyond_close": len(beyond),
                "covers_unsent": sum(finding.count for finding in unsent),
                **{kind: sum(row.number for row in rows) for kind, rows in acks.items()},
                _OUTSIDE: sum(row.number for row in strays),
                FORCED_TOO_SOON: len(forces),
            },
            notes=_notes(received, low_answers, unlogged, run),
        )


def _notes(received: int, low_answers: int, unlogged: list[int], run: RunFacts) -> Iterator[str]:
    """What was not judged, and LAC reads that fell behind."""
    missing = [why for why in unjudged(run) if why not in run.shortcomings(_RECEIVED)]
    if missing and received:
        yield f"{'; '.join(missing)}: whether adds were acknowledged too soon was not judged"
    for client in unlogged:
        yield (
            f"{run.client_name(client)}: no frame of its links is in the wire log, so whether AQ bookies "
            "had acknowledged what it got ok for was not judged"
        )
    if low_answers:
        yield (
            f"{counted(low_answers, 'LAC read')} answered below what the handle had received, "
            "which a best-effort read of a quorum may do"
        )


def _lower(rows: Rows) -> Iterator[Rows]:
    """The operations after which a handle had a lower LAC. -1 is a LAC too, except in a read's row."""
    for kind in TELLING:
        part = rows.where(kind=kind, outcome=Outcome.OK)
        least = 0 if kind == Kind.READ else -1
        yield part.filter((least <= part["lac"]) & (part["lac"] < part["lac_before"]))


def _went_back(rows: Rows) -> pa.Table:
    return ledger_rows("went_back", rows["ledger"], rows["lac"], proof=proof_columns(WentBack._fields, rows))


def _back_findings(found: Found, run: RunFacts) -> Iterator[Finding]:
    for ledger, first, last, number, proof in found.by_ledger("went_back"):
        client, seq, lac, before = WentBack(*proof)
        yield run.finding(
            "lac/went_back",
            (ledger, first, last, number),
            f"a handle's LAC went back ({counted(number, 'time')})",
            f"{run.client_name(client)}, {operation_text(seq)}: received LAC {lac} "
            f"on a handle that had received {before} before it asked",
        )


def _first_closes(facts: LedgerFacts) -> Mapping[int, Version]:
    """Each ledger's first CLOSED version, by when it was in force; put back ones may have been open again."""
    metadata = facts.memo(histories)
    ordered = sorted(metadata.all_closes, key=attrgetter("ledger", "latest_ns"))
    own = groupby(ordered, key=attrgetter("ledger"))
    return {ledger: next(closes) for ledger, closes in own if ledger not in metadata.put_back}


def _first_ends(facts: LedgerFacts) -> tuple[Ints, Ints, Ints]:
    """Of those closes, ascending, the ledgers, the last entries, and by when they were in force."""
    closes = facts.memo(_first_closes).values()
    names = ("ledger", "last_entry", "latest_ns")
    ledger, end, at_ns = (ints([getattr(one, name) for one in closes]) for name in names)
    return ledger, end, at_ns


def _beyond_close(received: Rows, facts: LedgerFacts) -> pa.Table:
    """By ledger LACs beyond a close before them; the proof is the highest, of equal ones the last asked."""
    closed, ends, times_ns = facts.memo(_first_ends)
    end = value_at(closed, ends, received["ledger"], missing=LAST_ENTRY)
    at_ns = value_at(closed, times_ns, received["ledger"], missing=NEVER)
    late = received.filter((received["invoked_ns"] > at_ns) & (received["lac"] > end))
    proof = [-late["lac"], -late["invoked_ns"], late["client"], late["seq"]]
    return ledger_rows("beyond_close", late["ledger"], late["lac"], proof=proof)


def _beyond_findings(found: Found, facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    for ledger, _, lac, _, (*_, client, seq) in found.by_ledger("beyond_close"):
        close = facts.memo(_first_closes)[ledger]
        end = close.last_entry
        yield run.finding(
            "lac/beyond_close",
            (ledger, end + 1, lac, lac - end),
            f"LAC {lac} received after the close at {end}",
            f"{close.closed_text}, in force by {run.time_text(close.latest_ns)}",
            f"{run.client_name(client)}, {operation_text(seq)}, invoked later: received LAC {lac}",
        )


def _covers_unsent(found: Found, facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    """Only in ledgers with an add in a history: whole histories have every add that was sent."""
    added = set(facts.columns(ADDED)["ledger"].tolist())
    received = {ledger: row for ledger, row in _received_first(facts).items() if ledger in added}
    covered = Spans.up_to({ledger: lac for ledger, (lac, *_) in received.items()})
    for ledger, first, last in covered - found.spans("sent"):
        lac, client, seq = received[ledger]
        yield run.finding(
            "lac/covers_unsent",
            (ledger, first, last),
            f"the LAC covers {entries_text(first, last)}, never sent",
            f"no add of {entries_text(first, last)} left its client",
            f"{run.client_name(client)}, {operation_text(seq)}: received LAC {lac}",
        )


def _received_first(facts: LedgerFacts) -> Mapping[int, tuple[int, ...]]:
    """The highest LAC of each ledger received before any recovery can have begun, with client and seq.

    Of ledgers whose metadata was seen whole. What is received later, a recovery may have found.
    """
    ever, early = facts.columns(HIGHEST_LAC), facts.columns(FIRST_RECEIVED)
    began_ns = [value_at(*facts.memo(recovery_began), some["ledger"], missing=-1) for some in (ever, early)]
    held = began_ns[0] == NEVER, early["completed_ns"] < began_ns[1]
    ledger, *columns = (
        np.concatenate([some[name][those] for some, those in zip((ever, early), held, strict=True)])
        for name in ("ledger", "lac", "client", "seq")
    )
    at = firsts(ledger, -columns[0])
    rows = zip(*(column[at].tolist() for column in columns), strict=True)
    return dict(zip(ledger[at].tolist(), rows, strict=True))


def _unrecorded(found: Found, facts: LedgerFacts, run: RunFacts) -> Iterator[str]:
    """A sentence of damage to ``operations`` where a LAC was sent beyond what the histories have as ok."""
    if not run.wire or run.shortcomings(("operations", "frames")):
        return
    clients = set(run.clients.values())
    exits = (event for event in run.events("exit") if event.server in run.clients)
    ended = {run.clients[event.server] for event in exits if event.detail.get("code") != 0}
    sent = {ledger: row for ledger, *row in facts.rows(SENT_LAC) if row[1] in clients}
    due = {ledger: lac - (source in ended) for ledger, (lac, source, _) in sent.items()}
    missing = Spans.up_to(due) - found.spans("acked")
    for ledger, first, last in list(missing)[:1]:
        lac, source, frame = sent[ledger]
        yield (
            f"operations: {run.client_name(source)} sent LAC {lac} of {run.ledger_text(ledger)} "
            f"(frame {frame}), and no history has an ok add of {entries_text(first, last)} "
            f"({missing.count():,} in all)"
        )


def _outside(batch: Batch, facts: LedgerFacts, run: RunFacts) -> pa.Table:
    """Normal adds that bookies outside the write set acknowledged."""
    took = proven_answers_about_entries(batch.frames, Message.ADD).where(status=Status.EOK)
    took = took.filter(np.isin(took["source"], sorted(run.clients.values())))
    stray = took.filter(~_given(took, facts.memo(histories), run))
    bookie, *proof = proof_columns(Stray._fields, stray)
    return first_rows(_OUTSIDE, stray["ledger"], stray["entry"], like=[bookie], proof=proof)


def _given(took: Rows, metadata: Histories, run: RunFacts) -> Bools:
    """Which rows are of a bookie to which some version gives the entry; all where versions are missing."""
    given = np.ones(took.num_rows, dtype=np.bool_)
    for ledgers, chain in _alike(metadata, np.unique(took["ledger"])):
        mine = np.flatnonzero(np.isin(took["ledger"], ledgers))
        entry, bookie = took["entry"][mine], took["bookie"][mine]
        given[mine] = False
        for number, duty in duties(chain, entry, run.bookies).items():
            given[mine] |= duty & (bookie == number)
    return given


def _alike(metadata: Histories, ledgers: Ints) -> Iterator[tuple[list[int], tuple[Version, ...]]]:
    """Ledgers seen whole and not deleted, those with the same ensembles together, and the versions of one."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for ledger in ledgers.tolist():
        if metadata.seen_whole(ledger) and ledger not in metadata.deleted:
            places = {(version.shape, version.fragments) for version in metadata.versions[ledger]}
            groups.setdefault(tuple(sorted(places)), []).append(ledger)
    for alike in groups.values():
        yield alike, metadata.versions[alike[0]]


def _outside_findings(rows: list[Row], facts: LedgerFacts, run: RunFacts) -> Iterator[Finding]:
    """The anomalies that are shown, with the fragments of the last version."""
    for row in capped_rows(rows):
        bookie, received_ns, seq, source = Stray(*row.proof)
        name, version = run.bookie_name(bookie), facts.memo(histories).versions[row.ledger][-1]
        yield run.finding(
            f"lac/{_OUTSIDE}",
            row,
            f"{name} acknowledged {entries_text(row.first, row.last)}, which "
            "no version of the metadata gives to it",
            f"{name} answered EOK to the add of entry {row.first} by {run.client_name(source)} at "
            f"{run.time_text(received_ns)} (frame {seq})",
            *(
                f"metadata version {version.version}: from entry {first} on "
                f"{', '.join(map(name_of_id, names))}"
                for first, names in version.fragments
            ),
        )
