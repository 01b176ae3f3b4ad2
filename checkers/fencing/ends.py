"""When each ledger is known to have been closed, and where it ends.

Two things date a close: a CLOSED version of the metadata that somebody saw, and an open with recovery
that returned ok. What nobody dated precedes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from checkers.contract import RunFacts
from checkers.facts.histories import histories_of
from checkers.facts.parts import flagged
from checkers.facts.versions import Versions
from checkers.facts.wording import client_name, operation_text, time_text
from checkers.rows import Rows
from checkers.sets.folded import FIRST, LEAST, Folded
from checkers.sets.spans import Ints, ints
from evidence.codes import NEVER, Flag, Kind, Outcome


class Told(NamedTuple):
    """An ok open with recovery: when it had returned, and whose it was."""

    completed_ns: int
    client: int
    seq: int


class Close(NamedTuple):
    """Proof that a ledger was closed at ``last_entry`` by ``at_ns``."""

    at_ns: int
    last_entry: int
    text: str


def scan_ends(rows: Rows) -> Folded:
    """The ends that clients were told by recovery, in some rows of ``operations``, and who was first."""
    opens = rows.of(kind=Kind.OPEN, outcome=Outcome.OK)
    opens = opens.where(flagged(opens, Flag.RECOVERY) & (opens["completed_ns"] != NEVER))
    first = ((opens[name], FIRST) for name in ("completed_ns", "client", "seq"))
    return Folded.of_rows([opens["ledger"], opens["result"]], *first)


class Closes:
    """The closes that have a date, by ledger.

    Of a ledger whose metadata a fault of ours put back, nobody can say that it stayed closed: it has none.
    """

    def __init__(self, versions: Versions, told: Folded, run: RunFacts) -> None:
        """``told`` are the ends that recovery told."""
        self._histories, self._told, self._run = histories_of(versions), told, run
        plain = self._histories.plain
        rows = plain.closed[plain.columns["latest_ns"][plain.closed] != NEVER]
        odd = [
            (version.ledger, version.latest_ns)
            for chain in self._histories.odd_of.values()
            for version in chain
            if version.closed and version.latest_ns != NEVER
        ]
        ledger, at_ns = (
            np.concatenate([plain.columns[name][rows], told.columns[where], ints([pair[at] for pair in odd])])
            for at, (name, where) in enumerate((("ledger", 0), ("latest_ns", 2)))
        )
        dated = ~np.isin(ledger, ints(list(self._histories.put_back)))
        self._first = Folded.of_rows([ledger[dated]], (at_ns[dated], LEAST))

    def __len__(self) -> int:
        """How many ledgers have one."""
        return len(self._first)

    def before(self, ledger: Ints, at_ns: Ints) -> Iterator[tuple[int, tuple[Close, ...]]]:
        """Of ledgers, ascending, with a time each: those closed before it, with all their closes."""
        known, first_ns = self._first.columns
        if not (len(known) and len(ledger)):
            return
        place = np.minimum(np.searchsorted(known, ledger), len(known) - 1)
        for one in ledger[(known[place] == ledger) & (first_ns[place] < at_ns)].tolist():
            yield one, self.of(one)

    def of(self, ledger: int) -> tuple[Close, ...]:
        """The closes of one ledger, the earliest first."""
        found = []
        for version in self._histories.of.get(ledger, ()):
            if version.closed and version.latest_ns != NEVER:
                text = (
                    f"metadata version {version.version}: CLOSED at {version.last_entry}, "
                    f"in force by {time_text(self._run, version.latest_ns)}"
                )
                found.append(Close(version.latest_ns, version.last_entry, text))
        for _, last, *row in self._told.of(ledger):
            one = Told(*row)
            text = (
                f"{client_name(self._run, one.client)} had recovered it by "
                f"{time_text(self._run, one.completed_ns)} and was "
                f"told its end {last} ({operation_text(one.seq)})"
            )
            found.append(Close(one.completed_ns, last, text))
        return tuple(sorted(found))
