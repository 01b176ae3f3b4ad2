"""Which bookies lack which entries of a ledger, held against what its metadata names.

One pass of the census is held against the versions that were in force meanwhile: a bookie owes a copy only
if every one of those versions names it for the entry. All answers about an entry are in one block; entries
that no bookie was asked for are in none.

A bookie may take another's place in a fragment whose entries were all written before. Repair copies the
entries of such a fragment to the new bookie first, and names it in the metadata when every copy is confirmed
(``LedgerFragmentReplicator``, ``UpdateEnsembleCb``). The last fragment of a ledger that is not closed is left
out: there a writer or a recovery replaces a bookie that failed, and sends it only what was not acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from checkers.facts.parts import entries_of, signed
from checkers.facts.versions import Version, lasting_duties
from checkers.judging.contract import Rows, RunFacts
from checkers.judging.found import BOOKIE_WORDS, Found, bookie_bits, bookie_sets, set_rows, span_rows
from checkers.sets.marks import Marks
from checkers.sets.spans import LAST_ENTRY, Bools, Ints, Spans
from evidence.codes import Holding
from protocol.addresses import name_of_id


@dataclass(frozen=True, slots=True)
class Short:
    """Entries of one ledger with one and the same fate: who lacks them, who owes an answer, who has them.

    ``elsewhere`` says that some bookie that owes no copy has one.
    """

    entries: Spans
    lacking: tuple[int, ...]
    unsure: tuple[int, ...]
    having: tuple[int, ...]
    elsewhere: bool


def due_entries(versions: tuple[Version, ...], lac: int) -> int:
    """The last entry that must be fully replicated: of a closed ledger its end, of others the LAC."""
    return min((version.last_entry if version.closed else lac for version in versions), default=-1)


@dataclass(frozen=True, slots=True)
class Shown:
    """The answers of one pass: by bookie the ``copies`` shown, and what it ``denied`` or gave damaged.

    ``asked`` are the entries with any answer, ``several`` those of which different copies were shown.
    """

    copies: Mapping[int, Marks] = field(default_factory=dict)
    denied: Mapping[int, Spans] = field(default_factory=dict)
    asked: Spans = field(default_factory=Spans.empty)
    several: Spans = field(default_factory=Spans.empty)

    @classmethod
    def from_rows(cls, rows: Rows) -> Shown:
        """Of the rows of one pass."""
        by_bookie = {bookie: rows.where(bookie=bookie) for bookie in np.unique(rows["bookie"]).tolist()}
        copies = {who: mine.where(holding=Holding.PRESENT).memo(signed) for who, mine in by_bookie.items()}
        denied = {
            who: mine.where(holding=Holding.ABSENT).memo(entries_of)
            | mine.where(holding=Holding.DAMAGED).memo(entries_of)
            for who, mine in by_bookie.items()
        }
        return cls(copies, denied, entries_of(rows), reduce(or_, copies.values(), Marks.empty()).twice())


def copies(
    ledger: int, versions: tuple[Version, ...], entries: Ints, shown: Shown, known: Mapping[str, int]
) -> Found:
    """Hold some entries of a ledger against the answers of one pass."""
    there = {bookie: marks.spans().holds(ledger, entries) for bookie, marks in shown.copies.items()}
    none = np.zeros(len(entries), dtype=np.bool_)
    have, lack, owe = {}, {}, {}
    for bookie, duty in lasting_duties(versions, entries, known).items():
        denied = shown.denied.get(bookie, Spans.empty()).holds(ledger, entries)
        have[bookie] = duty & there.get(bookie, none)
        lack[bookie] = duty & denied & ~have[bookie]
        owe[bookie] = duty & ~denied & ~have[bookie]
    short = reduce(or_, (*lack.values(), *owe.values()), none)
    elsewhere = reduce(or_, there.values(), none) & ~reduce(or_, have.values(), none)
    proof = [word[short] for sets in (lack, owe, have) for word in _words(sets, none)]
    return Found.from_tables(
        span_rows("short", np.full(short.sum(), ledger), entries[short], proof=[*proof, elsewhere[short]]),
        set_rows("differing", _differing(ledger, entries, shown, have)),
        copies=sum(int(mask.sum()) for mask in have.values()),
    )


def damaged_rows(rows: Rows) -> pa.Table:
    """The damaged copies that bookies gave in one pass."""
    damaged = rows.where(holding=Holding.DAMAGED)
    return span_rows("damaged", damaged["ledger"], damaged["entry"], proof=[damaged["bookie"]])


def damaged_on(bookie: int, ledger: int, found: Found) -> Spans:
    """The entries of one ledger of which a bookie gave a damaged copy."""
    marks = found.marks("damaged")
    mine = (marks.mark == bookie) & (marks.ledger == ledger)
    return Spans(marks.ledger[mine], marks.first[mine], marks.last[mine])


def _words(sets: Mapping[int, Bools], none: Bools) -> Ints:
    """The bookies that each entry is in the set of, as numbers."""
    found = np.zeros((BOOKIE_WORDS, len(none)), dtype=np.int64)
    for bookie, mask in sets.items():
        found |= np.stack(bookie_bits(bookie)) * mask
    return found


def shorts(found: Found) -> dict[int, tuple[Short, ...]]:
    """By ledger the entries that fall short, grouped by whose copies are missing, in the order of entries."""
    grouped: dict[tuple[int, tuple[int, ...]], list[tuple[int, int]]] = {}
    for row in sorted(found.runs("short"), key=lambda row: (row.ledger, row.first)):
        grouped.setdefault((row.ledger, row.proof), []).append((row.first, row.last))
    by_ledger: dict[int, tuple[Short, ...]] = {}
    for (ledger, (*words, elsewhere)), spans in grouped.items():
        entries = Spans.from_ranges(ledger, *np.array(spans, dtype=np.int64).T)
        lacking, unsure, having = bookie_sets(words)
        short = Short(entries, lacking, unsure, having, bool(elsewhere))
        by_ledger[ledger] = (*by_ledger.get(ledger, ()), short)
    return by_ledger


def _differing(ledger: int, entries: Ints, shown: Shown, have: Mapping[int, Bools]) -> Spans:
    """Entries of which two bookies that owe a copy show different ones."""
    found = []
    for at in np.flatnonzero(shown.several.holds(ledger, entries)).tolist():
        entry = int(entries[at])
        owing = (shown.copies[bookie] for bookie, mine in have.items() if mine[at])
        marks = {mark for copies in owing for mark, *_ in copies.within(ledger, entry, entry)}
        found += [entry] if len(marks) > 1 else []
    return Spans.from_entries(ledger, found)


class Move(NamedTuple):
    """``version`` (in force at ``at_ns``) names ``bookie`` for these entries ``instead_of`` another."""

    bookie: int
    instead_of: str
    first: int
    last: int
    version: int
    at_ns: int


def moves(chain: tuple[Version, ...], run: RunFacts) -> tuple[Move, ...]:
    """The first change to each bookie, of every fragment, between two consecutive versions of one ledger."""
    first: dict[tuple[int, int], Move] = {}
    for before, after in pairwise(chain):
        for one in _between(before, after, run):
            first.setdefault((one.bookie, one.first), one)
    return tuple(first.values())


def _between(before: Version, after: Version, run: RunFacts) -> Iterator[Move]:
    """Moves from one version to the next; none where a version in between was not seen."""
    if after.version != before.version + 1:
        return
    earlier = dict(before.fragments if before.closed else before.fragments[:-1])
    end = after.last_entry if after.closed else LAST_ENTRY
    for first, last, bookies in after.ranges(end):
        for old, new in zip(earlier.get(first, ()), bookies, strict=False):
            number = run.bookies.get(name_of_id(new))
            if new != old and number is not None and new not in earlier[first]:
                yield Move(number, name_of_id(old), first, last, after.version, after.latest_ns)
