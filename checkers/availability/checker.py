"""Availability: progress is made where the protocol promises it.

Two promises can be held against the record once everything is healed. A recovery ends if
fewer than AQ bookies of every write set have lost state; where more have, it may be stalled, and that
is as promised. And an entry that a bookie of its write set serves before and after can be read in
between. How long an operation may take is promised nowhere, so slowness is no anomaly. Sources: *Closing
Ledgers Safely* ("Quorum Coverage", "Unknown"), BP-46 ("A note on Quorums").
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from checkers.availability.stuck import Refused, refusals_of, refused
from checkers.availability.unreadable import READING, Reading, findings, is_denied, served, unsuccessful
from checkers.contract import Batch, LedgerFact, LedgerFacts, Rows, RunFacts
from checkers.facts.boots import life_of
from checkers.facts.ledgers import OPENED, PASS_TIMES, REFUSED, RELEASED, histories, passes
from checkers.facts.parts import delivered, entries_of, final
from checkers.facts.wording import entries_text, some_notes
from checkers.found import Found, capped, set_rows, span_rows
from checkers.sets.spans import Spans, ints
from evidence.codes import Holding
from evidence.findings import Finding, Judgement, Verdict

_RESTS_ON = ("operations", "census", "ledgers", "servers", "faults")


class Availability:
    """Finds a recovery that is stuck, and entries that are there and cannot be read."""

    name = "availability"
    tables: tuple[str, ...] = ("operations", "census", "ledgers")
    kinds: tuple[str, ...] = ("stuck", "key_lost", "unreadable")
    facts: tuple[LedgerFact, ...] = (OPENED, REFUSED, READING, RELEASED, PASS_TIMES)

    def check(self, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Found:  # noqa: ARG002  # by contract
        """Entries that final reads did not get, and the copies that bookies showed of those denied."""
        rows = batch.operations
        got, reads = rows.once(delivered).once(final).once(entries_of), rows.once(unsuccessful)
        no = is_denied(reads)
        denied = entries_of(reads.where(no)) - got
        return Found.of(
            set_rows("denied", denied),
            set_rows("unread", entries_of(reads.where(~no)) - got),
            _shown(batch.census, denied),
            delivered=got.count(),
        )

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:
        """Needs final opens, and that whatever they and the reads did not get is accounted for."""
        lacking = run.shortcomings(_RESTS_ON)
        told = {} if lacking else dict(_recoveries(facts, run))
        stalled = [one.text for one in told.values() if one.stalled]
        doubtful = [(ledger, one.text) for ledger, one in told.items() if not one.stalled and not one.finding]
        stuck = [one.finding for one in told.values() if one.finding]
        unreadable: list[Finding] = []
        if not lacking:
            unreadable = list(_reads(found, facts, doubtful, run))
        opened = facts.columns(OPENED)["ledger"]
        refusing = np.unique(facts.columns(REFUSED)["ledger"])
        enough = not lacking and not doubtful and len(opened) + len(refusing) > 0
        verdict = Verdict.VALID if enough else Verdict.UNKNOWN
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if stuck or unreadable else verdict,
            needed="whole evidence, final opens, and that whatever was not got at the end is accounted for",
            seen={
                "opened": len(opened),
                "refused": len(np.setdiff1d(refusing, opened)),
                "stalled": len(stalled),
                "delivered": found.count("delivered"),
                "denied": found.spans("denied").count(),
            },
            findings=capped([*stuck, *unreadable]),
            counts={
                **{kind: sum(one.kind == kind for one in stuck) for kind in ("stuck", "key_lost")},
                "unreadable": sum(finding.count for finding in unreadable),
            },
            notes=(*lacking, *some_notes(stalled), *some_notes([text for _, text in doubtful])),
            undecided=tuple(sorted({ledger for ledger, _ in doubtful})),
        )


def _shown(census: Rows, denied: Spans) -> pa.Table:
    """The copies that bookies showed of denied entries, by bookie and pass of the census as one number."""
    copies = census.of(holding=Holding.PRESENT)
    copies = copies.where(denied.has(copies["ledger"], copies["entry"]))
    mark = life_of(ints(copies["bookie"]), ints(copies["pass_number"]))
    return span_rows("shown", copies["ledger"], copies["entry"], proof=[mark])


def _recoveries(facts: LedgerFacts, run: RunFacts) -> Iterator[tuple[int, Refused]]:
    """What is to be said of each ledger that could not be opened."""
    known = {*facts.columns(OPENED)["ledger"].tolist(), *facts.columns(RELEASED)["ledger"].tolist()}
    for ledger in np.unique(facts.columns(REFUSED)["ledger"]).tolist():
        if ledger not in known:
            one = refused(ledger, refusals_of(facts, ledger), facts.once(histories), run)
            if one is not None:
                yield ledger, one


def _reads(
    found: Found, facts: LedgerFacts, doubtful: list[tuple[int, str]], run: RunFacts
) -> Iterator[Finding]:
    """The entries that were there and not read; what cannot be decided goes to ``doubtful``."""
    metadata, shown = facts.once(histories), found.marks("shown")
    gone = {*facts.columns(RELEASED)["ledger"].tolist(), *metadata.deleted}
    denied = found.spans("denied").without(gone)
    for ledger in denied.ledgers():
        ((_, *times),) = facts.of(READING, ledger)
        reading, chain = Reading(*times), metadata.of.get(ledger, ())
        case = served(denied.of(ledger), reading, chain, shown, facts.once(passes), run)
        yield from findings(ledger, case, reading, run)
        unproven = Spans.of_entries(ledger, case.entries[case.at_the_end & ~case.proven()])
        doubtful += _each(unproven, "denied at the end; a bookie shows it later, perhaps fetched since", run)
    unread = found.spans("unread").without(gone)
    doubtful += _each(unread, "not read at the end, for a reason that is no answer of every bookie", run)


def _each(entries: Spans, what: str, run: RunFacts) -> list[tuple[int, str]]:
    """Each ledger with such entries, and a note on it."""
    notes = []
    for ledger in entries.ledgers():
        mine = entries.of(ledger)
        first, number = int(mine.first[0]), mine.count()
        which = entries_text(first, first) if number == 1 else f"{number:,} entries from {first} on"
        notes.append((ledger, f"{run.ledger_text(ledger)}: {which} {what}"))
    return notes
