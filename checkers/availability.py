"""Availability: progress is made where the protocol promises it.

Two promises can be held against the record once everything is healed.

A recovery ends if fewer than AQ bookies of every write set have lost state: fencing and each recovery read
are decided as long as fewer than AQ bookies of a write set are unknown, and a bookie that kept its state and
runs is not. Where more have, the recovery may be stalled, and that is as promised.

And an entry that a bookie of its write set serves before and after can be read in between. One census pass
alone proves nothing of that: the bookie may have fetched the entry since. So it must have shown the entry in
a pass before the final read and in the last one after it, in one and the same boot.

How long an operation may take is promised nowhere, so slowness is no anomaly, and a recovery whose bookies
were slow to answer may have timed out.
Sources: *Closing Ledgers Safely* ("Quorum Coverage", "Unknown"), BP-46 ("A note on Quorums").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from checkers.facts.alterations import garbled
from checkers.facts.boots import Health, boot_events, boot_id_of
from checkers.facts.ledgers import OPENED, PASS_TIMES, REFUSED, RELEASED, Pass, histories, passes
from checkers.facts.parts import delivered, entries_of, final
from checkers.facts.timeouts import SLOW, asked_rows, slowness, unanswered
from checkers.facts.versions import Version, lasting_duties
from checkers.facts.wording import entries_text, some_notes
from checkers.judging.checker import Checker
from checkers.judging.contract import Batch, LedgerFact, LedgerFacts, Rows, RunFacts
from checkers.judging.found import Found, set_rows, span_rows
from checkers.sets.marks import Marks
from checkers.sets.spans import Bools, Ints, Spans, ints
from evidence.codes import NEVER, ErrorCode, Holding, Kind, Outcome
from evidence.collect.logs import KEY_REFUSED
from evidence.findings import Finding, Judgement
from protocol.wording import counted

_RESTS_ON = ("operations", "census", "ledgers", "servers", "faults")
_DENIED = (ErrorCode.NO_SUCH_ENTRY, ErrorCode.NO_SUCH_LEDGER)
"""How a read ends when every bookie asked said no: any other answer would have come before these."""
NO_ANSWERS = (
    ErrorCode.OK,  # no code was recorded
    ErrorCode.BOOKIE_NOT_AVAILABLE,
    ErrorCode.ZOOKEEPER,
    ErrorCode.INTERRUPTED,
    ErrorCode.METADATA_VERSION,
    ErrorCode.METADATA_STORE,
    ErrorCode.CLIENT_CLOSED,
    ErrorCode.TIMEOUT,
    ErrorCode.UNEXPECTED_CONDITION,
)
"""Errors of an open that report time-outs, connections or the metadata store, not what bookies answered."""


def _unsuccessful(rows: Rows) -> Rows:
    """The final reads of single entries that did not succeed, among rows of ``operations``.

    The observer repeats a read of many entries one by one, so that it is known of each why it failed.
    """
    reads = rows.where(kind=Kind.READ).memo(final)
    single = (reads["entry"] == reads["last"]) & (reads["entry"] >= 0)
    return reads.filter((reads["outcome"] != Outcome.OK) & single)


def _is_denied(reads: Rows) -> Bools:
    """Which reads ended with an explicit negative."""
    return np.asarray(np.isin(reads["error"], _DENIED) & (reads["completed_ns"] != NEVER))


def _denied(batch: Batch) -> Rows:
    reads = batch.operations.memo(_unsuccessful)
    return reads.filter(_is_denied(reads))


READING = LedgerFact(
    "denied_at_the_end", "operations", _denied, values={"invoked_ns": "min", "completed_ns": "max"}
)
"""When the final reads that were denied were first invoked, and when the last of them ended."""


class Availability(Checker):
    """Finds a recovery that is stuck, and entries that are there and cannot be read."""

    name = "availability"
    tables = ("operations", "census", "ledgers")
    needed = "whole evidence, final opens, and that whatever was not got at the end is accounted for"
    kinds = ("stuck", "key_lost", "unreadable")
    figures = ("opened", "refused", "stalled", "delivered", "denied")
    facts = (OPENED, REFUSED, READING, RELEASED, PASS_TIMES, SLOW)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:
        """Entries that final reads did not get, the copies shown of those denied, and requests of opens."""
        rows = batch.operations
        got, reads = rows.memo(delivered).memo(final).memo(entries_of), rows.memo(_unsuccessful)
        no = _is_denied(reads)
        denied = entries_of(reads.filter(no)) - got
        return Found.from_tables(
            set_rows("denied", denied),
            set_rows("unread", entries_of(reads.filter(~no)) - got),
            _shown(batch.census, denied),
            asked_rows(batch.frames, facts, run),
            delivered=got.count(),
        )

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs final opens, and that whatever they and the reads did not get is accounted for."""
        lacking = run.shortcomings(_RESTS_ON)
        opens = {} if lacking else dict(_recoveries(found, facts, run))
        stalled = [one.text for one in opens.values() if one.stalled]
        doubtful = [
            (ledger, one.text) for ledger, one in opens.items() if not one.stalled and not one.finding
        ]
        stuck = [one.finding for one in opens.values() if one.finding]
        unreadable = [] if lacking else list(_reads(found, facts, doubtful, run))
        opened = facts.columns(OPENED)["ledger"]
        refusing = np.unique(facts.columns(REFUSED)["ledger"])
        return self.judgement(
            run,
            [*stuck, *unreadable],
            seen={
                "opened": len(opened),
                "refused": len(np.setdiff1d(refusing, opened)),
                "stalled": len(stalled),
                "delivered": found.count("delivered"),
                "denied": found.spans("denied").count(),
            },
            enough=not doubtful and len(opened) + len(refusing) > 0,
            lacking=lacking,
            notes=(*some_notes(stalled), *some_notes([text for _, text in doubtful])),
            undecided=[ledger for ledger, _ in doubtful],
        )


