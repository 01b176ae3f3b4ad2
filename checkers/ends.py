"""When each ledger is known to have been closed, and where it ends.

Two things date a close: a CLOSED version of the metadata that somebody saw, and an open with recovery
that returned ok. What nobody dated precedes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from checkers.contract import RunFacts
from checkers.versions import Histories, Versions
from checkers.wire import Columns
from checkers.wording import client_name, operation_text
from evidence.codes import NEVER, Flag, Kind, Outcome


class Told(NamedTuple):
    """An ok open with recovery: when it had returned, and whose it was."""

    completed_ns: int
    client: int
    seq: int


Ends = Mapping[tuple[int, int], Told]
"""(ledger, last entry that was told) -> the first time."""


class Close(NamedTuple):
    """Proof that a ledger was closed at ``last_entry`` by ``at_ns``."""

    at_ns: int
    last_entry: int
    text: str


Closes = Mapping[int, tuple[Close, ...]]
"""Ledger -> its dated closes, the earliest first."""


def scan_ends(rows: Columns) -> dict[tuple[int, int], Told]:
    """The ends that clients were told by recovery, in some rows of ``operations``."""
    recovery = (rows["kind"] == Kind.OPEN) & ((rows["flags"] & Flag.RECOVERY) != 0)
    pick = recovery & (rows["outcome"] == Outcome.OK) & (rows["completed_ns"] != NEVER)
    names = ("ledger", "result", "completed_ns", "client", "seq")
    told: dict[tuple[int, int], Told] = {}
    for ledger, last, *one in zip(*(rows[name][pick].tolist() for name in names), strict=True):
        told[ledger, last] = min(told.get((ledger, last), Told(*one)), Told(*one))
    return told


def merge_ends(left: Ends, right: Ends) -> dict[tuple[int, int], Told]:
    """Both."""
    told = dict(left)
    for key, theirs in right.items():
        told[key] = min(told.get(key, theirs), theirs)
    return told


def dated_closes(versions: Versions, told: Ends, run: RunFacts) -> Closes:
    """The closes of each ledger that have a date."""
    found: dict[int, list[Close]] = {}
    for ledger, chain in Histories(versions).of.items():
        for version in chain:
            if version.closed and version.latest_ns != NEVER:
                text = (
                    f"metadata version {version.version}: CLOSED at {version.last_entry}, "
                    f"in force by {version.latest_ns} ns"
                )
                found.setdefault(ledger, []).append(Close(version.latest_ns, version.last_entry, text))
    for (ledger, last), one in told.items():
        text = (
            f"{client_name(run, one.client)} had recovered it by {one.completed_ns} ns and was told "
            f"its end {last} ({operation_text(one.seq)})"
        )
        found.setdefault(ledger, []).append(Close(one.completed_ns, last, text))
    return {ledger: tuple(sorted(closes)) for ledger, closes in sorted(found.items())}
