"""The versions of each ledger's metadata in their order, as several properties ask for them.

A fault of the run may put the store's content back in time. A ledger whose metadata this changed then has
more than one chain of versions: each begins with the row that was put back, and version numbers may
repeat. The step from one chain to the next is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, groupby, pairwise
from operator import attrgetter

import pyarrow as pa

from checkers.facts.versions import DELETED, Version, in_force, versions_of
from evidence.codes import NEVER

Chain = tuple[Version, ...]


class Histories:
    """The versions by ledger, with what is asked of them again and again; ledgers are ascending.

    ``versions`` has every ledger's versions, ``chains`` its chains by time, each ascending: one unless the
    content was put back. Removals are in no chain. ``in_time`` are all rows in the order of their
    transactions.
    """

    def __init__(self, rows: pa.Table) -> None:
        """Of rows of ``ledgers``, in any order, with repeats."""
        seen = sorted(set(versions_of(rows)))
        # One zxid is one transaction in all lives of the store.
        self.in_time = sorted(seen, key=attrgetter("zxid", "version"))
        each = {ledger: tuple(_chains([*own])) for ledger, own in groupby(seen, attrgetter("ledger"))}
        self.chains = {ledger: chains for ledger, chains in each.items() if any(chains)}
        self.versions = {ledger: tuple(chain.from_iterable(chains)) for ledger, chains in self.chains.items()}

    @cached_property
    def rows_of(self) -> Mapping[int, Sequence[Version]]:
        """Ledger -> its rows, removals too, in the order of their transactions."""
        found: dict[int, list[Version]] = {}
        for version in self.in_time:
            found.setdefault(version.ledger, []).append(version)
        return found

    @cached_property
    def deleted(self) -> Mapping[int, Version]:
        """Ledgers whose metadata was removed, by whomever -> the row that says so (the first such one)."""
        return {one.ledger: one for one in reversed(self.in_time) if one.state == DELETED}

    @cached_property
    def gone(self) -> Mapping[int, Version]:
        """Ledgers that have no metadata in the end -> the last row, which says so."""
        last = {version.ledger: version for version in self.in_time}
        return {ledger: version for ledger, version in last.items() if version.state == DELETED}

    @cached_property
    def put_back(self) -> Mapping[int, Chain]:
        """Ledgers whose metadata a fault of the run put back -> the rows that restored it, in order."""
        found: dict[int, Chain] = {}
        for version in self.in_time:
            if version.put_back:
                found[version.ledger] = (*found.get(version.ledger, ()), version)
        return found

    @cached_property
    def created_again(self) -> frozenset[int]:
        """Ids that a create gave again: a later chain begins with a version that no fault put back."""
        return frozenset(
            ledger
            for ledger, chains in self.chains.items()
            if any(rows and not rows[0].put_back for rows in chains[1:])
        )

    @cached_property
    def behind(self) -> frozenset[Version]:
        """Versions that followed metadata which a fault of the run had put back, and the put back ones.

        Not those of a time when the metadata was again what had been made last.
        """
        found: set[Version] = set()
        made: dict[int, Version] = {}
        late: dict[int, bool] = {}
        for version in self.in_time:
            newest = made.get(version.ledger)
            if version.put_back:
                same = newest and (newest.version, newest.what) == (version.version, version.what)
                # Only another ledger with its id can follow a ledger that is gone.
                late[version.ledger] = not same or version.state == DELETED
                found.add(version)
                continue
            made[version.ledger] = version
            if late.get(version.ledger):
                found.add(version)
        return frozenset(found)

    @cached_property
    def all_closes(self) -> Sequence[Version]:
        """Every CLOSED version."""
        return [version for versions in self.versions.values() for version in versions if version.closed]

    @cached_property
    def closes(self) -> Mapping[int, Version]:
        """Ledger -> its last CLOSED version; of one that was put back and is open again, none."""
        last = (next(filter(None, reversed(chains))) for chains in self.chains.values())
        return {version.ledger: version for versions in last for version in versions if version.closed}

    @cached_property
    def ends(self) -> Mapping[int, int]:
        """Ledger -> last entry of its last CLOSED version (-1: closed empty)."""
        return {ledger: version.last_entry for ledger, version in self.closes.items()}

    @cached_property
    def closed_ns(self) -> Mapping[int, int]:
        """Ledger -> by when it was first CLOSED at its last end (ns): replication writes CLOSED again."""
        times = {(one.ledger, one.last_entry): one.latest_ns for one in reversed(self.all_closes)}
        return {ledger: times[ledger, end] for ledger, end in self.ends.items()}

    @cached_property
    def gaps(self) -> Mapping[int, Sequence[tuple[int, int]]]:
        """Ledger -> (first, last) of each run of version numbers that were not seen; of no other ledgers.

        From each chain's beginning on. A removal has the number after the last version; where it has a higher
        one, that version was not seen.
        """
        found: dict[int, list[tuple[int, int]]] = {}
        for ledger, chains in self.chains.items():
            for rows in chains:
                before_first = () if rows and rows[0].put_back else (-1,)
                seen = [*before_first, *(version.version for version in rows)]
                if len(chains) == 1 and ledger in self.deleted:
                    seen.append(self.deleted[ledger].version)
                unseen = [(before + 1, after - 1) for before, after in pairwise(seen) if after > before + 1]
                if unseen:
                    found.setdefault(ledger, []).extend(unseen)
        return found

    def known_whole(self, ledger: int) -> bool:
        """Whether every version of each of its chains is known."""
        return ledger in self.versions and ledger not in self.gaps

    def seen_whole(self, ledger: int) -> bool:
        """Whether it has one chain, which is known from the first version on with none missing in between."""
        return self.known_whole(ledger) and ledger not in self.put_back

    def open_all_the_while(self, ledger: int, since_ns: int, until_ns: int) -> bool:
        """Whether it was there before, was not deleted until after, and no version of then is CLOSED."""
        there = self.seen_whole(ledger) and self.versions[ledger][0].latest_ns < since_ns
        return (
            there
            and self._deleted_ns(ledger) > until_ns
            and not any(one.closed for one in in_force(self.versions[ledger], since_ns, until_ns))
        )

    def last_ensembles(self, ledger: int, since_ns: int, until_ns: int) -> list[tuple[str, ...]]:
        """The bookies in the last ensemble of every version of then."""
        return [version.last_ensemble for version in in_force(self.versions[ledger], since_ns, until_ns)]

    def surely_open_at(self, ledger: int, at_ns: int) -> bool:
        """Whether no close and no delete of it can have been in force by then (ns)."""
        ends = [version.earliest_ns for version in self.versions.get(ledger, ()) if version.closed]
        return self.seen_whole(ledger) and at_ns < min([*ends, self._deleted_ns(ledger)])

    def surely_closed_at(self, ledger: int, at_ns: int) -> bool:
        """Whether a CLOSED version was in force by then (ns), and the ledger not deleted until then."""
        closed = any(version.closed and version.latest_ns < at_ns for version in self.versions[ledger])
        return closed and ledger not in self.put_back and at_ns < self._deleted_ns(ledger)

    def _deleted_ns(self, ledger: int) -> int:
        return self.deleted[ledger].earliest_ns if ledger in self.deleted else NEVER


def _chains(rows: Sequence[Version]) -> Iterator[Chain]:
    """The chains of one ledger; a removal ends none, for it is in no chain."""
    begins = sorted(version.zxid for version in rows if version.put_back)
    for first, last in pairwise((None, *begins, None)):
        yield tuple(
            version
            for version in rows
            if version.state != DELETED
            and (first is None or version.zxid >= first)
            and (last is None or version.zxid < last)
        )
