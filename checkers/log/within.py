"""What one transaction shows against itself, and updates on a version that should not be there.

``internal`` is the axiom INT of Cerone, Bernardi and Gotsman (*A Framework for Transactional Consistency
Models with Atomic Visibility*, 2015); ``future-read`` is Elle's name for reading an element that the
transaction appends only later. Only micro-operations that share transaction and key matter.

``dirty-update`` is Elle's (an aborted version lies before a committed one in the version order; VLDB 2020,
section 6.1). ``lost-update`` is P4 of Berenson et al. (*A Critique of ANSI SQL Isolation Levels*, 1995)
and Adya's H_lu: two committed transactions read the same version of a log and both appended to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checkers.log.findings import FoundClass, per_log, transaction_text
from checkers.log.versions import Versions
from evidence.codes import Outcome
from evidence.exchange.transactions import Ints, Micro, Transactions

_NONE = -1


@dataclass(frozen=True, eq=False)
class Groups:
    """Micro-operations of committed transactions that share transaction and key, group after group.

    ``micro``: their rows; ``begin``: the position at which each one's group begins; ``is_read``;
    ``before``: the position of the read before it in its group, -1 for none; ``after``: of the read at or
    after it; ``appended``: how many appends of all groups stand before it; ``is_prefix``: a read that is
    a prefix of its log.
    """

    micro: Ints
    begin: Ints
    is_read: NDArray[np.bool_]
    before: Ints
    after: Ints
    appended: Ints
    is_prefix: NDArray[np.bool_]

    @staticmethod
    def of(given: Transactions, versions: Versions) -> Groups:
        """All groups of two or more."""
        usable = (given.outcome[given.owner] == Outcome.OK) & (
            (given.kind == Micro.APPEND) | (given.length >= 0)
        )
        micro = np.flatnonzero(usable)
        code = given.owner[micro].astype(np.int64) * len(given.key_names) + given.key[micro]
        order = np.argsort(code, kind="stable")
        micro, code = micro[order], code[order]
        fresh = np.concatenate(([True], code[1:] != code[:-1])) if len(code) else np.zeros(0, np.bool_)
        alone = fresh & np.concatenate((fresh[1:], [True]))[: len(fresh)]
        micro, fresh = micro[~alone], fresh[~alone]
        at = np.arange(len(micro))
        begin = np.maximum.accumulate(np.where(fresh, at, 0)) if len(at) else at
        is_read = given.kind[micro] == Micro.READ
        last = np.maximum.accumulate(np.where(is_read, at, _NONE)) if len(at) else at
        before = np.concatenate(([_NONE], last[:-1]))[: len(at)]
        after = np.minimum.accumulate(np.where(is_read, at, len(at))[::-1])[::-1] if len(at) else at
        after = np.where((after < len(at)) & (begin[np.minimum(after, len(at) - 1)] == begin), after, _NONE)
        counted = np.cumsum(~is_read)
        is_prefix = np.zeros(len(given.kind), dtype=np.bool_)
        is_prefix[versions.reads] = versions.prefix
        return Groups(
            micro=micro,
            begin=begin,
            is_read=is_read,
            before=np.where(before >= begin, before, _NONE),
            after=after,
            appended=counted - ~is_read,
            is_prefix=is_prefix[micro],
        )


def within_findings(given: Transactions, versions: Versions, groups: Groups) -> Iterator[FoundClass]:
    """(class, exact number, findings) of ``internal`` and ``future-read`` where they occur."""
    said = "a transaction's read contradicts its own reads and appends before it"
    yield from _findings(given, "internal", said, groups.micro[_internal(given, groups)])
    said = "a transaction read an element that it appended only later"
    yield from _findings(given, "future-read", said, groups.micro[_future(given, versions, groups)])


def _internal(given: Transactions, groups: Groups) -> Ints:
    """Positions of reads that are not what the transaction itself makes them."""
    length = given.length[groups.micro]
    reads = np.flatnonzero(groups.is_read)
    before = groups.before[reads]
    has = before >= 0
    own = groups.appended[reads] - groups.appended[np.where(has, before, groups.begin[reads])]
    wrong = np.where(has, length[reads] != length[before] + own, length[reads] < own)
    for row in np.flatnonzero(has & ~wrong & ~(groups.is_prefix[reads] & groups.is_prefix[before])):
        mine, earlier = given.list_of(groups.micro[reads[row]]), given.list_of(groups.micro[before[row]])
        wrong[row] = bool((mine[: len(earlier)] != earlier).any())
    appends = np.flatnonzero(~groups.is_read & (groups.after >= 0))
    after = groups.after[appends]
    where = length[after] - (groups.appended[after] - groups.appended[appends])
    fits = where >= 0
    start = given.start[groups.micro[after[fits]]]
    fits[fits] = given.elements[start + where[fits]] == given.element[groups.micro[appends[fits]]]
    return np.unique(np.concatenate((reads[wrong], after[~fits])))


def _future(given: Transactions, versions: Versions, groups: Groups) -> Ints:
    """Positions of appends whose element an earlier read of the same transaction shows."""
    row = versions.version[groups.micro]
    place = row - versions.base[given.key[groups.micro]]
    may = (row >= 0) & (place < _longest_before(given, groups)) | _foreign_before(groups)
    appends = np.flatnonzero(~groups.is_read & (groups.before >= 0) & may)
    found = [position for position in appends if _shown_before(given, versions, groups, int(position))]
    return np.array(found, dtype=np.int64)


def _longest_before(given: Transactions, groups: Groups) -> Ints:
    """The length of the longest read of the group up to each position."""
    shift = groups.begin * 2**32
    return np.maximum.accumulate(shift + np.where(groups.is_read, given.length[groups.micro], 0)) - shift


def _foreign_before(groups: Groups) -> NDArray[np.bool_]:
    """Whether a read that is no prefix is in the group up to each position."""
    own = groups.is_read & ~groups.is_prefix
    number = np.cumsum(own)
    return np.greater(number, (number - own)[groups.begin])


def _shown_before(given: Transactions, versions: Versions, groups: Groups, append: int) -> bool:
    """Whether any read of the group before this append shows its element."""
    micro = groups.micro[append]
    row = int(versions.version[micro])
    read = int(groups.before[append])
    while read >= 0:
        shown = groups.micro[read]
        if groups.is_prefix[read]:
            if 0 <= row < versions.base[given.key[micro]] + given.length[shown]:
                return True
        elif (given.list_of(shown) == given.element[micro]).any():
            return True
        read = int(groups.before[read])
    return False


def _findings(given: Transactions, kind: str, said: str, micros: Ints) -> Iterator[FoundClass]:
    owners = given.owner[micros]
    yield from per_log(
        given, kind, said, given.key[micros], lambda at: (transaction_text(given, int(owners[at])),)
    )


def update_findings(given: Transactions, versions: Versions, groups: Groups) -> Iterator[FoundClass]:
    """(class, exact number, findings) of ``dirty-update`` and ``lost-update`` where they occur."""
    yield from _dirty(given, versions)
    yield from _lost(given, groups)


def _dirty(given: Transactions, versions: Versions) -> Iterator[FoundClass]:
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
    said = "an append of a failed transaction lies before a committed one"
    both = np.stack([failed[same], behind[same]], axis=1)
    yield from per_log(
        given, "dirty-update", said, keys[same], lambda at: _of_appends(given, versions, both[at])
    )


def _of_appends(given: Transactions, versions: Versions, rows: Ints) -> Sequence[str]:
    """The transactions that made some versions."""
    return [transaction_text(given, int(owner)) for owner in given.owner[versions.append[rows]]]


def _lost(given: Transactions, groups: Groups) -> Iterator[FoundClass]:
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
    both = np.stack([order[:-1][again], order[1:][again]], axis=1)
    said = "a transaction appended after reading a version on which another one appended too"
    yield from per_log(
        given,
        "lost-update",
        said,
        keys[both[:, 1]],
        lambda at: [transaction_text(given, int(owner)) for owner in given.owner[micro[both[at]]]],
    )


def _values(given: Transactions, groups: Groups, reads: Ints) -> Ints:
    """A number for each read's list: equal for equal lists of one log."""
    micro = groups.micro[reads]
    value = given.length[micro].astype(np.int64)
    foreign: dict[tuple[int, bytes], int] = {}
    for at in np.flatnonzero(~groups.is_prefix[reads]):
        own = (int(given.key[micro[at]]), given.list_of(int(micro[at])).tobytes())
        value[at] = -1 - foreign.setdefault(own, len(foreign))
    return value
