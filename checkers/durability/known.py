"""What is known of the lives of bookies, and of what became of what they had."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from checkers.contract import LedgerFacts, RunFacts
from checkers.facts.alterations import disturbed, emptied
from checkers.facts.boots import Boot, boots_of
from checkers.facts.damage import damage_to
from checkers.facts.disks import Copied, altered, copied_disks, fallen, outlasted
from checkers.facts.histories import Histories
from checkers.facts.ledgers import histories, passes
from evidence.codes import NEVER

_LOG_READ = "log_read"
_REPAIRED = ("full_check_complete", "ledger_check_and_copy_end")
_EVERY_LEDGER = -1


@dataclass(frozen=True, slots=True, order=True)
class Repair:
    """A check that a life completed, of one ledger or (-1) of all: from then on it has what it should."""

    life: int
    earliest_ns: int
    latest_ns: int
    ledger: int = _EVERY_LEDGER

    def concerns(self, ledger: int) -> bool:
        """Whether it was of this ledger."""
        return self.ledger in (_EVERY_LEDGER, ledger)


@dataclass(frozen=True, slots=True)
class HolderFacts:
    """What is known of the lives of bookies, by their numbers.

    ``steady`` are those that never lost what they had. ``copied`` are the disks copied at an
    unclean death; ``fallen`` the lives whose end by a recorded fault may have taken what they had,
    ``altered`` those whose disk a fault may have changed afterwards, ``emptied`` those of whose disk a fault
    has taken all since, and when (ns). ``repairs`` are the checks that were completed, all of them unless
    ``unlogged`` names lives whose log was not read.
    """

    boots: Mapping[int, Boot]
    steady: frozenset[int]
    copied: Mapping[int, Copied]
    fallen: frozenset[int]
    altered: frozenset[int]
    emptied: Mapping[int, int]
    repairs: tuple[Repair, ...]
    unlogged: frozenset[int]
    histories: Histories
    bookies: Mapping[str, int]


def why_not(run: RunFacts) -> str | None:
    """Why it cannot be said who had an entry, or None."""
    if not run.wire:
        return "no wire log was kept"
    if damage_to(run, ("frames",)):
        return "the wire log is damaged"
    if not run.complete or damage_to(run, ("servers", "faults")):
        return "the boots of the bookies were not recorded whole"
    return None


def knowledge(facts: LedgerFacts, run: RunFacts) -> HolderFacts | None:
    """What a run's whole wire log and its bookies' boots tell; None without either."""
    if why_not(run):
        return None
    times = facts.once(passes)
    until_ns = times[max(times)].ended_ns if times else NEVER  # who died later had lost nothing by then
    boots = {boot.life: boot for mine in boots_of(run).values() for boot in mine}
    spoiled = disturbed(run)
    steady = frozenset(
        life
        for life, boot in boots.items()
        if boot.bookie not in spoiled
        and (not (boot.unclean and boot.dying_ns <= until_ns) or outlasted(boot, run))
    )
    copied = copied_disks(run)
    return HolderFacts(
        boots=boots,
        steady=steady,
        copied=copied,
        fallen=fallen(run),
        altered=altered(run, copied),
        emptied=_emptied(boots, run),
        repairs=_repairs(boots, run),
        unlogged=_unlogged(boots, run),
        histories=facts.once(histories),
        bookies=run.bookies,
    )


def _emptied(boots: Mapping[int, Boot], run: RunFacts) -> dict[int, int]:
    wipes = emptied(run)
    return {
        life: wipes[boot.bookie].done_ns
        for life, boot in boots.items()
        if boot.bookie in wipes and boot.ended_ns <= wipes[boot.bookie].began_ns
    }


def _repairs(boots: Mapping[int, Boot], run: RunFacts) -> tuple[Repair, ...]:
    found = []
    lives = {(boot.bookie, boot.number): life for life, boot in boots.items()}
    for row in run.servers:
        life = lives.get((run.bookies.get(row["server"], -1), int(row["boot"])))
        if life is not None and row["event"] in _REPAIRED:
            ledger = int(json.loads(row["detail"]).get("ledgerId", _EVERY_LEDGER))
            found.append(Repair(life, int(row["earliest_ns"]), int(row["latest_ns"]), ledger))
    return tuple(sorted(found))


def _unlogged(boots: Mapping[int, Boot], run: RunFacts) -> frozenset[int]:
    """Lives of guarded bookies, which repair themselves, without a log that shows whether they did."""
    read = {(row["server"], int(row["boot"])) for row in run.servers if row["event"] == _LOG_READ}
    names = {number: name for name, number in run.bookies.items() if name in run.guarded}
    return frozenset(
        life
        for life, boot in boots.items()
        if boot.bookie in names and (names[boot.bookie], boot.number) not in read
    )
