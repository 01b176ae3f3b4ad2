"""What single reads show: aborted, intermediate, repeated and unwritten elements, orders that contradict.

Sources: G1a and G1b are Adya's (*Weak Consistency*, 1999, section 4.2.2); ``incompatible-order``,
``duplicate-elements`` and garbage reads are Elle's (VLDB 2020, sections 4.3 and 6.1).
Reads that are prefixes of their log's version order are judged by length alone; of the others
every element is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from checkers.log.findings import FoundClass, list_text, micro_text, name, per_log, transaction_text
from checkers.log.versions import NOBODY, Versions, flat
from evidence.codes import Outcome
from evidence.exchange.transactions import Ints, Micro, Transactions

Mask = NDArray[np.bool_]
Bad = Callable[[Ints, Mask], Mask]
"""Which elements should not be there, from the append of each and whether it stands in its list before."""
Offences = tuple[Ints, Ints]
"""One event a row: the read that shows something, and the element that it shows (its code as given)."""


def read_findings(given: Transactions, versions: Versions) -> Iterator[FoundClass]:
    """(class, exact number of reads, findings) for each class of single reads that occurs."""
    failed = given.outcome[given.owner] == Outcome.FAIL

    def found(kind: str, said: str, offences: Offences) -> Iterator[FoundClass]:
        return _findings(given, versions, kind, said, offences)

    aborted = _touching(given, versions, lambda append, _: (append >= 0) & failed[append])
    yield from found("G1a", "elements of failed transactions were read", aborted)
    yield from found(
        "G1b", "reads ended between two appends of one transaction", _ended_between(given, versions)
    )
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
    again = (index[order][1:] == index[order][:-1]) & (values[order][1:] == values[order][:-1])
    repeated = np.zeros(len(values), dtype=np.bool_)
    repeated[order[1:][again]] = True
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

    said = "reads are no prefix of the log's longest read"
    yield from per_log(given, "incompatible-order", said, keys, proof)


def _findings(
    given: Transactions, versions: Versions, kind: str, said: str, offences: Offences
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

    yield from per_log(given, kind, said, given.key[reads], proof)
