"""What single reads show: aborted, intermediate, repeated and unwritten elements, orders that contradict.

Sources: G1a and G1b are Adya's (*Weak Consistency*, 1999, section 4.2.2); ``incompatible-order``,
``duplicate-elements`` and garbage reads are Elle's (VLDB 2020, sections 4.3 and 6.1).
Reads that are prefixes of their log's version order are judged by length alone; of the others
every element is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checkers.log.findings import FoundClass, list_text, micro_text, name, per_log, transaction_text
from checkers.log.versions import NOBODY, Versions, flat
from evidence.codes import Outcome
from evidence.exchange.transactions import Ints, Transactions

_FAR = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Offences:
    """One event a row: the read that shows something, and the element that it shows (its code as given)."""

    read: Ints
    element: Ints


def read_findings(given: Transactions, versions: Versions) -> Iterator[FoundClass]:
    """(class, exact number of reads, findings) for each class of single reads that occurs."""
    aborted = _touching(given, versions, lambda append, _: _failed(given, append))
    yield from _findings(
        given, "G1a", "elements of failed transactions were read", aborted, _writer_proof(versions)
    )
    yield from _intermediate(given, versions)
    garbage = _touching(given, versions, lambda append, _: append == NOBODY)
    yield from _findings(
        given, "garbage-read", "elements were read that were never appended", garbage, _alone
    )
    twice = _touching(given, versions, lambda _, repeated: repeated)
    yield from _findings(given, "duplicate-elements", "lists were read with an element twice", twice, _alone)
    yield from _incompatible(given, versions)


def _touching(
    given: Transactions,
    versions: Versions,
    bad: Callable[[Ints, NDArray[np.bool_]], NDArray[np.bool_]],
) -> Offences:
    """The reads that show an element for which ``bad(append, repeated)`` holds."""
    rows = np.flatnonzero(bad(versions.append, versions.repeated))
    keys = versions.key_of(rows)
    shortest = np.full(len(given.key_names), _FAR)
    np.minimum.at(shortest, keys, rows)
    reads = versions.reads[versions.prefix]
    key = given.key[reads]
    touching = versions.base[key] + given.length[reads] > shortest[key]
    read = reads[touching]
    element = versions.element[shortest[given.key[read]]]
    other_read, other_element = _in_foreign(given, versions, bad)
    return Offences(np.concatenate((read, other_read)), np.concatenate((element, other_element)))


def _in_foreign(
    given: Transactions,
    versions: Versions,
    bad: Callable[[Ints, NDArray[np.bool_]], NDArray[np.bool_]],
) -> tuple[Ints, Ints]:
    """The same for reads that are no prefix, element by element: (reads, first bad element of each)."""
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


def _repeated(index: Ints, values: Ints) -> NDArray[np.bool_]:
    order = np.lexsort((values, index))
    again = (index[order][1:] == index[order][:-1]) & (values[order][1:] == values[order][:-1])
    repeated = np.zeros(len(values), dtype=np.bool_)
    repeated[order[1:][again]] = True
    return repeated


def _failed(given: Transactions, append: Ints) -> NDArray[np.bool_]:
    failed = append >= 0
    failed[failed] = given.outcome[given.owner[append[failed]]] == Outcome.FAIL
    return failed


def _intermediate(given: Transactions, versions: Versions) -> Iterator[FoundClass]:
    """G1b: the last element of a read is one after which its transaction appended another."""
    some = given.length[versions.reads] > 0
    reads = versions.reads[some]
    last = given.elements[given.start[reads] + given.length[reads] - 1]
    seen = versions.seen[some]
    append = np.full(len(seen), NOBODY, dtype=np.int64)
    append[seen >= 0] = versions.append[seen[seen >= 0]]
    foreign = np.flatnonzero(seen < 0)
    append[foreign] = versions.pairs.appends_of(given.key[reads[foreign]], last[foreign])
    wrong = (append >= 0) & _not_last(given)[append]
    wrong &= given.owner[append] != given.owner[reads]
    offences = Offences(reads[wrong], last[wrong])
    yield from _findings(
        given, "G1b", "reads ended between two appends of one transaction", offences, _writer_proof(versions)
    )


def _not_last(given: Transactions) -> NDArray[np.bool_]:
    """Appends after which the same transaction appends to the same key once more, shape (m,)."""
    appends = np.flatnonzero(given.kind == 0)
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
    given: Transactions,
    kind: str,
    said: str,
    offences: Offences,
    more: Callable[[Transactions, int, int], Sequence[str]],
) -> Iterator[FoundClass]:
    order = np.argsort(offences.read, kind="stable")
    reads, elements = offences.read[order], offences.element[order]

    def proof(at: int) -> Sequence[str]:
        read, element = int(reads[at]), int(elements[at])
        return (
            f"{name(given, int(given.owner[read]))}: {micro_text(given, read)}, "
            f"with element {given.element_text(element)}",
            *more(given, read, element),
        )

    yield from per_log(given, kind, said, given.key[reads], proof)


def _writer_proof(versions: Versions) -> Callable[[Transactions, int, int], Sequence[str]]:
    def proof(given: Transactions, read: int, element: int) -> Sequence[str]:
        append = int(versions.pairs.appends_of(given.key[[read]], np.array([element]))[0])
        return (transaction_text(given, int(given.owner[append])),)

    return proof


def _alone(given: Transactions, read: int, element: int) -> Sequence[str]:  # noqa: ARG001  # by contract
    return ()
