"""Entries that a bookie serves before and after, and that the final read in between did not get.

One census pass alone proves nothing: the bookie may have fetched the entry since. So it must have
shown the entry in a pass before the read and in the last one after it, in one and the same boot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.contract import Batch, LedgerFact, Rows, RunFacts
from checkers.facts.boots import Health, life_of
from checkers.facts.ledgers import Passes
from checkers.facts.parts import final
from checkers.facts.versions import Version, lasting_duties
from checkers.facts.wording import entries_text, listed
from checkers.sets.marks import Marks
from checkers.sets.spans import Bools, Ints, Spans
from evidence.codes import NEVER, ErrorCode, Kind, Outcome
from evidence.findings import Finding

DENIED = (ErrorCode.NO_SUCH_ENTRY, ErrorCode.NO_SUCH_LEDGER)
"""How a read ends when every bookie asked said no: any other answer would have come before these."""


def unsuccessful(rows: Rows) -> Rows:
    """The final reads of single entries that did not succeed, among rows of ``operations``.

    The observer repeats a read of many entries one by one, so that it is known of each why it failed.
    """
    reads = rows.of(kind=Kind.READ).once(final)
    return reads.where(
        (reads["outcome"] != Outcome.OK) & (reads["entry"] == reads["last"]) & (reads["entry"] >= 0)
    )


def is_denied(reads: Rows) -> Bools:
    """Which reads ended with an explicit negative."""
    denied: Bools = np.isin(reads["error"], DENIED) & (reads["completed_ns"] != NEVER)
    return denied


def _denied(batch: Batch) -> Rows:
    reads = batch.operations.once(unsuccessful)
    return reads.where(is_denied(reads))


READING = LedgerFact(
    "denied_at_the_end",
    "operations",
    _denied,
    values={"invoked_ns": "min", "completed_ns": "max"},
)
"""When the final reads that were denied were first invoked, and when the last of them ended."""


class Reading(NamedTuple):
    """The final reads of one ledger that were denied: first invocation, last end (ns)."""

    began_ns: int
    ended_ns: int


@dataclass(frozen=True, slots=True)
class Served:
    """Of the entries of one ledger that a read was denied: who served them all the while, who at the end."""

    entries: Ints
    throughout: Mapping[int, Bools]
    at_the_end: Bools
    passes: tuple[int, int] = (0, 0)

    def proven(self) -> Bools:
        """The entries that some bookie served before and after."""
        proven = np.zeros(len(self.entries), dtype=np.bool_)
        for mask in self.throughout.values():
            proven |= mask
        return proven


def _showed(shown: Marks, ledger: int, bookie: int, number: int, entries: Ints) -> Bools:
    """Which entries of a ledger a bookie showed in a pass; ``shown`` is sorted by ledger."""
    mine = slice(*np.searchsorted(shown.ledger, [ledger, ledger + 1]).tolist())
    its = shown.mark[mine] == life_of(bookie, number)
    copies = Spans(*(column[mine][its] for column in (shown.ledger, shown.first, shown.last)))
    return copies.holds(ledger, entries)


def served(
    denied: Spans,
    reading: Reading,
    chain: tuple[Version, ...],
    shown: Marks,
    passes: Passes,
    run: RunFacts,
) -> Served:
    """Hold the denied entries of one ledger against the census and the write sets since its close.

    ``shown`` has the copies of denied entries, marked with bookie and pass (``life_of``).
    """
    ledger, entries = int(denied.ledger[0]), denied.entries()
    last = max(passes, default=0)
    before = max((number for number, one in passes.items() if one.ended_ns < reading.began_ns), default=0)
    throughout, at_the_end = {}, np.zeros(len(entries), dtype=np.bool_)
    since = next((at for at, version in enumerate(chain) if version.closed), len(chain))
    for bookie, duty in lasting_duties(chain[since:], entries, run.bookies).items():
        late = duty & _showed(shown, ledger, bookie, last, entries)
        at_the_end |= late
        if before and passes[last].began_ns > reading.ended_ns:
            both = late & _showed(shown, ledger, bookie, before, entries)
            if both.any() and Health(run, passes[before].began_ns, passes[last].ended_ns).boot(bookie):
                throughout[bookie] = both
    return Served(entries, throughout, at_the_end, (before, last))


def findings(ledger: int, case: Served, reading: Reading, run: RunFacts) -> Iterator[Finding]:
    """One for each span of entries that were served and denied."""
    proven = Spans.of_entries(ledger, case.entries[case.proven()])
    for _, first, last in proven:
        inside = (case.entries >= first) & (case.entries <= last)
        whole = [bookie for bookie, mask in case.throughout.items() if mask[inside].all()]
        some = [bookie for bookie, mask in case.throughout.items() if mask[inside].any()]
        names = listed(run.bookie_name(bookie) for bookie in sorted(whole or some))
        which, (before, after) = entries_text(first, last), case.passes
        yield run.finding(
            "availability/unreadable",
            (ledger, first, last),
            f"{which} denied to the final read, yet there on {names}",
            f"final reads between {run.time_text(reading.began_ns)} and "
            f"{run.time_text(reading.ended_ns)}: each ended with an explicit negative, so every bookie "
            "asked gave one",
            f"census pass {before} before them and {after} after them: {names} showed {which}",
            f"{names} lived from the one pass to the other and had that duty ever since the close",
        )
