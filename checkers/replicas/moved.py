"""Bookies that took another's place in a fragment whose entries were all written before.

Repair copies the entries of such a fragment to the new bookie first, and names it in the metadata when every
copy is confirmed (``LedgerFragmentReplicator``, ``UpdateEnsembleCb``). The last fragment of a ledger that is
not closed is left out: there a writer or a recovery replaces a bookie that failed, and
sends it only what was not acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from checkers.contract import RunFacts
from checkers.facts.versions import Version
from checkers.sets.spans import LAST_ENTRY
from protocol.addresses import name_of_id

NOT_COPIED = "not_copied"


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
    every = (one for before, after in pairwise(chain) for one in _between(before, after, run))
    first: dict[tuple[int, int], Move] = {}
    for one in every:
        first.setdefault((one.bookie, one.first), one)
    return tuple(first.values())


def _between(before: Version, after: Version, run: RunFacts) -> Iterator[Move]:
    """Moves from one version to the next; none where a version in between was not seen."""
    if after.version != before.version + 1:
        return
    earlier = dict(before.fragments)
    last_begins = before.fragments[-1][0]
    ends = [first - 1 for first, _ in after.fragments[1:]] + [
        after.last_entry if after.closed else LAST_ENTRY
    ]
    for (first, bookies), last in zip(after.fragments, ends, strict=True):
        if first not in earlier or (first == last_begins and not before.closed):
            continue
        for old, new in zip(earlier[first], bookies, strict=False):
            number = run.bookies.get(name_of_id(new))
            if new != old and number is not None and new not in earlier[first]:
                yield Move(number, name_of_id(old), first, last, after.version, after.latest_ns)
