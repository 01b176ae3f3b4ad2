"""What became of the promised entries of some blocks: kept, lost, corrupt, or not decided.

Lost needs proof: the ledger's last close lies below the entry, or every bookie that was ever to store the
entry answered in the last census pass that it has no such entry. Corrupt needs that nothing but other bytes
was found anywhere. An entry that a final read delivered is kept, unless that pass began after the read
and all that it found were such answers. It is not decided where the bookies that a reader would ask gave such
answers, and any other bookie has a copy. Sources: BP-46 ("A note on Response Codes"),
``docs/verdicts/losses.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np

from checkers.durability.holders import acknowledged, by_bookie, inside
from checkers.facts.ledgers import HIGHEST_LAC, PASS_TIMES, RELEASED, Pass, histories, passes, tops
from checkers.facts.parts import delivered, entries_of, final, proven, signed
from checkers.facts.promises import promises_of
from checkers.facts.versions import duties, gathered, in_force
from checkers.judging.contract import Batch, LedgerFact, LedgerFacts, Rows, RunFacts, by_ledger, value_at
from checkers.sets.marks import Marks
from checkers.sets.ordering import firsts
from checkers.sets.spans import LAST_ENTRY, Bools, Ints, Spans, sweep
from evidence.codes import NEVER, Holding

LAST_READ = LedgerFact(
    "last_read",
    "operations",
    lambda batch: tops(batch.operations.memo(delivered), "completed_ns"),
    values={"completed_ns": "max"},
)
"""When a client was last delivered an entry of the ledger (ns)."""
FACTS = (HIGHEST_LAC, RELEASED, PASS_TIMES, LAST_READ)


class Fates(NamedTuple):
    """Sets of promised entries; those in none of them are not decided."""

    read: Spans
    """Delivered by a final read; also absent or corrupt where the last census pass found them so later."""
    unsure: Spans
    """Read, and then absent or corrupt in the last census pass, while the metadata may have changed; or all
    bookies of which the metadata then said that they have it gave such answers.
    """
    truncated: Spans
    """Beyond the last close of their ledger."""
    absent: Spans
    """Denied by every bookie."""
    corrupt: Spans
    """Found only as other bytes."""

    @property
    def lost(self) -> Spans:
        """Lost for either reason."""
        return self.truncated | self.absent

    @property
    def kept(self) -> Spans:
        """Read, and not found otherwise afterwards."""
        return self.read - self.absent - self.corrupt - self.unsure


def promised_up_to(facts: LedgerFacts) -> tuple[Ints, Ints]:
    """Ledgers, ascending, and up to where each is promised whole: its highest LAC or its last close."""
    highest, (closed, ends) = facts.columns(HIGHEST_LAC), facts.memo(_last_ends)
    ledger, up_to = np.concatenate([highest["ledger"], closed]), np.concatenate([highest["lac"], ends])
    first = firsts(ledger, -up_to)
    return ledger[first], up_to[first]


def _last_ends(facts: LedgerFacts) -> tuple[Ints, Ints]:
    return by_ledger(facts.memo(histories).ends)


def beyond_end(entries: Spans, facts: LedgerFacts) -> Spans:
    """Those beyond the last close of their ledger."""
    return entries.above(value_at(*facts.memo(_last_ends), entries.ledger, LAST_ENTRY))


def _promised_whole(entries: Spans, facts: LedgerFacts) -> Spans:
    """Those up to the highest LAC or the last close of their ledger, unless a client deleted that."""
    kept = entries.without(facts.columns(RELEASED)["ledger"].tolist())
    return kept.up_to_each(value_at(*facts.memo(promised_up_to), kept.ledger, -1))


def fates_of(promised: Spans, batch: Batch, facts: LedgerFacts, run: RunFacts) -> Fates:
    """The fates of the entries of a batch: of those ``promised`` one by one, and by LACs and closes."""
    promises = promises_of(batch)
    marks = promises.acked | promises.deferred
    last = max(facts.memo(passes), default=0)
    census = batch.census.where(pass_number=last)
    got = batch.operations.memo(delivered).memo(proven).memo(final).memo(signed)
    read = _with_bytes(got, marks) & (promised | _promised_whole(got.spans(), facts))
    disks = batch.holdings
    named = Spans.from_ranges(disks["ledger"], disks["entry"], disks["last"]) - read
    for rows in (census, *acknowledged(batch)):
        named |= entries_of(rows.filter(~read.has(rows["ledger"], rows["entry"])))
    missing = (promised | _promised_whole(named, facts)) - read
    truncated = beyond_end(missing, facts)
    before = _read_before_last_pass(read, facts)
    denied = before - _with_bytes(census.where(holding=Holding.PRESENT).memo(signed), marks)
    absent, corrupt = _by_answers((missing - truncated) | denied, census, marks, facts, run)
    unsure = _changing((absent | corrupt) & denied, facts)
    unsure |= _out_of_reach(before, census, facts, run) - absent - corrupt
    return Fates(read, unsure, truncated, absent - unsure, corrupt - unsure)


def _with_bytes(copies: Marks, marks: Marks) -> Spans:
    """The entries of which a copy has the bytes acknowledged; any that prove themselves if none were."""
    every = copies.spans()
    return (every - marks.spans()) | (copies & marks).spans()


def _read_before_last_pass(read: Spans, facts: LedgerFacts) -> Spans:
    """The entries that were read, of ledgers whose last read ended before the last census pass."""
    last = _last_pass(facts)
    if not last or not len(read):
        return Spans.empty()
    early = facts.at(LAST_READ, "completed_ns", read.ledger, NEVER) < last.began_ns
    return Spans(read.ledger[early], read.first[early], read.last[early])


def _out_of_reach(entries: Spans, census: Rows, facts: LedgerFacts, run: RunFacts) -> Spans:
    """Those that each bookie which a reader would ask denied in the last pass, or showed damaged.

    A copy on another bookie is out of reach. A reader asks the write set of the version in force; of each
    version that may have been in force since the pass began, all bookies must have answered so.
    """
    metadata, last, none = facts.memo(histories), _last_pass(facts), Spans.empty()
    if not run.complete or not last or not len(entries):
        return none
    answers = by_bookie(census.filter(np.isin(census["holding"], (Holding.ABSENT, Holding.DAMAGED))))
    chains = {
        ledger: in_force(metadata.versions[ledger], last.began_ns)
        for ledger in entries.ledgers()
        if metadata.seen_whole(ledger) and ledger not in metadata.gone
    }
    least = min((version.shape[1] for chain in chains.values() for version in chain), default=1)
    found = []
    few = entries & _in_several(answers.values(), max(least, 1))
    for ledger in few.ledgers():
        if ledger in chains:
            these = few.of_ledger(ledger).entries()
            due = duties(chains[ledger], these, run.bookies)
            found.append((ledger, these[_by_all(due, answers, ledger, these)]))
    return gathered(found)


def _in_several(sets: Collection[Spans], number: int) -> Spans:
    """The entries in at least this number of the sets."""
    if not sets:
        return Spans.empty()
    *keys, first, last = map(np.concatenate, zip(*(one.columns for one in sets), strict=True))
    ones = np.ones(len(first), dtype=np.int64)
    keys, first, last = sweep(keys, first, last, ones, lambda depth: depth >= number)
    return Spans(keys[0], first, last)


def _last_pass(facts: LedgerFacts) -> Pass | None:
    times = facts.memo(passes)
    return times[max(times)] if times else None


def _changing(read: Spans, facts: LedgerFacts) -> Spans:
    """Of entries that had been read, those of ledgers whose metadata may have changed during the last pass.

    Replication may have made a copy where it had been denied, and the former one may have been collected.
    """
    last, versions = _last_pass(facts), facts.memo(histories).versions
    settled = {
        ledger
        for ledger in read.ledgers()
        if last
        and all(
            version.latest_ns < last.began_ns or last.ended_ns < version.earliest_ns
            for version in versions[ledger][1:]
        )
    }
    return read.without(settled)


def _by_answers(
    entries: Spans, census: Rows, marks: Marks, facts: LedgerFacts, run: RunFacts
) -> tuple[Spans, Spans]:
    """(lost, corrupt) of some entries by the answers of the last pass.

    Where the evidence was not closed, that pass may be one between two steps of the plan: an entry
    that it denies may have been on its way, and acknowledged later. Bookies may forget a ledger
    whose metadata is gone.
    """
    metadata, none = facts.memo(histories), Spans.empty()
    if not run.complete or not len(entries) or not census.num_rows:
        return none, none
    rows = inside(census, entries)
    absent, bad = (by_bookie(rows.where(holding=holding)) for holding in (Holding.ABSENT, Holding.DAMAGED))
    good, copies = none, rows.where(holding=Holding.PRESENT)
    for bookie in np.unique(copies["bookie"]).tolist():
        mine = signed(copies.where(bookie=bookie))
        right = _with_bytes(mine, marks)
        good |= right
        bad[bookie] = bad.get(bookie, none) | (mine.spans() - right)
    neither = {bookie: absent.get(bookie, none) | bad.get(bookie, none) for bookie in {*absent, *bad}}
    spoiled = reduce(or_, bad.values(), none)
    denied, without = [], []
    for ledger in entries.ledgers():
        if metadata.known_whole(ledger) and ledger not in metadata.gone:
            these = entries.of_ledger(ledger).entries()
            due = duties(metadata.versions[ledger], these, run.bookies)
            denied.append((ledger, these[_by_all(due, absent, ledger, these)]))
            without.append((ledger, these[_by_all(due, neither, ledger, these)]))
    return gathered(denied) - good - spoiled, (gathered(without) & spoiled) - good


def _by_all(due: Mapping[int, Bools], answers: Mapping[int, Spans], ledger: int, entries: Ints) -> Bools:
    """Which entries of a ledger are in ``answers`` of every bookie that is responsible for them."""
    found = reduce(or_, due.values(), np.zeros(len(entries), dtype=np.bool_))
    for bookie, duty in due.items():
        found = found & (~duty | answers.get(bookie, Spans.empty()).holds(ledger, entries))
    return found
