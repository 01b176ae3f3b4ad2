"""The first explicit answers of each boot of a bookie about each ledger, from the wire log.

Explicit negatives to reads of an entry, and positives to plain reads: a bookie in limbo gives neither.
Only what a known boot said itself counts. Of all such answers the one that was received first is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from checkers.facts.wire import denies, said_of_entries
from checkers.rows import Rows, at_once
from checkers.sets.ordering import is_sorted
from evidence.codes import Message, Status


class Kind(IntEnum):
    """What was said of an entry."""

    DENIED = 1
    SHOWN = 2


class Answer(NamedTuple):
    """An answer: when the proxy had it, when its request was passed on at the earliest, to whom, of what."""

    received_ns: int
    asked_ns: int
    source: int
    entry: int


Firsts = Mapping[tuple[int, int, int, int], Answer]
"""(kind, bookie, boot, ledger) -> the first such answer."""


@at_once
def scan_firsts(rows: Rows) -> dict[tuple[int, int, int, int], Answer]:
    """The first answers in the frames of one chunk, in any order."""
    plain, recovering = (said_of_entries(rows, kind) for kind in (Message.READ, Message.RECOVERY_READ))
    parts = (
        (Kind.DENIED, plain.where(denies(plain["status"]))),
        (Kind.DENIED, recovering.where(denies(recovering["status"]))),
        (Kind.SHOWN, plain.of(status=Status.EOK)),
    )
    firsts: Firsts = {}
    for kind, part in parts:
        for bookie in np.unique(part["bookie"]).tolist():
            by_bookie = part.of(bookie=bookie)
            for boot in np.unique(by_bookie["boot"]).tolist():
                found = _by_ledger(by_bookie.of(boot=boot))
                mine = {(int(kind), bookie, boot, ledger): answer for ledger, answer in found}
                firsts = merge_firsts(firsts, mine)
    return dict(firsts)


def _by_ledger(rows: Rows) -> Iterator[tuple[int, Answer]]:
    """The first answer about each ledger: only those received first are sorted by all that they say."""
    if not is_sorted((rows["ledger"],)):
        rows = rows.sorted_by("ledger")
    starts = np.flatnonzero(np.diff(rows["ledger"], prepend=rows["ledger"][0] - 1))
    sizes = np.diff(np.append(starts, rows.number))
    first_ns = np.minimum.reduceat(rows["received_ns"], starts)
    early = rows.where(rows["received_ns"] == np.repeat(first_ns, sizes))
    columns = [early[name] for name in ("ledger", *Answer._fields)]
    order = np.lexsort(columns[::-1])
    fresh = order[np.diff(early["ledger"][order], prepend=early["ledger"][order][0] - 1) != 0]
    for ledger, *answer in zip(*(column[fresh].tolist() for column in columns), strict=True):
        yield ledger, Answer(*answer)


def merge_firsts(left: Firsts, right: Firsts) -> Firsts:
    """The first of both."""
    merged = dict(left)
    for key, answer in right.items():
        merged[key] = min(merged.get(key, answer), answer)
    return merged
