"""Placement: every write set spreads over as many failure domains (racks) as the plan demands.

Judged on the last version of each ledger's metadata, so after any repair: each fragment's ensemble gives E
write sets (one when WQ = E). A write quorum smaller than the demand can only spread over as many racks as it
has bookies, which is BookKeeper's own rule too (``RackawareEnsemblePlacementPolicyImpl``). Source: BP-31
(placement).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

from checkers.facts.histories import Histories
from checkers.facts.ledgers import histories
from checkers.facts.versions import Version
from checkers.facts.wording import entries_text, some_notes
from checkers.judging.checker import Checker
from checkers.judging.contract import LedgerFacts, RunFacts
from checkers.judging.found import Found
from evidence.findings import Finding, Judgement
from protocol.addresses import name_of_id
from protocol.quorums import Quorums
from protocol.wording import counted

Names = tuple[str, ...]


class Placed(NamedTuple):
    """One fragment of one ledger: its entries (``last`` -1: none, or still growing) and its bookies."""

    ledger: int
    version: Version
    first: int
    last: int
    bookies: Names


class Placement(Checker):
    """Finds write sets in too few racks."""

    name = "placement"
    tables = ("ledgers",)
    needed = "whole evidence, the bookies' racks, and a ledger whose metadata was seen"
    kinds = ("too_few_racks",)
    figures = ("racks", "ledgers", "fragments")

    def conclude(self, found: Found, facts: LedgerFacts, run: RunFacts) -> Judgement:  # noqa: ARG002
        """Needs the bookies' racks, and a ledger whose metadata was seen and can be understood."""
        lacking = run.shortcomings(self.tables)
        if not run.racks:
            lacking.append("the plan gives no racks")
        fragments = [] if lacking else list(_fragments(facts.memo(histories)))
        doubts = [(one.ledger, doubt) for one in fragments if (doubt := _doubt(one, run))]
        tried = [one for one in fragments if not _doubt(one, run)]
        narrow = cache(partial(_narrow, run))  # ten thousand ledgers have few different ensembles
        places = ((one, narrow(one.bookies, one.version.shape)) for one in tried)
        findings = [_finding(one, names, run) for one, names in places if names]
        judged = bool(run.racks) or self.name in run.required
        return self.judgement(
            run,
            findings,
            seen={
                "racks": len(set(run.racks.values())),
                "ledgers": len({one.ledger for one in tried}),
                "fragments": len(tried),
            },
            enough=tried and not doubts,
            lacking=lacking if judged else (),
            idle=not judged,
            notes=some_notes([doubt for _, doubt in doubts]),
            undecided=[ledger for ledger, _ in doubts],
        )


def _fragments(known: Histories) -> Iterator[Placed]:
    """Every fragment of the last version of each ledger that has metadata at the end."""
    for ledger in known.versions:
        if ledger in known.gone:
            continue
        version = known.rows_of[ledger][-1]
        for first, last, bookies in version.ranges(version.last_entry if version.closed else -1):
            names = tuple(name_of_id(bookie) for bookie in bookies)
            yield Placed(ledger, version, first, last if last >= first else -1, names)


def _doubt(one: Placed, run: RunFacts) -> str:
    """Why a fragment cannot be judged; empty when it can."""
    where = f"{run.ledger_text(one.ledger)}: the fragment from entry {one.first} on"
    unknown = [name for name in one.bookies if name not in run.racks]
    if unknown:
        return f"{where} names {', '.join(unknown)}, of which no rack is known"
    try:
        ensemble = one.version.metadata().quorums.ensemble
    except ValueError as error:
        return f"{where}: {error}"
    return "" if len(one.bookies) == ensemble else f"{where} has {counted(len(one.bookies), 'bookie')}"


def _narrow(run: RunFacts, bookies: Names, shape: tuple[int, int, int]) -> Names:
    """The first write set of an ensemble that is in fewer racks than it has to be in; empty when none is."""
    quorums = Quorums(*shape)
    write_sets = (tuple(bookies[at] for at in positions) for positions in quorums.write_sets())
    wanted = min(quorums.write, run.min_racks)
    return next((names for names in write_sets if len({run.racks[name] for name in names}) < wanted), ())


def _finding(one: Placed, narrow: Names, run: RunFacts) -> Finding:
    racks = sorted({run.racks[bookie] for bookie in narrow})
    wanted = min(one.version.shape[1], run.min_racks)
    which = entries_text(one.first, one.last) if one.last >= 0 else f"the fragment from entry {one.first} on"
    return run.finding(
        "placement/too_few_racks",
        (one.ledger, one.first, one.last, 1),
        f"{which}: a write set in {len(racks)} of {wanted} racks",
        f"metadata version {one.version.version}: from entry {one.first} on {_racked(one.bookies, run)}",
        f"write set {_racked(narrow, run)}: only {', '.join(racks)}",
    )


def _racked(bookies: Names, run: RunFacts) -> str:
    return ", ".join(f"{bookie} ({run.racks[bookie]})" for bookie in bookies)
