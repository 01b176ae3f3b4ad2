"""Which bookies were to store an entry, by the versions of its ledger's metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from checkers.facts.versions import Version
from checkers.sets.spans import LAST_ENTRY, Bools, Ints, Spans
from protocol.addresses import name_of_id

NOBODY = -1
"""Stands for a bookie that the run does not know: it can have answered nothing."""


def holders(
    chain: tuple[Version, ...], entries: Ints, numbers: Mapping[str, int]
) -> Iterator[tuple[int, Bools]]:
    """(bookie number, mask of ``entries``) for every bookie whose duty an entry was in any version.

    The write set is the version's fragment's; a bookie may appear more than once, and
    a bookie that is not of the run appears as ``NOBODY``.
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


def gathered(parts: list[tuple[int, Ints]]) -> Spans:
    """(ledger, its entries) pairs as one set."""
    if not parts:
        return Spans.empty()
    ledgers = np.repeat([ledger for ledger, _ in parts], [len(entries) for _, entries in parts])
    return Spans.of_entries(ledgers, np.concatenate([entries for _, entries in parts]))
