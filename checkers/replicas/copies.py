"""Which bookies lack which entries of a ledger, held against what its metadata names.

Pure set arithmetic over one pass of the census and the versions that were in force meanwhile. A bookie
owes a copy only if every one of those versions names it for the entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np

from checkers.facts.losses import holders
from checkers.facts.observations import Census
from checkers.facts.passes import Pass
from checkers.facts.versions import Version
from checkers.sets.marks import Marks
from checkers.sets.spans import Bools, Ints, Spans


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


@dataclass(frozen=True, slots=True)
class Copies:
    """One ledger in one pass: ``due`` entries, copies that are there, what falls short, what differs."""

    due: int
    there: int
    short: tuple[Short, ...]
    differing: Spans


def in_force(chain: tuple[Version, ...], during: Pass) -> tuple[Version, ...]:
    """The versions that may have been in force at some time of the pass, ascending."""
    surely = [at for at, version in enumerate(chain) if version.latest_ns < during.began_ns]
    late = chain[surely[-1] :] if surely else chain
    return tuple(version for version in late if version.earliest_ns <= during.ended_ns)


def due_entries(versions: tuple[Version, ...], lac: int) -> int:
    """The last entry that must be fully replicated: of a closed ledger its end, of others the LAC."""
    return min((version.last_entry if version.closed else lac for version in versions), default=-1)


@dataclass(frozen=True, slots=True)
class Shown:
    """One pass of the census, read once for all ledgers.

    By bookie: the ``copies`` that it showed, of which entries (``there``), and which it denied or gave
    damaged. Of all bookies: the entries of which ``anybody`` showed a copy, and those of which ``several``
    different ones were shown.
    """

    copies: Mapping[int, Marks]
    there: Mapping[int, Spans]
    denied: Mapping[int, Spans]
    anybody: Spans
    several: Spans


def shown_in(census: Census, number: int) -> Shown:
    """What pass ``number`` showed."""
    marks = {bookie: found for (mine, bookie), found in census.present.items() if mine == number}
    denied: dict[int, Spans] = {}
    for answers in (census.absent, census.damaged):
        for (mine, bookie), spans in answers.items():
            if mine == number:
                denied[bookie] = denied.get(bookie, Spans.empty()) | spans
    together = reduce(or_, marks.values(), Marks.empty())
    there = {bookie: found.spans() for bookie, found in marks.items()}
    return Shown(marks, there, denied, together.spans(), together.twice())


def copies(
    ledger: int, versions: tuple[Version, ...], last: int, shown: Shown, known: Mapping[str, int]
) -> Copies:
    """Hold entries 0..``last`` of a ledger against the answers of one pass."""
    entries = np.arange(last + 1, dtype=np.int64)
    duties = _duties(versions, entries, known)
    bookies = sorted(duties)
    nobody = np.zeros((len(bookies), len(entries)), dtype=np.bool_)
    have, lack, owe = nobody.copy(), nobody.copy(), nobody.copy()
    for at, bookie in enumerate(bookies):
        there = shown.there.get(bookie, Spans.empty()).holds(ledger, entries)
        denied = shown.denied.get(bookie, Spans.empty()).holds(ledger, entries)
        have[at] = duties[bookie] & there
        lack[at] = duties[bookie] & denied & ~there
        owe[at] = duties[bookie] & ~denied & ~there
    return Copies(
        due=len(entries),
        there=int(have.sum()),
        short=tuple(
            _alike(ledger, entries, bookies, (lack, owe, have), shown.anybody.holds(ledger, entries))
        ),
        differing=_differing(ledger, shown, dict(zip(bookies, have, strict=True))),
    )


def _duties(versions: tuple[Version, ...], entries: Ints, known: Mapping[str, int]) -> dict[int, Bools]:
    """Bookie -> the entries for which every version names it."""
    found: dict[int, Bools] = {}
    for at, version in enumerate(versions):
        now: dict[int, Bools] = {}
        for bookie, duty in holders((version,), entries, known):
            now[bookie] = now.get(bookie, np.zeros(len(entries), dtype=np.bool_)) | duty
        shared = found.keys() & now.keys()
        found = {bookie: found[bookie] & now[bookie] for bookie in shared} if at else now
    return found


def _alike(
    ledger: int, entries: Ints, bookies: list[int], masks: tuple[Bools, Bools, Bools], anywhere: Bools
) -> Iterator[Short]:
    """The entries that fall short, grouped by whose copies are missing, in the order of entries."""
    if not bookies or not len(entries):
        return
    lack, owe, have = masks
    pick = (lack | owe).any(axis=0)
    columns = np.vstack([*masks, anywhere & ~have.any(axis=0)])[:, pick]
    kinds, first, which = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    for kind in np.argsort(first):
        parts = np.split(kinds[:-1, kind], 3)
        lacking, unsure, having = (
            tuple(bookie for bookie, there in zip(bookies, part.tolist(), strict=True) if there)
            for part in parts
        )
        mine = entries[pick][which.reshape(-1) == kind]
        yield Short(Spans.of_entries(ledger, mine), lacking, unsure, having, bool(kinds[-1, kind]))


def _differing(ledger: int, shown: Shown, have: Mapping[int, Bools]) -> Spans:
    """Entries of which two bookies that owe a copy show different ones."""
    found = []
    for entry in shown.several.of(ledger).entries().tolist():
        seen = {
            mark
            for bookie, mine in have.items()
            if entry < len(mine) and mine[entry]
            for mark, _, _ in shown.copies[bookie].within(ledger, entry, entry)
        }
        found += [entry] if len(seen) > 1 else []
    return Spans.of_entries(ledger, found) if found else Spans.empty()
