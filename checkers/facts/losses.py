"""Which entries are provably lost: the obliged set held against the answers.

Lost needs proof: the ledger's last close lies below the entry, or every bookie whose duty the
entry ever was answered in the last census pass that it has no such entry. Corrupt needs that
nothing but other bytes was found anywhere. All else that was not delivered is unavailable. An entry that
was delivered is kept, unless that pass began afterwards and all that it found were such answers.
Sources: BP-46 ("A note on Response Codes"), the rules in ``docs/verdicts.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import sub

import numpy as np

from checkers.contract import RunFacts
from checkers.facts.damage import damage_to
from checkers.facts.histories import Histories
from checkers.facts.obliged import Obliged
from checkers.facts.observations import Census, Finals
from checkers.facts.passes import Pass
from checkers.facts.versions import Version
from checkers.sets.marks import Marks
from checkers.sets.spans import LAST_ENTRY, Bools, Ints, Spans
from protocol.addresses import name_of_id

NOBODY = -1
"""Stands for a bookie that the run does not know: it can have answered nothing."""


@dataclass(frozen=True, slots=True)
class Losses:
    """The obliged set, parted: every obliged entry of a ledger that was not released is in one of these.

    ``truncated`` and ``absent`` are lost (by a close below them, or by explicit negatives),
    ``vanished`` are the entries of ledgers whose metadata went without an invoked delete.
    """

    kept: Spans
    truncated: Spans
    absent: Spans
    corrupt: Spans
    vanished: Spans
    unavailable: Spans

    @property
    def lost(self) -> Spans:
        """Lost for either reason."""
        return self.truncated | self.absent


def kept_entries(obliged: Obliged, finals: Finals) -> Spans:
    """What final reads delivered as the bytes that were acknowledged (any proven bytes, if not acked)."""
    marked = obliged.marks.spans()
    delivered = finals.kept.spans()
    return obliged.entries & ((delivered - marked) | (delivered & (finals.kept & obliged.marks).spans()))


def part(
    obliged: Obliged,
    finals: Finals,
    census: Census,
    last: Pass | None,
    histories: Histories,
    vanished: set[int],
    run: RunFacts,
) -> Losses:
    """Part the obliged set of the ledgers given (released ones already left out) by the ``last`` pass."""
    kept = kept_entries(obliged, finals)
    missing = obliged.entries - kept
    gone = missing - missing.without(vanished)
    missing = missing - gone
    truncated = missing & Spans.beyond(histories.ends)
    early = [ledger for ledger, at_ns in finals.read_ns.items() if last and at_ns < last.began_ns]
    asked_after = kept - kept.without(early)
    absent, corrupt = _by_answers(missing - truncated, asked_after, obliged, census, histories, run)
    unsure = _changing((absent | corrupt) & asked_after, last, histories)
    absent, corrupt = absent - unsure, corrupt - unsure
    kept = kept - unsure - absent - corrupt
    open_question = obliged.entries - kept - gone - truncated
    return Losses(
        kept=kept,
        truncated=truncated,
        absent=absent,
        corrupt=corrupt,
        vanished=gone,
        unavailable=open_question - absent - corrupt,
    )


def holders(
    chain: tuple[Version, ...], entries: Ints, numbers: Mapping[str, int]
) -> Iterator[tuple[int, Bools]]:
    """(bookie number, mask of ``entries``) for every bookie whose duty an entry was in any version.

    The write set is that of the version's own fragment; a bookie may come up more than once, and
    one that the run does not know comes up as ``NOBODY``.
    """
    for first, last, bookies, (ensemble, write, _) in sorted(_fragments(chain)):
        inside = (entries >= first) & (entries <= last)
        for position, bookie in enumerate(bookies):
            duty = inside & ((position - entries) % ensemble < write)
            if duty.any():
                yield numbers.get(name_of_id(bookie), NOBODY), duty


def _fragments(
    chain: tuple[Version, ...],
) -> set[tuple[int, int, tuple[str, ...], tuple[int, int, int]]]:
    """The distinct (first, last, bookies, (E, WQ, AQ)) that any version names."""
    found = set()
    for version in chain:
        firsts = [first for first, _ in version.fragments]
        lasts = [first - 1 for first in firsts[1:]] + [LAST_ENTRY]
        for (first, bookies), last in zip(version.fragments, lasts, strict=True):
            found.add((first, last, bookies, version.shape))
    return found


def _changing(read: Spans, last: Pass | None, histories: Histories) -> Spans:
    """Of entries that had been read, those of ledgers whose metadata may have changed during the last pass.

    Replication may have made a copy where it had been denied, and the former one may have been collected.
    """
    settled = {
        ledger
        for ledger in read.ledgers()
        if last
        and all(
            version.latest_ns < last.began_ns or last.ended_ns < version.earliest_ns
            for version in histories.of[ledger][1:]
        )
    }
    return read.without(settled)


def _by_answers(
    missing: Spans, read: Spans, obliged: Obliged, census: Census, histories: Histories, run: RunFacts
) -> tuple[Spans, Spans]:
    """(lost, corrupt) of the missing entries, and of those read before, by the last pass's answers.

    Where the evidence was not closed, that pass may be one between two steps of the plan: an entry
    that it denies may have been on its way, and acknowledged later. Bookies may forget a ledger
    whose metadata is gone.
    """
    if not run.complete or not census.last_pass or damage_to(run, ("ledgers", "census")):
        return Spans.empty(), Spans.empty()
    answers = _LastPass.of(census, obliged)
    missing = missing | reduce(sub, answers.good.values(), read)
    absent: list[tuple[int, Ints]] = []
    corrupt: list[tuple[int, Ints]] = []
    for ledger in missing.ledgers():
        if histories.known_whole(ledger) and ledger not in histories.gone:
            entries = missing.of(ledger).entries()
            duties = list(holders(histories.of[ledger], entries, run.bookies))
            lost, spoiled = answers.verdicts(ledger, entries, duties)
            absent.append((ledger, entries[lost]))
            corrupt.append((ledger, entries[spoiled]))
    return gathered(absent), gathered(corrupt)


def gathered(parts: list[tuple[int, Ints]]) -> Spans:
    """(ledger, its entries) pairs as one set."""
    if not parts:
        return Spans.empty()
    ledgers = np.repeat([ledger for ledger, _ in parts], [len(entries) for _, entries in parts])
    return Spans.of_entries(ledgers, np.concatenate([entries for _, entries in parts]))


@dataclass(frozen=True, slots=True)
class _LastPass:
    """The last census pass by bookie: explicit negatives, copies that are right, copies that are not."""

    absent: Mapping[int, Spans]
    good: Mapping[int, Spans]
    bad: Mapping[int, Spans]

    @classmethod
    def of(cls, census: Census, obliged: Obliged) -> _LastPass:
        number, marked = census.last_pass, obliged.marks.spans()
        absent, good, bad = {}, {}, {}
        for bookie in census.bookies(number):
            copies = census.present.get((number, bookie), Marks.empty())
            held = copies.spans()
            good[bookie] = (held - marked) | (copies & obliged.marks).spans()
            bad[bookie] = (held - good[bookie]) | census.damaged.get((number, bookie), Spans.empty())
            absent[bookie] = census.absent.get((number, bookie), Spans.empty())
        return cls(absent, good, bad)

    def verdicts(self, ledger: int, entries: Ints, duties: list[tuple[int, Bools]]) -> tuple[Bools, Bools]:
        """(lost, corrupt) of each entry, given whose duty it was."""
        good = self._anywhere(self.good, ledger, entries)
        bad = self._anywhere(self.bad, ledger, entries)
        due = np.zeros(len(entries), dtype=np.bool_)
        all_absent = np.ones(len(entries), dtype=np.bool_)
        all_without = all_absent.copy()
        for bookie, duty in duties:
            absent = self.absent.get(bookie, Spans.empty()).holds(ledger, entries)
            spoiled = self.bad.get(bookie, Spans.empty()).holds(ledger, entries)
            due |= duty
            all_absent &= absent | ~duty
            all_without &= absent | spoiled | ~duty
        return due & all_absent & ~good & ~bad, due & all_without & bad & ~good

    def _anywhere(self, answers: Mapping[int, Spans], ledger: int, entries: Ints) -> Bools:
        found = np.zeros(len(entries), dtype=np.bool_)
        for spans in answers.values():
            found |= spans.holds(ledger, entries)
        return found
