"""What one transaction shows against itself, and updates on a version that should not be there.

``internal`` is the axiom INT of Cerone, Bernardi and Gotsman (*A Framework for Transactional Consistency
Models with Atomic Visibility*, 2015); ``future-read`` is Elle's name for reading an element that the
transaction appends only later. Only micro-operations that share transaction and key matter.

``dirty-update`` is Elle's (an aborted version lies before a committed one in the version order; VLDB 2020,
section 6.1). ``lost-update`` is P4 of Berenson et al. (*A Critique of ANSI SQL Isolation Levels*, 1995)
and Adya's H_lu: two committed transactions read the same version of a log and both appended to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checkers.log.findings import FoundClass, per_log, transaction_text
from checkers.log.versions import Versions
from checkers.sets.ordering import begins
from evidence.codes import Outcome
from evidence.exchange.transactions import Ints, Micro, Transactions

_NONE = -1


@dataclass(frozen=True, eq=False)
class Groups:
    """Micro-operations of committed transactions that share transaction and key, group after group.

    ``micro``: their rows; ``begin`` and ``end``: the positions at which each one's group begins and is over;
    ``is_read``; ``before``: the position of the read before it in its group, -1 for none; ``after``: of the
    read at or after it; ``appended``: how many appends of all groups stand before it; ``is_prefix``: a read
    that is a prefix of its log.
    """

    micro: Ints
    begin: Ints
    end: Ints
    is_read: NDArray[np.bool_]
    before: Ints
    after: Ints
    appended: Ints
    is_prefix: NDArray[np.bool_]


def _groups(given: Transactions, versions: Versions) -> Groups:
    """All groups of two or more."""
    known = (given.kind == Micro.APPEND) | (given.length >= 0)
    micro = np.flatnonzero((given.outcome[given.owner] == Outcome.OK) & known)
    code = given.owner[micro].astype(np.int64) * len(given.key_names) + given.key[micro]
    order = np.argsort(code, kind="stable")
    sizes = np.diff(np.append(begins(code[order]), len(order)))
    micro, sizes = micro[order][np.repeat(sizes > 1, sizes)], sizes[sizes > 1]
    end = np.repeat(np.cumsum(sizes), sizes)
    begin = end - np.repeat(sizes, sizes)
    at, is_read = np.arange(len(micro)), given.kind[micro] == Micro.READ
    before = np.append(_NONE, np.maximum.accumulate(np.where(is_read, at, _NONE)))[:-1]
    after = np.minimum.accumulate(np.where(is_read, at, len(at))[::-1])[::-1]
    is_prefix = np.zeros(len(given.kind), dtype=np.bool_)
    is_prefix[versions.reads] = versions.prefix
    return Groups(
        micro=micro,
        begin=begin,
        end=end,
        is_read=is_read,
        before=np.where(before >= begin, before, _NONE),
        after=np.where(after < end, after, _NONE),
        appended=np.cumsum(~is_read) - ~is_read,
        is_prefix=is_prefix[micro],
    )


def within_findings(given: Transactions, versions: Versions) -> Iterator[FoundClass]:
    """(class, exact number, findings) of each class that transactions show by themselves."""
    groups = _groups(given, versions)

    def found(kind: str, said: str, micros: Ints) -> Iterator[FoundClass]:
        """Of one finding each: its micro-operations, of which the last ones are in its log."""
        return per_log(
            given,
            kind,
            said,
            given.key[micros[:, -1]],
            lambda at: [transaction_text(given, int(owner)) for owner in given.owner[micros[at]]],
        )

    said = "a transaction's read contradicts its own reads and appends before it"
    yield from found("internal", said, groups.micro[_internal(given, groups), None])
    said = "a transaction read an element that it appended only later"
    yield from found("future-read", said, groups.micro[_future(given, versions, groups), None])
    said = "an append of a failed transaction lies before a committed one"
    yield from found("dirty-update", said, _dirty(given, versions))
    said = "a transaction appended after reading a version on which another one appended too"
    yield from found("lost-update", said, _lost(given, groups))


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
    # The longest prefix read before each position: groups are far apart, so that no maximum passes on.
    apart = groups.begin * 2**32
    read = np.where(groups.is_prefix, given.length[groups.micro], 0)
    shown = (row >= 0) & (place < np.maximum.accumulate(apart + read) - apart)
    for position in np.flatnonzero(groups.is_read & ~groups.is_prefix):
        later = slice(position, groups.end[position])
        listed = given.list_of(groups.micro[position])
        shown[later] |= np.isin(given.element[groups.micro[later]], listed)
    return np.flatnonzero(shown & ~groups.is_read)


def _dirty(given: Transactions, versions: Versions) -> Ints:
    """Failed appends with a committed one behind them in the order: both, as rows of two."""
    rows = np.flatnonzero((versions.append >= 0) & ~versions.repeated)
    ended = given.outcome[given.owner[versions.append[rows]]]
    failed, committed = rows[ended == Outcome.FAIL], rows[ended == Outcome.OK]
    behind = np.searchsorted(committed, failed)
    failed, behind = failed[behind < len(committed)], committed[behind[behind < len(committed)]]
    same = versions.key_of(failed) == versions.key_of(behind)
    both: Ints = versions.append[np.stack([failed[same], behind[same]], axis=1)]
    return both


def _lost(given: Transactions, groups: Groups) -> Ints:
    """Reads of one version by transactions that read it first and then appended to it: rows of two."""
    reads = np.flatnonzero((groups.begin == np.arange(len(groups.micro))) & groups.is_read)
    last = groups.end[reads] - 1
    appended = groups.appended[last] + ~groups.is_read[last] > groups.appended[reads]
    reads = reads[appended]
    keys, value = given.key[groups.micro[reads]], _values(given, groups, reads)
    order = np.lexsort((value, keys))
    again = (keys[order][1:] == keys[order][:-1]) & (value[order][1:] == value[order][:-1])
    both: Ints = groups.micro[reads[np.stack([order[:-1][again], order[1:][again]], axis=1)]]
    return both


def _values(given: Transactions, groups: Groups, reads: Ints) -> Ints:
    """A number for each read's list: equal for equal lists of one log."""
    micro = groups.micro[reads]
    value = given.length[micro].astype(np.int64)
    foreign: dict[tuple[int, bytes], int] = {}
    for at in np.flatnonzero(~groups.is_prefix[reads]):
        own = (int(given.key[micro[at]]), given.list_of(int(micro[at])).tobytes())
        value[at] = -1 - foreign.setdefault(own, len(foreign))
    return value