def _shown(census: Rows, denied: Spans) -> pa.Table:
    """The copies that bookies showed of denied entries, by bookie and pass of the census as one number."""
    copies = census.where(holding=Holding.PRESENT)
    copies = copies.filter(denied.has(copies["ledger"], copies["entry"]))
    mark = boot_id_of(ints(copies["bookie"]), ints(copies["pass_number"]))
    return span_rows("shown", copies["ledger"], copies["entry"], proof=[mark])


class _Refused(NamedTuple):
    """What is to be said of one ledger; ``finding`` when it is stuck, else why it is not."""

    text: str
    stalled: bool = False
    finding: Finding | None = None


def _recoveries(found: Found, facts: LedgerFacts, run: RunFacts) -> Iterator[tuple[int, _Refused]]:
    """What is to be said of each ledger that no final open could recover, unless it is there no more."""
    known = {*facts.columns(OPENED)["ledger"].tolist(), *facts.columns(RELEASED)["ledger"].tolist()}
    metadata, silent = facts.memo(histories), unanswered(found)
    for ledger in np.unique(facts.columns(REFUSED)["ledger"]).tolist():
        errors = {error for _, error, *_ in facts.rows(REFUSED, ledger)}
        never_made = ErrorCode.NO_SUCH_LEDGER_ON_METADATA in errors and ledger not in metadata.versions
        if ledger not in known and ledger not in metadata.gone and not never_made:
            yield ledger, _refused(ledger, silent.get(ledger, ()), facts, run)


