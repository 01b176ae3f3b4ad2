"""Updates on what should not be: on a failed transaction's append, or on the same version twice.

``dirty-update`` is Elle's (an aborted version lies before a committed one in the version order; VLDB 2020,
section 6.1). ``lost-update`` is P4 of Berenson et al. (*A Critique of ANSI SQL Isolation Levels*, 1995)
and Adya's H_lu: two committed transactions read the same version of a log and both appended to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from checkers.log.findings import firsts, per_log, transaction_text
from checkers.log.versions import Versions
from checkers.log.within import Groups
from evidence.codes import Outcome
from evidence.exchange.transactions import Ints, Transactions
from evidence.findings import Finding


def update_findings(
    given: Transactions, versions: Versions, groups: Groups
) -> Iterator[tuple[str, int, Iterator[Finding]]]:
    """(class, exact number, findings) of ``dirty-update`` and ``lost-update`` where they occur."""
    yield from _dirty(given, versions)
    yield from _lost(given, groups)


def _dirty(given: Transactions, versions: Versions) -> Iterator[tuple[str, int, Iterator[Finding]]]:
    """Failed appends with a committed one behind them in the order."""
    rows = np.flatnonzero((versions.append >= 0) & ~versions.repeated)
    ended = given.outcome[given.owner[versions.append[rows]]]
    failed, committed = rows[ended == Outcome.FAIL], rows[ended == Outcome.OK]
    if not len(failed) or not len(committed):
        return
    behind = np.searchsorted(committed, failed)
    has = behind < len(committed)
    failed, behind = failed[has], committed[behind[has]]
    keys = versions.key_of(failed)
    same = versions.key_of(behind) == keys
    failed, behind, keys = failed[same], behind[same], keys[same]
    if not len(failed):
        return

    def proofs() -> Iterator[Sequence[str]]:
        for at in firsts(keys):
            yield tuple(
                transaction_text(given, int(given.owner[versions.append[row]]))
                for row in (failed[at], behind[at])
            )

    said = "an append of a failed transaction lies before a committed one"
    yield ("dirty-update", *per_log(given, "dirty-update", said, keys, proofs()))


def _lost(given: Transactions, groups: Groups) -> Iterator[tuple[str, int, Iterator[Finding]]]:
    """Versions that several transactions read first, before appending to the same log."""
    at = np.arange(len(groups.micro))
    reads = np.flatnonzero((groups.begin == at) & groups.is_read)
    appends = np.concatenate((np.cumsum(~groups.is_read), [0]))
    end = np.concatenate((np.flatnonzero(groups.begin == at)[1:], [len(at)]))
    first = np.flatnonzero(groups.begin == at)
    last = end[np.searchsorted(first, reads)] - 1
    reads = reads[appends[last] > appends[reads]] if len(reads) else reads
    if not len(reads):
        return
    micro = groups.micro[reads]
    keys, value = given.key[micro], _values(given, groups, reads)
    order = np.lexsort((value, keys))
    again = (keys[order][1:] == keys[order][:-1]) & (value[order][1:] == value[order][:-1])
    if not again.any():
        return
    events = order[1:][again]
    earlier = order[:-1][again]
    of_key = keys[events]

    def proofs() -> Iterator[Sequence[str]]:
        for position in firsts(of_key):
            yield tuple(
                transaction_text(given, int(given.owner[micro[one]]))
                for one in (earlier[position], events[position])
            )

    said = "a transaction appended after reading a version on which another one appended too"
    yield ("lost-update", *per_log(given, "lost-update", said, of_key, proofs()))


def _values(given: Transactions, groups: Groups, reads: Ints) -> Ints:
    """A number for each read's list: equal for equal lists of one log."""
    micro = groups.micro[reads]
    value = given.length[micro].astype(np.int64)
    foreign: dict[tuple[int, bytes], int] = {}
    for at in np.flatnonzero(~groups.is_prefix[reads]):
        own = (int(given.key[micro[at]]), given.list_of(int(micro[at])).tobytes())
        value[at] = -1 - foreign.setdefault(own, len(foreign))
    return value
