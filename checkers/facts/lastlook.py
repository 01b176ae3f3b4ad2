"""How the last look at each ledger went: final opens with recovery, and final reads entry by entry.

The observer repeats a read of many entries one by one when it does not succeed, so that it is known
of each entry why it could not be read. Summaries only; what follows is :mod:`checkers.availability.checker`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from checkers.facts.parts import delivered, entries_of, final
from checkers.rows import Rows
from checkers.sets.spans import Spans
from evidence.codes import NEVER, ErrorCode, Kind, Outcome

DENIED = (ErrorCode.NO_SUCH_ENTRY, ErrorCode.NO_SUCH_LEDGER)
"""How a read ends when every bookie asked said no: any other answer would have come before these."""


class Refusals(NamedTuple):
    """The final opens of one ledger that did not succeed, from the first invocation to the last end."""

    began_ns: int
    ended_ns: int
    number: int
    errors: frozenset[int]


class Reading(NamedTuple):
    """The final reads of one ledger that came to nothing: first invocation, last end."""

    began_ns: int
    ended_ns: int


@dataclass(frozen=True, slots=True)
class LastLook:
    """``denied`` are entries whose single read ended with an explicit negative, ``unread`` otherwise."""

    opened: frozenset[int]
    refused: Mapping[int, Refusals]
    delivered: Spans
    denied: Spans
    unread: Spans
    readings: Mapping[int, Reading]


def scan_last_look(rows: Rows) -> LastLook:
    """The final opens and reads in some rows of ``operations``."""
    opens, reads = rows.of(kind=Kind.OPEN).once(final), rows.of(kind=Kind.READ).once(final)
    single = reads.where(
        (reads["outcome"] != Outcome.OK) & (reads["entry"] == reads["last"]) & (reads["entry"] >= 0)
    )
    no = np.isin(single["error"], DENIED) & (single["completed_ns"] != NEVER)
    denied = single.where(no)
    return LastLook(
        opened=frozenset(np.unique(opens.of(outcome=Outcome.OK)["ledger"]).tolist()),
        refused=_refusals(opens.where(opens["outcome"] != Outcome.OK)),
        delivered=rows.once(delivered).once(final).once(entries_of),
        denied=entries_of(denied),
        unread=entries_of(single.where(~no)),
        readings=_readings(denied),
    )


def merge_last_look(left: LastLook, right: LastLook) -> LastLook:
    """Both."""
    refused, readings = dict(left.refused), dict(left.readings)
    for ledger, theirs in right.refused.items():
        refused[ledger] = _both(refused[ledger], theirs) if ledger in refused else theirs
    for ledger, reading in right.readings.items():
        mine = readings.get(ledger, reading)
        readings[ledger] = Reading(min(mine.began_ns, reading.began_ns), max(mine.ended_ns, reading.ended_ns))
    return LastLook(
        left.opened | right.opened,
        refused,
        left.delivered | right.delivered,
        left.denied | right.denied,
        left.unread | right.unread,
        readings,
    )


def _refusals(rows: Rows) -> dict[int, Refusals]:
    names = ("ledger", "invoked_ns", "completed_ns", "error")
    found: dict[int, Refusals] = {}
    for ledger, began_ns, ended_ns, error in zip(*(rows[name].tolist() for name in names), strict=True):
        one = Refusals(began_ns, ended_ns, 1, frozenset((error,)))
        found[ledger] = _both(found[ledger], one) if ledger in found else one
    return found


def _both(left: Refusals, right: Refusals) -> Refusals:
    return Refusals(
        min(left.began_ns, right.began_ns),
        max(left.ended_ns, right.ended_ns),
        left.number + right.number,
        left.errors | right.errors,
    )


def _readings(rows: Rows) -> dict[int, Reading]:
    if not rows.number:
        return {}
    at = np.argsort(rows["ledger"], kind="stable")
    ledgers, starts = np.unique(rows["ledger"][at], return_index=True)
    began_ns = np.minimum.reduceat(rows["invoked_ns"][at], starts)
    ended_ns = np.maximum.reduceat(rows["completed_ns"][at], starts)
    columns = (column.tolist() for column in (ledgers, began_ns, ended_ns))
    return {ledger: Reading(began, ended) for ledger, began, ended in zip(*columns, strict=True)}