def _refused(ledger: int, silent: Sequence[int], facts: LedgerFacts, run: RunFacts) -> _Refused:
    metadata, name = facts.memo(histories), run.ledger_text(ledger)
    _, errors, began_ns, ended_ns, numbers, lasted_ns = zip(*facts.rows(REFUSED, ledger), strict=True)
    health = Health(run, min(began_ns), max(ended_ns))
    attempts = f"({counted(sum(numbers), 'attempt')}, error {', '.join(map(str, errors))})"
    version = metadata.versions.get(ledger, (None,))[-1]
    doubt = _doubt(set(errors), version, health)
    doubt = doubt or slowness(ledger, health, max(lasted_ns), silent, facts)
    if ledger in metadata.put_back:
        doubt = "a fault of the run put its metadata back"
    unopened = f"{name}: could not be opened at the end {attempts}"
    if doubt or version is None:
        return _Refused(f"{unopened}: {doubt}")
    lossy, ack = health.lossy(), version.shape[2]
    ensemble = [run.bookies[name] for name in version.last_ensemble]
    write_sets = [[ensemble[at] for at in places] for places in version.metadata().quorums.write_sets()]
    worst = max(write_sets, key=lambda bookies: len(lossy.keys() & set(bookies)))
    lost = "; ".join(lossy[bookie] for bookie in worst if bookie in lossy)
    duty = f"write set {', '.join(map(run.bookie_name, worst))}, AQ {ack}"
    if sum(bookie in lossy for bookie in worst) >= ack:
        return _Refused(f"{name}: stalled as promised {attempts}: {lost} ({duty})", stalled=True)
    if garbled(run):
        return _Refused(f"{unopened}: a fault of the run may have changed what bookies were sent")
    keyless = [
        run.bookie_name(bookie)
        for bookie in sorted(set(ensemble))
        if (boot := health.boot(bookie)) and (ledger, boot.id) in run.memo(_keys_refused)
    ]
    stuck = run.finding(
        "availability/key_lost" if keyless else "availability/stuck",
        (ledger,),
        "recovery is stuck with every bookie up and no fault in force",
        f"metadata version {version.version}: {version.metadata().state.name}",
        f"opens with recovery between {run.time_text(health.began_ns)} and "
        f"{run.time_text(health.ended_ns)} were refused {attempts}",
        f"every bookie was up all the while; of {duty}, "
        f"{f'only these had lost state: {lost}' if lost else 'none had lost state'}",
        *([f"{', '.join(keyless)} refused the ledger's key, by its log"] if keyless else []),
    )
    return _Refused("", finding=stuck)


def _doubt(errors: set[int], version: Version | None, health: Health) -> str:
    """Why it is unknown whether progress was promised; empty when it is known."""
    if version is None:
        return "its metadata was not seen"
    if ErrorCode.NO_SUCH_LEDGER_ON_METADATA in errors:
        return "an open found no such ledger, though it has metadata at the end"
    if version.closed:
        return "it is CLOSED, which takes no recovery"
    if health.ended_ns == NEVER:
        return "an open had no outcome"
    if errors <= set(NO_ANSWERS):
        return "that error does not report an answer of a bookie"
    try:
        version.metadata()
    except ValueError as error:
        return str(error)
    ensemble = version.fragments[-1][1] if version.fragments else ()
    if set(version.last_ensemble) - health.run.bookies.keys() or len(ensemble) != version.shape[0]:
        return f"its last ensemble is {', '.join(ensemble) or 'empty'}"
    return "; ".join(health.problems())


def _keys_refused(run: RunFacts) -> frozenset[tuple[int, int]]:
    """Ledger and boot wherever a bookie reported that it keeps another key than the ledger's."""
    return frozenset((event.ledger, boot_id) for boot_id, event in boot_events(run, KEY_REFUSED))


