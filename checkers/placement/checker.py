"""Placement: every write set spreads over at least so many failure domains as the plan demands.

Judged on the last version of each ledger's metadata, so after whatever repair there was: each fragment's
ensemble gives E write sets (one when WQ = E). A write quorum smaller than the demand can only spread
over as many racks as it has bookies, which is BookKeeper's own rule too
(``RackawareEnsemblePlacementPolicyImpl``). Source: BP-31 (placement).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from checkers.contract import Chunk, RunFacts
from checkers.facts.damage import shortcomings
from checkers.facts.histories import Histories, histories_of
from checkers.facts.versions import Version, Versions, scan_versions
from checkers.facts.wording import counted, entries_text, ledger_text, listed, some_notes
from checkers.sets.capping import capped
from evidence.findings import Finding, Judgement, Verdict
from protocol.addresses import name_of_id

PROPERTY = "placement"
_KIND = "too_few_racks"


@dataclass(frozen=True, slots=True)
class Fragment:
    """One fragment of one ledger: its entries (``last`` -1: none, or still growing) and its bookies."""

    ledger: int
    version: Version
    first: int
    last: int
    bookies: tuple[str, ...]


class Placement:
    """Convicts write sets in too few racks."""

    name = PROPERTY
    tables: tuple[str, ...] = ("ledgers",)
    kinds: tuple[str, ...] = (_KIND,)

    def scan(self, chunk: Chunk, run: RunFacts) -> Versions:  # noqa: ARG002  # as agreed
        """The versions of one chunk."""
        return scan_versions(chunk)

    def merge(self, left: Versions, right: Versions) -> Versions:
        """Both."""
        return left | right

    def conclude(self, summary: Versions, run: RunFacts) -> Judgement:
        """Needs the bookies' racks, and a ledger whose metadata was seen and can be understood."""
        lacking = shortcomings(run, self.tables)
        if not run.racks:
            lacking.append("the plan gives no racks")
        fragments = [] if lacking else list(_fragments(histories_of(summary)))
        tried = [(one, list(_narrow(one, run))) for one in fragments if not _strangers(one, run)]
        doubts = [(one.ledger, doubt) for one in fragments if (doubt := _strangers(one, run))]
        findings = [_finding(one, sets[0], run) for one, sets in tried if sets]
        verdict = Verdict.VALID if tried and not doubts else Verdict.UNKNOWN
        if not run.racks and self.name not in run.required:
            verdict = Verdict.NOT_JUDGED
        return Judgement(
            property=self.name,
            verdict=Verdict.ANOMALY if findings else verdict,
            needed="whole evidence, the bookies' racks, and a ledger whose metadata was seen",
            seen={
                "racks": len(set(run.racks.values())),
                "ledgers": len({one.ledger for one, _ in tried}),
                "fragments": len(tried),
            },
            findings=capped(findings),
            counts={_KIND: len(findings)},
            notes=(
                *(lacking if run.racks or self.name in run.required else ()),
                *some_notes([doubt for _, doubt in doubts]),
            ),
            undecided=tuple(sorted({ledger for ledger, _ in doubts})),
        )


def _fragments(histories: Histories) -> Iterator[Fragment]:
    """Every fragment of the last version of each ledger that has not been deleted."""
    for ledger, chain in sorted(histories.of.items()):
        if ledger in histories.deleted:
            continue
        version = chain[-1]
        end = version.last_entry if version.closed else -1
        firsts = [first for first, _ in version.fragments]
        lasts = [following - 1 for _, following in pairwise(firsts)]
        for (first, bookies), last in zip(version.fragments, [*lasts, end], strict=False):
            names = tuple(name_of_id(bookie) for bookie in bookies)
            yield Fragment(ledger, version, first, last if last >= first else -1, names)


def _strangers(one: Fragment, run: RunFacts) -> str:
    """Why a fragment cannot be judged; empty when it can."""
    where = f"{ledger_text(run, one.ledger)}: the fragment from entry {one.first} on"
    unknown = [name for name in one.bookies if name not in run.racks]
    if unknown:
        return f"{where} names {listed(unknown)}, of which no rack is known"
    try:
        quorums = one.version.metadata().quorums
    except ValueError as error:
        return f"{where}: {error}"
    return (
        "" if len(one.bookies) == quorums.ensemble else f"{where} has {counted(len(one.bookies), 'bookie')}"
    )


def _narrow(one: Fragment, run: RunFacts) -> Iterator[tuple[str, ...]]:
    """The write sets in fewer racks than they have to be in."""
    quorums = one.version.metadata().quorums
    for positions in quorums.write_sets():
        bookies = tuple(one.bookies[at] for at in positions)
        if len({run.racks[bookie] for bookie in bookies}) < min(quorums.write, run.min_racks):
            yield bookies


def _finding(one: Fragment, bookies: tuple[str, ...], run: RunFacts) -> Finding:
    racks = sorted({run.racks[bookie] for bookie in bookies})
    wanted = min(one.version.shape[1], run.min_racks)
    which = entries_text(one.first, one.last) if one.last >= 0 else f"the fragment from entry {one.first} on"
    return Finding(
        property=PROPERTY,
        kind=_KIND,
        ledger=one.ledger,
        first_entry=one.first,
        last_entry=one.last,
        text=f"{ledger_text(run, one.ledger)}: {which}: a write set in {len(racks)} of {wanted} racks",
        proof=(
            f"metadata version {one.version.version}: from entry {one.first} on {_placed(one.bookies, run)}",
            f"write set {_placed(bookies, run)}: only {listed(racks)}",
        ),
    )


def _placed(bookies: tuple[str, ...], run: RunFacts) -> str:
    return listed(f"{bookie} ({run.racks[bookie]})" for bookie in bookies)
