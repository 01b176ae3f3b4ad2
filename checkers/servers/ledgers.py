"""What the metadata says of ledgers while a bookie boots: open and its own all the while, or perhaps closed.

A version is in force at some time between its ``earliest_ns`` and the ``latest_ns`` of the next, so
"all the while" asks every version that may have been in force. A ledger with a gap in its versions, or
one that was deleted, is never said to be open.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from checkers.facts.histories import Histories
from checkers.facts.versions import Version
from evidence.codes import NEVER
from protocol.addresses import name_of_id


class Ledgers:
    """The ledgers of a run, asked by intervals (ns)."""

    def __init__(self, histories: Histories) -> None:
        """Of the versions seen."""
        self._histories = histories

    def known(self) -> list[int]:
        """Every ledger of which a version was seen."""
        return sorted(self._histories.of)

    def open_all_the_while(self, ledger: int, since_ns: int, until_ns: int) -> bool:
        """Whether it was there before, was not deleted until after, and no version of then is CLOSED."""
        chain = self._histories.of[ledger]
        there = self._histories.seen_whole(ledger) and chain[0].latest_ns < since_ns
        gone = self._histories.deleted.get(ledger)
        kept = gone is None or gone.earliest_ns > until_ns
        return there and kept and not any(one.closed for one in self._then(ledger, since_ns, until_ns))

    def mine_all_the_while(self, ledger: int, name: str, since_ns: int, until_ns: int) -> bool:
        """Whether every version of then names the bookie in its last ensemble."""
        return all(_last_has(version, name) for version in self._then(ledger, since_ns, until_ns))

    def mine_at_no_time(self, ledger: int, name: str, since_ns: int, until_ns: int) -> bool:
        """Whether no version of then names the bookie in its last ensemble."""
        return not any(_last_has(version, name) for version in self._then(ledger, since_ns, until_ns))

    def surely_open_at(self, ledger: int, at_ns: int) -> bool:
        """Whether no close and no delete of it can have been in force by then."""
        if not self._histories.seen_whole(ledger):
            return False
        gone = self._histories.deleted.get(ledger)
        ends = [version.earliest_ns for version in self._histories.of[ledger] if version.closed]
        return at_ns < min(ends, default=NEVER) and (gone is None or at_ns < gone.earliest_ns)

    def surely_closed_at(self, ledger: int, at_ns: int) -> bool:
        """Whether a CLOSED version was in force by then, and the ledger not deleted until then."""
        gone = self._histories.deleted.get(ledger)
        closed = any(version.closed and version.latest_ns < at_ns for version in self._histories.of[ledger])
        known = ledger not in self._histories.put_back
        return closed and known and (gone is None or at_ns < gone.earliest_ns)

    def _then(self, ledger: int, since_ns: int, until_ns: int) -> Iterator[Version]:
        """The versions that may have been in force at some time of the interval."""
        chain = self._histories.of[ledger]
        for version, after in pairwise((*chain, None)):
            begun = version is not None and version.earliest_ns <= until_ns
            if version and begun and (after is None or after.latest_ns >= since_ns):
                yield version


def _last_has(version: Version, name: str) -> bool:
    return bool(version.fragments) and any(name_of_id(one) == name for one in version.fragments[-1][1])