def _reads(
    found: Found, facts: LedgerFacts, doubtful: list[tuple[int, str]], run: RunFacts
) -> Iterator[Finding]:
    """The entries that were there and not read; what cannot be decided goes to ``doubtful``."""
    gone = {*facts.columns(RELEASED)["ledger"].tolist(), *facts.memo(histories).gone}
    denied, shown = found.spans("denied").without(gone), found.marks("shown")
    for ledger in denied.ledgers():
        entries = denied.of_ledger(ledger).entries()
        [(_, *times)] = facts.rows(READING, ledger)
        reading = Pass(*times)
        around = _around(reading, facts)
        throughout, at_the_end = _served(ledger, entries, around, shown, facts, run)
        proven = reduce(or_, throughout.values(), np.zeros(len(entries), dtype=np.bool_))
        for _, first, last in Spans.from_entries(ledger, entries[proven]):
            inside = (entries >= first) & (entries <= last)
            whole = [bookie for bookie, mask in throughout.items() if mask[inside].all()]
            some = [bookie for bookie, mask in throughout.items() if mask[inside].any()]
            names = ", ".join(map(run.bookie_name, sorted(whole or some)))
            yield _unreadable((ledger, first, last), names, reading, around, run)
        unproven = Spans.from_entries(ledger, entries[at_the_end & ~proven])
        doubtful += _each(unproven, "denied at the end; a bookie shows it later, perhaps fetched since", run)
    unread = found.spans("unread").without(gone)
    doubtful += _each(unread, "not read at the end, for a reason that is no answer of every bookie", run)


def _around(reading: Pass, facts: LedgerFacts) -> tuple[int, int]:
    """The last census pass before some reads (0: none), and the last pass of all."""
    times = facts.memo(passes)
    before = (number for number, one in times.items() if one.ended_ns < reading.began_ns)
    after = max(times, default=0)
    return max(before, default=0) if after and times[after].began_ns > reading.ended_ns else 0, after


def _served(
    ledger: int, entries: Ints, around: tuple[int, int], shown: Marks, facts: LedgerFacts, run: RunFacts
) -> tuple[dict[int, Bools], Bools]:
    """Which entries of one ledger each bookie served before and after, and which any served at the end.

    By the write sets since its close; ``shown`` has copies of denied entries, marked with bookie and pass.
    """
    (before, after), times = around, facts.memo(passes)
    chain = facts.memo(histories).versions.get(ledger, ())
    since = next((at for at, version in enumerate(chain) if version.closed), len(chain))
    throughout, at_the_end = {}, np.zeros(len(entries), dtype=np.bool_)
    for bookie, duty in lasting_duties(chain[since:], entries, run.bookies).items():
        late = duty & _showed(shown, ledger, bookie, after, entries)
        both = late & _showed(shown, ledger, bookie, before, entries)
        at_the_end |= late
        if before and both.any() and Health(run, times[before].began_ns, times[after].ended_ns).boot(bookie):
            throughout[bookie] = both
    return throughout, at_the_end


def _unreadable(
    span: tuple[int, int, int], names: str, reading: Pass, around: tuple[int, int], run: RunFacts
) -> Finding:
    _, first, last = span
    (before, after), which = around, entries_text(first, last)
    return run.finding(
        "availability/unreadable",
        span,
        f"{which} denied to the final read, yet there on {names}",
        f"final reads between {run.time_text(reading.began_ns)} and "
        f"{run.time_text(reading.ended_ns)}: each ended with an explicit negative, so every bookie "
        "asked gave one",
        f"census pass {before} before them and {after} after them: {names} showed {which}",
        f"{names} lived from the one pass to the other and had that duty ever since the close",
    )


def _showed(shown: Marks, ledger: int, bookie: int, number: int, entries: Ints) -> Bools:
    """Which entries of a ledger a bookie showed in a pass; ``shown`` is sorted by ledger."""
    mine = slice(*np.searchsorted(shown.ledger, [ledger, ledger + 1]).tolist())
    its = shown.mark[mine] == boot_id_of(bookie, number)
    copies = Spans(*(column[mine][its] for column in (shown.ledger, shown.first, shown.last)))
    return copies.holds(ledger, entries)


def _each(entries: Spans, what: str, run: RunFacts) -> list[tuple[int, str]]:
    """Each ledger with such entries, and a note on it."""
    notes = []
    for ledger in entries.ledgers():
        mine = entries.of_ledger(ledger)
        first, number = int(mine.first[0]), mine.count()
        which = entries_text(first, first) if number == 1 else f"{number:,} entries from {first} on"
        notes.append((ledger, f"{run.ledger_text(ledger)}: {which} {what}"))
    return notes
