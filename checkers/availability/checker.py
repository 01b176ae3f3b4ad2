"""Availability: progress is made where the protocol promises it.

Two promises can be held against the record once everything is healed. A recovery comes to its end if
fewer than AQ bookies of every write set have lost state; where more have, it may be stalled, and that
is as promised. And an entry that a bookie of its write set serves before and after can be read in
between. How long an operation may take is promised nowhere, so slowness convicts nobody. Sources: *Closing
Ledgers Safely* ("Quorum Coverage", "Unknown"), BP-46 ("A note on Quorums").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers.availability.stuck import Refused, refused
from checkers.availability.unreadable import findings, served
from checkers.contract import Chunk, RunFacts
from checkers.facts.boots import life_of
from checkers.facts.damage import shortcomings
from checkers.facts.histories import Histories, histories_of
from checkers.facts.lastlook import LastLook, merge_last_look, scan_last_look
from checkers.facts.observations import each_asked
from checkers.facts.parts import deleted, entries_of
from checkers.facts.passes import Passes, merge_passes, scan_passes
from checkers.facts.versions import Versions, scan_versions
from checkers.facts.wording import entries_text, ledger_text, some_notes
from checkers.sets.capping import capped
from checkers.sets.spans import Spans
from checkers.sets.stripes import Stripes
from evidence.codes import Holding
from evidence.findings import Finding, Judgement, Verdict

_RESTS_ON = ("operations", "census", "ledgers", "servers", "faults")


@dataclass(frozen=True, slots=True)
class Facts:
    """The summary; ``present`` has who showed a copy, by (pass, bookie) as one number."""

    look: LastLook
    present: Stripes
    passes: Passes
    released: frozenset[int]
    versions: Versions


class Availability:
    """Convicts a recovery that is stuck, and entries that are there and cannot be read."""

    name = "availability"
    tables: tuple[str, ...] = ("operations", "census", "ledgers")
    kinds: tuple[str, ...] = ("stuck", "key_lost", "unreadable")

    def scan(self, chunk: Chunk, run: RunFacts) -> Facts:  # noqa: ARG002  # as agreed
        """Final opens and reads, copies that bookies showed, deletes and metadata of one chunk."""
        rows, census = chunk.operations, chunk.census
        present = Stripes.empty()
        for (number, bookie), part in each_asked(census.of(holding=Holding.PRESENT)):
            present |= Stripes.of_spans(life_of(bookie, number), part.once(entries_of))
        return Facts(
            look=scan_last_look(rows),
            present=present,
            passes=census.once(scan_passes),
            released=frozenset(np.unique(deleted(rows)["ledger"]).tolist()),
            versions=scan_versions(chunk),
        )

    def merge(self, left: Facts, right: Facts) -> Facts:
        """Both."""
        return Facts(
            merge_last_look(left.look, right.look),
            left.present | right.present,
            merge_passes(left.passes, right.passes),
            left.released | right.released,
            left.versions | right.versions,
        )

    def conclude(self, summary: Facts, run: RunFacts) -> Judgement:
        """Needs final opens, and that whatever they and the reads did not get is accounted for."""
        lacking = shortcomings(run, _RESTS_ON)
        histories = histories_of(summary.versions)
        told = {} if lacking else dict(_recoveries(summary, histories, run))
        stalled = [one.text for one in told.values() if one.stalled]
        doubtful = [(ledger, one.text) for ledger, one in told.items() if not one.stalled and not one.finding]
        stuck = [one.finding for one in told.values() if one.finding]
        unreadable: list[Finding] = []
        if not lacking:
            unreadable = list(_reads(summary, histories, doubtful, run))
        look = summary.look
        enough = not lacking and not doubtful and bool(look.opened or look.refused)
        verdict = Verdict.VALID if enough else Verdict.UNKNOWN
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if stuck or unreadable else verdict,
            needed="whole evidence, final opens, and that whatever was not got at the end is accounted for",
            seen={
                "opened": len(look.opened),
                "refused": len(set(look.refused) - look.opened),
                "stalled": len(stalled),
                "delivered": look.delivered.count(),
                "denied": (look.denied - look.delivered).count(),
            },
            findings=capped([*stuck, *unreadable]),
            counts={
                **{kind: sum(one.kind == kind for one in stuck) for kind in ("stuck", "key_lost")},
                "unreadable": sum(finding.count for finding in unreadable),
            },
            notes=(*lacking, *some_notes(stalled), *some_notes([text for _, text in doubtful])),
            undecided=tuple(sorted({ledger for ledger, _ in doubtful})),
        )


def _recoveries(facts: Facts, histories: Histories, run: RunFacts) -> Iterator[tuple[int, Refused]]:
    """What is to be said of each ledger that could not be opened."""
    for ledger, refusals in sorted(facts.look.refused.items()):
        if ledger not in facts.look.opened and ledger not in facts.released:
            one = refused(ledger, refusals, histories, run)
            if one is not None:
                yield ledger, one


def _reads(
    facts: Facts, histories: Histories, doubtful: list[tuple[int, str]], run: RunFacts
) -> Iterator[Finding]:
    """The entries that were there and not read; what cannot be decided goes to ``doubtful``."""
    look = facts.look
    gone = facts.released | histories.deleted.keys()
    denied = (look.denied - look.delivered).without(gone)
    for ledger in denied.ledgers():
        chain, reading = histories.of.get(ledger, ()), look.readings[ledger]
        case = served(denied.of(ledger), reading, chain, facts.present, facts.passes, run)
        yield from findings(ledger, case, reading, run)
        unproven = Spans.of_entries(ledger, case.entries[case.at_the_end & ~case.proven()])
        doubtful += _each(unproven, "denied at the end; a bookie shows it later, perhaps fetched since", run)
    unread = (look.unread - look.delivered).without(gone)
    doubtful += _each(unread, "not read at the end, for a reason that is no answer of every bookie", run)


def _each(entries: Spans, what: str, run: RunFacts) -> list[tuple[int, str]]:
    """Each ledger with such entries, and a note on it."""
    notes = []
    for ledger in entries.ledgers():
        mine = entries.of(ledger)
        first, number = int(mine.first[0]), mine.count()
        which = entries_text(first, first) if number == 1 else f"{number:,} entries from {first} on"
        notes.append((ledger, f"{ledger_text(run, ledger)}: {which} {what}"))
    return notes
