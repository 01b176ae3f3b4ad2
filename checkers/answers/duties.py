"""From when on a bookie owes no answer about a ledger, and until when it owed limbo.

A bookie may forget a ledger whose metadata is gone, and one that is closed and names it no more
(``ScanAndCompareGarbageCollector``); a delete that was invoked releases its ledger. After an unclean
end a protected bookie must not deny what it may have lost, of every ledger that is not closed and has it
in its last ensemble (BP-46, "Protection Mechanism"; ``DataIntegrityCheckImpl#processPreBoot``). It
marks them before it serves, and the marks go only when the ledger was recovered: they outlive any
restart. A disk that was wiped or altered since the unclean end has no marker and no mark, and owes
nothing. Knows no frame.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from checkers.contract import RunFacts
from checkers.facts.alterations import changes_since
from checkers.facts.boots import Boot, boots_of
from checkers.facts.histories import Histories
from checkers.facts.versions import Version
from evidence.codes import NEVER
from protocol.addresses import name_of_id

ANSWERING = "answering"
"""The event of a bookie that answered its readiness probe."""


class Limbo(NamedTuple):
    """A ledger had to be in limbo until this time, for ``boot`` followed the unclean end of ``crashed``."""

    until_ns: int
    boot: int
    crashed: int


class Duties:
    """The duties of bookies to ledgers."""

    def __init__(
        self,
        histories: Histories,
        released: Mapping[int, int],
        run: RunFacts,
        has_answered: Callable[[int, int], bool],
    ) -> None:
        """``released`` is ledger -> first delete that may have been sent (ns).

        ``has_answered`` tells whether an answer of a (bookie, boot) was seen.
        """
        self._histories, self._released = histories, released
        self._names = {number: name for name, number in run.bookies.items()}
        self._guarded = run.guarded
        self._run = run
        self._boots = boots_of(run)
        self._ready = {(row["server"], int(row["boot"])) for row in run.servers if row["event"] == ANSWERING}
        self._has_answered = has_answered

    def until_ns(self, ledger: int, bookie: int) -> int:
        """When the bookie may have begun to forget the ledger; ``NEVER`` where it must know it to the end."""
        name = self._names.get(bookie, "")
        dropped = [
            version.earliest_ns
            for version in self._histories.of.get(ledger, ())
            if version.closed and not any(_names(bookies, name) for _, bookies in version.fragments)
        ]
        gone = self._histories.deleted.get(ledger)
        ends = [*dropped, self._released.get(ledger, NEVER), gone.earliest_ns if gone else NEVER]
        unsure = self._histories.gaps(ledger) or ledger in self._histories.put_back
        return 0 if unsure else min(ends)

    def limbo(self, ledger: int, bookie: int, number: int) -> Limbo | None:
        """What this boot owed for the ledger after an unclean end, the mark that had to stay longest."""
        if self._names.get(bookie) not in self._guarded or not self._histories.seen_whole(ledger):
            return None
        boots = [boot for boot in self._boots.get(bookie, ()) if boot.number <= number]
        if not boots or boots[-1].number != number:
            return None
        owed = []
        for at, boot in enumerate(boots):
            crashed = self._crashed(boots[:at])
            # A boot that never served may not have come to its end of marking.
            if crashed is None or self._altered_between(crashed, boots[-1]):
                continue
            if boot.number == number or self._served(boot):
                owed.append(Limbo(self._marked_until_ns(ledger, boot), boot.number, crashed.number))
        return max(owed, default=None)

    def _marked_until_ns(self, ledger: int, boot: Boot) -> int:
        """Until when a mark that this boot set on the ledger had to stay; 0 where it set none."""
        chain, bookie = self._histories.of[ledger], boot.bookie
        if chain[0].latest_ns >= boot.started_ns:
            return 0
        ends = [self.until_ns(ledger, bookie)]
        for version, after in zip_longest(chain, chain[1:]):
            in_force = after is None or after.latest_ns >= boot.started_ns
            if in_force and (version.closed or not self._in_last_ensemble(version, bookie)):
                ends.append(version.earliest_ns)
        return min(ends)

    def _crashed(self, earlier: Sequence[Boot]) -> Boot | None:
        """The boot whose marker of an unclean end was still there: a bookie writes it before it serves."""
        for boot in reversed(earlier):
            if not boot.unclean:
                return None
            if self._served(boot):
                return boot
        return None

    def _altered_between(self, crashed: Boot, boot: Boot) -> bool:
        changes = changes_since(crashed.started_ns, boot.bookie, self._run)
        return any(change.began_ns <= boot.ended_ns for change in changes)

    def _served(self, boot: Boot) -> bool:
        ready = (self._names[boot.bookie], boot.number) in self._ready
        return ready or self._has_answered(boot.bookie, boot.number)

    def _in_last_ensemble(self, version: Version, bookie: int) -> bool:
        return bool(version.fragments) and _names(version.fragments[-1][1], self._names.get(bookie, ""))


def _names(bookies: tuple[str, ...], name: str) -> bool:
    return any(name_of_id(bookie) == name for bookie in bookies)
