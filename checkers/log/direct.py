"""Classes of findings that need no cycle: what single reads and single transactions show, and their updates.

Sources: G1a and G1b are Adya's (*Weak Consistency*, 1999, section 4.2.2); ``incompatible-order``,
``duplicate-elements``, garbage reads and ``dirty-update`` (an aborted version lies before a committed one in
the version order) are Elle's (VLDB 2020, sections 4.3 and 6.1). ``internal`` is the axiom INT of Cerone,
Bernardi and Gotsman (*A Framework for Transactional Consistency Models with Atomic Visibility*, 2015);
``future-read`` is Elle's name for reading an element that the transaction appends only later.
``lost-update`` is P4 of Berenson et al. (*A Critique of ANSI SQL Isolation Levels*, 1995) and Adya's H_lu:
two committed transactions read the same version of a log and both appended to it.

Reads that are prefixes of their log's version order are judged by length alone; of the others every element
is looked up. Within a transaction only micro-operations that share the key matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from checkers.log.findings import FoundClass, list_text, micro_text, name, per_log, transaction_text
from checkers.log.versions import NOBODY, Versions, flat
from checkers.sets.ordering import begins, changes
from evidence.codes import Outcome
from evidence.exchange.transactions import Ints, Micro, Transactions

Mask = NDArray[np.bool_]
Bad = Callable[[Ints, Mask], Mask]
"""Which elements should not be there, from the append of each and whether its list had it before."""
Offences = tuple[Ints, Ints]
"""One event a row: the read that shows something, and the element that it shows (its code as given)."""
_NONE = -1


def read_findings(given: Transactions, versions: Versions) -> Iterator[FoundClass]:
    """(class, exact number of reads, findings) for each class of single reads that occurs."""
    failed = given.outcome[given.owner] == Outcome.FAIL
    found = partial(_findings, given, versions)
    aborted = _touching(given, versions, lambda append, _: (append >= 0) & failed[append])
    yield from found("G1a", "elements of failed transactions were read", aborted)
    between = _ended_between(given, versions)
    yield from found("G1b", "reads ended between two appends of one transaction", between)
    garbage = _touching(given, versions, lambda append, _: append == NOBODY)
    yield from found("garbage-read", "elements were read that were never appended", garbage)
    twice = _touching(given, versions, lambda _, repeated: repeated)
    yield from found("duplicate-elements", "lists were read with an element twice", twice)
    yield from _incompatible(given, versions)


def _touching(given: Transactions, versions: Versions, bad: Bad) -> Offences:
    """The reads that show an element which is ``bad``, each with the first one."""
    rows = np.flatnonzero(bad(versions.append, versions.repeated))
    earliest = np.full(len(given.key_names), np.iinfo(np.int64).max)
    np.minimum.at(earliest, versions.key_of(rows), rows)
    reads = versions.reads[versions.prefix]
    key = given.key[reads]
    read = reads[versions.base[key] + given.length[reads] > earliest[key]]
    element = versions.element[earliest[given.key[read]]]
    other_read, other_element = _in_foreign(given, versions, bad)
    return np.concatenate((read, other_read)), np.concatenate((element, other_element))


def _in_foreign(given: Transactions, versions: Versions, bad: Bad) -> Offences:
    """The same for reads that are no prefix, element by element."""
    others = versions.reads[~versions.prefix]
    ends = np.cumsum(given.length[others])
    read, element = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for at, values in flat(given, others):
        index = np.searchsorted(ends, at + np.arange(len(values)), side="right")
        append = versions.pairs.appends_of(given.key[others[index]], values)
        wrong = np.flatnonzero(bad(append, _repeated(index, values)))
        which, first = np.unique(index[wrong], return_index=True)
        read.append(others[which])
        element.append(values[wrong[first]].astype(np.int64))
    return np.concatenate(read), np.concatenate(element)


def _repeated(index: Ints, values: Ints) -> Mask:
    """Which values stand before in the list with the same index."""
    order = np.lexsort((values, index))
    repeated = np.empty(len(values), dtype=np.bool_)
    repeated[order] = ~changes(index[order], values[order])
    return repeated


def _ended_between(given: Transactions, versions: Versions) -> Offences:
    """The last element of a read is one after which its transaction appended another."""
    append, reads = versions.last_append, versions.reads
    wrong = (append >= 0) & _not_last(given)[append] & (given.owner[append] != given.owner[reads])
    reads = reads[wrong]
    return reads, given.elements[given.start[reads] + given.length[reads] - 1]


def _not_last(given: Transactions) -> Mask:
    """Appends after which the same transaction appends to the same key once more, shape (m,)."""
    appends = np.flatnonzero(given.kind == Micro.APPEND)
    code = given.owner[appends].astype(np.int64) * len(given.key_names) + given.key[appends]
    order = np.argsort(code, kind="stable")
    not_last = np.zeros(len(given.kind), dtype=np.bool_)
    not_last[appends[order[:-1]]] = code[order][1:] == code[order][:-1]
    return not_last


def _incompatible(given: Transactions, versions: Versions) -> Iterator[FoundClass]:
    reads = versions.reads[~versions.prefix]
    keys = given.key[reads]

    def proof(at: int) -> Sequence[str]:
        read, key = int(reads[at]), int(keys[at])
        order = versions.element[versions.base[key] : versions.base[key + 1]]
        own = given.list_of(read)
        where = int(np.flatnonzero(own != order[: len(own)])[0])
        return (
            transaction_text(given, int(given.owner[read])),
            f"its element {where} is {given.element_text(own[where])}, in the longest read of the log, "
            f"{list_text(given, order)}, it is {given.element_text(order[where])}",
        )

    text = "reads are no prefix of the log's longest read"
    yield from per_log(given, "incompatible-order", text, keys, proof)


def _findings(
    given: Transactions, versions: Versions, kind: str, text: str, offences: Offences
) -> Iterator[FoundClass]:
    order = np.argsort(offences[0], kind="stable")
    reads, elements = (column[order] for column in offences)

    def proof(at: int) -> Iterator[str]:
        read, element = int(reads[at]), elements[at : at + 1]
        yield (
            f"{name(given, int(given.owner[read]))}: {micro_text(given, read)}, "
            f"with element {given.element_text(element[0])}"
        )
        if kind in ("G1a", "G1b"):  # of the others no writer is known, or it did nothing wrong
            append = versions.pairs.appends_of(given.key[[read]], element)[0]
            yield transaction_text(given, int(given.owner[append]))

    yield from per_log(given, kind, text, given.key[reads], proof)


@dataclass(frozen=True, eq=False)
class Groups:
    """Micro-operations of committed transactions that share transaction and key, group after group."""

    micro: Ints
    """Their rows."""
    begin: Ints
    """Position at which the group of each begins."""
    end: Ints
    """Position at which the group of each is over."""
    is_read: Mask
    before: Ints
    """Position of the read before it in its group, -1 for none."""
    after: Ints
    """Position of the read at or after it."""
    appended: Ints
    """How many appends of all groups stand before it."""
    is_prefix: Mask
    """Whether it is a read of a prefix of its log."""


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

    def found(kind: str, text: str, micros: Ints) -> Iterator[FoundClass]:
        """Of one finding each: its micro-operations, of which the last ones are in its log."""
        return per_log(
            given,
            kind,
            text,
            given.key[micros[:, -1]],
            lambda at: [transaction_text(given, int(owner)) for owner in given.owner[micros[at]]],
        )

    text = "a transaction's read contradicts its own reads and appends before it"
    yield from found("internal", text, groups.micro[_internal(given, groups), None])
    text = "a transaction read an element that it appended only later"
    yield from found("future-read", text, groups.micro[_future(given, versions, groups), None])
    text = "an append of a failed transaction lies before a committed one"
    yield from found("dirty-update", text, _dirty(given, versions))
    text = "a transaction appended after reading a version on which another one appended too"
    yield from found("lost-update", text, _lost(given, groups))


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
    """Failed appends with a committed one after them in the order: both, as rows of two."""
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
    again = np.flatnonzero(~changes(keys[order], value[order]))
    both: Ints = groups.micro[reads[order[np.stack([again - 1, again], axis=1)]]]
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
