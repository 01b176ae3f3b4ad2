"""At most ``KEPT`` findings whole; the counts beside them stay exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from checkers.found import Row
from evidence.findings import Finding

KEPT = 100
"""Findings kept for each kind, class and ledger."""


def capped(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The first ``KEPT`` of each (kind, class, ledger), in the order given."""
    seen: Counter[tuple[str, str, int]] = Counter()
    kept = []
    for finding in findings:
        key = (finding.kind, finding.loss, finding.ledger)
        seen[key] += 1
        if seen[key] <= KEPT:
            kept.append(finding)
    return tuple(kept)


def room_for(kind_and_ledger: tuple[str, int], taken: Counter[tuple[str, int]]) -> bool:
    """Whether one more of this (kind, ledger) would be kept; counts it. Spares making the others."""
    taken[kind_and_ledger] += 1
    return taken[kind_and_ledger] <= KEPT


def kept(rows: Iterable[Row]) -> Iterator[Row]:
    """The first ``KEPT`` rows of each ledger, for findings of one kind and class."""
    taken: Counter[tuple[str, int]] = Counter()
    return (row for row in rows if room_for(("", row.ledger), taken))
