"""Edges between transactions: what wrote, read and overwrote what; which came first.

Adya's direct dependencies (*Weak Consistency*, 1999, section 3.1.3): ww (it appended directly after the
other's element), wr (it read up to the other's element), rw (it read the version that the other's append
replaced). Beside them the order of each process and real time: X before Y if X completed before Y was
invoked.

All of it is linear in the size of the history. Where many transactions stand before many others, an
inner node stands between them: one for each moment of real time, a few for the appends that no read shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntFlag

import numpy as np
from numpy.typing import NDArray

from checkers.log.versions import EMPTY, Versions
from evidence.codes import Outcome
from evidence.exchange.transactions import Ints, Transactions

FEW_PAIRS = 10_000
"""Up to this number of pairs at one log are separate edges."""


@dataclass
class Nodes:
    """Numbers for nodes: the transactions' own, then inner ones."""

    number: int

    def take(self, many: int) -> int:
        """The first of this number of new inner nodes."""
        first = self.number
        self.number += many
        return first


def unread_edges(
    nodes: Nodes, reader: Ints, reader_key: Ints, writer: Ints, writer_key: Ints
) -> tuple[Ints, Ints, Ints]:
    """Edges from the readers of a log's last version to appends that no read shows: (source, target, key).

    Rows of ``reader`` and ``writer`` are transactions at a key. Each reader stands before each such append,
    its own excepted. Where that is few pairs they are edges; else inner nodes stand between. Those who are on
    both sides need care: a node between all and all would lead each to itself. They are put in a row, one
    chain of nodes leads to all behind a place in the row and one to all before it.
    """
    sources, targets, keys = [], [], []
    wanted = np.isin(reader_key, writer_key)
    for key, readers, writers in _by_key(reader[wanted], reader_key[wanted], writer, writer_key):
        if len(readers) * len(writers) <= FEW_PAIRS:
            source, target = np.repeat(readers, len(writers)), np.tile(writers, len(readers))
        else:
            source, target = _chained(nodes, readers, writers)
        sources.append(source)
        targets.append(target)
        keys.append(np.full(len(source), key))
    none = np.empty(0, dtype=np.int64)
    return np.concatenate([none, *sources]), np.concatenate([none, *targets]), np.concatenate([none, *keys])


def _by_key(
    reader: Ints, reader_key: Ints, writer: Ints, writer_key: Ints
) -> Iterator[tuple[int, Ints, Ints]]:
    """Each key that has both, with its distinct readers and writers."""
    by_reader, by_writer = np.argsort(reader_key, kind="stable"), np.argsort(writer_key, kind="stable")
    reader, reader_key = reader[by_reader], reader_key[by_reader]
    writer, writer_key = writer[by_writer], writer_key[by_writer]
    for key in np.intersect1d(reader_key, writer_key):
        own = [np.searchsorted(keys, (key, key + 1)) for keys in (reader_key, writer_key)]
        yield int(key), np.unique(reader[slice(*own[0])]), np.unique(writer[slice(*own[1])])


def _chained(nodes: Nodes, readers: Ints, writers: Ints) -> tuple[Ints, Ints]:
    """Two chains through those on both sides; see :func:`unread_edges`."""
    both = np.intersect1d(readers, writers)
    only_read, only_wrote = np.setdiff1d(readers, both), np.setdiff1d(writers, both)
    size = len(both)
    behind = nodes.take(size + 1)
    ahead = nodes.take(size)
    place = np.arange(size)
    source: list[Ints] = [
        only_read,
        behind + place,
        behind + place,
        np.full(len(only_wrote), behind + size),
        ahead + place,
        ahead + place[1:],
        both,
        both[1:],
    ]
    target: list[Ints] = [
        np.full(len(only_read), behind),
        behind + place + 1,
        both,
        only_wrote,
        both,
        ahead + place[1:] - 1,
        behind + place + 1,
        ahead + place[1:] - 1,
    ]
    return np.concatenate(source), np.concatenate(target)


class Edge(IntFlag):
    """What an edge says."""

    WW = 1
    WR = 2
    RW = 4
    PROCESS = 8
    REALTIME = 16


@dataclass(frozen=True, eq=False)
class Edges:
    """Columns, one row an edge: ``source``, ``target``, ``label`` (of :class:`Edge`), ``key`` (-1: none).

    Nodes below ``transactions`` are transactions, those up to ``nodes`` inner ones; an edge from an inner
    node continues the edge that led there.
    """

    transactions: int
    nodes: int
    source: Ints
    target: Ints
    label: NDArray[np.int8]
    key: Ints

    def only(self, chosen: NDArray[np.bool_] | Ints) -> Edges:
        """Some of the edges, by a mask or by their positions."""
        return Edges(
            self.transactions,
            self.nodes,
            self.source[chosen],
            self.target[chosen],
            self.label[chosen],
            self.key[chosen],
        )


def all_edges(given: Transactions, versions: Versions) -> Edges:
    """Every edge of the data and of real time."""
    nodes = Nodes(len(given))
    parts = [*_data(given, versions, nodes), _realtime(given, nodes)]
    source, target, key = (
        np.concatenate([part[column] for _, part in parts]).astype(np.int32) for column in range(3)
    )
    label = np.concatenate([np.full(len(part[0]), edge, dtype=np.int8) for edge, part in parts])
    apart = source != target
    return Edges(len(given), nodes.number, source[apart], target[apart], label[apart], key[apart])


_Part = tuple[Edge, tuple[Ints, Ints, Ints]]


def _data(given: Transactions, versions: Versions, nodes: Nodes) -> list[_Part]:
    """ww, wr and rw; appends of failed, unknown or ambiguous writers have no part in them."""
    rows = np.flatnonzero(~versions.repeated)
    key = versions.key_of(rows)
    writer = _writers(given, versions.append[rows])
    follows = np.concatenate((key[1:] == key[:-1], [False])) if len(rows) else np.zeros(0, np.bool_)
    after = np.where(follows, np.concatenate((writer[1:], [-1]))[: len(rows)], -1)
    ww = (writer >= 0) & (after >= 0)
    place = np.full(len(versions.element) + 1, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    seen, reader = versions.seen, given.owner[versions.reads]
    reads_key = given.key[versions.reads]
    wrote = _last_writers(given, versions)
    wr = wrote >= 0
    first_of = np.concatenate((np.searchsorted(key, np.arange(len(given.key_names))), [0]))
    has_versions = versions.base[reads_key + 1] > versions.base[reads_key]
    next_writer = np.full(len(seen), -1, dtype=np.int64)
    inside = seen >= 0
    next_writer[inside] = after[place[seen[inside]]]
    start = (seen == EMPTY) & has_versions
    next_writer[start] = writer[first_of[reads_key[start]]]
    rw = next_writer >= 0
    at_end = (seen == EMPTY) & ~has_versions
    at_end[inside] = ~follows[place[seen[inside]]]
    return [
        (Edge.WW, (writer[ww], after[ww], key[ww])),
        (Edge.WR, (wrote[wr], reader[wr], reads_key[wr])),
        (Edge.RW, (reader[rw], next_writer[rw], reads_key[rw])),
        *_unread(
            given, versions, nodes, (reader[at_end], reads_key[at_end]), (writer[~follows], key[~follows])
        ),
    ]


def _unread(
    given: Transactions,
    versions: Versions,
    nodes: Nodes,
    readers: tuple[Ints, Ints],
    ends: tuple[Ints, Ints],
) -> list[_Part]:
    """Appends that no read shows come after everything that was read: Elle's reading of them.

    Those of unknown transactions are left out unless another of their appends was read: nothing would
    come after them, so no cycle has them.
    """
    appends = np.flatnonzero((given.kind == 0) & (versions.version < 0))
    owner = given.owner[appends]
    took_effect = given.outcome == Outcome.OK
    shown = versions.append[versions.append >= 0]
    effective = given.owner[shown]
    took_effect[effective[given.outcome[effective] != Outcome.FAIL]] = True
    appends, owner = appends[took_effect[owner]], owner[took_effect[owner]]
    key = given.key[appends]
    end = np.full(len(given.key_names), -1, dtype=np.int64)
    end[ends[1]] = ends[0]
    last = end[key]
    known = last >= 0
    source, target, of_key = unread_edges(nodes, *readers, owner, key)
    return [
        (Edge.WW, (last[known], owner[known], key[known])),
        (Edge.RW, (source, target, of_key)),
    ]


def _writers(given: Transactions, append: Ints) -> Ints:
    """The transaction of each append, -1 where it is not known to be a transaction that may have happened."""
    writer = np.full(len(append), -1, dtype=np.int64)
    known = append >= 0
    owner = given.owner[append[known]]
    writer[known] = np.where(given.outcome[owner] == Outcome.FAIL, -1, owner)
    return writer


def _last_writers(given: Transactions, versions: Versions) -> Ints:
    """For each read the transaction that wrote its last element, -1 for none."""
    append = np.full(len(versions.reads), -1, dtype=np.int64)
    inside = versions.seen >= 0
    append[inside] = versions.append[versions.seen[inside]]
    foreign = np.flatnonzero(~inside & (given.length[versions.reads] > 0))
    reads = versions.reads[foreign]
    last = given.elements[given.start[reads] + given.length[reads] - 1]
    append[foreign] = versions.pairs.appends_of(given.key[reads], last)
    return _writers(given, append)


def with_process(edges: Edges, given: Transactions, rows: Ints) -> Edges:
    """The same with the order of each process; ``rows`` are the transactions behind the first nodes.

    Left out of ``all_edges``, for real time implies it: a process does one thing at a time.
    """
    done = np.flatnonzero(given.outcome[rows] == Outcome.OK)
    order = done[np.lexsort((given.invoked[rows[done]], given.process[rows[done]]))]
    process = given.process[rows[order]]
    same = process[1:] == process[:-1]
    node = edges.nodes + np.arange(len(order))
    earlier, later = np.flatnonzero(same), np.flatnonzero(same) + 1
    source = np.concatenate((order, node[earlier], node[earlier]))
    target = np.concatenate((node, node[later], order[later]))
    return Edges(
        edges.transactions,
        edges.nodes + len(order),
        np.concatenate((edges.source, source)),
        np.concatenate((edges.target, target)),
        np.concatenate((edges.label, np.full(len(source), Edge.PROCESS, dtype=np.int8))),
        np.concatenate((edges.key, np.full(len(source), -1))),
    )


def _realtime(given: Transactions, nodes: Nodes) -> _Part:
    """Committed transactions lead to the moment after them, moments to the next and to what follows."""
    done = np.flatnonzero(given.outcome == Outcome.OK)
    begun = np.flatnonzero(given.outcome != Outcome.FAIL)
    begun = begun[np.argsort(given.invoked[begun], kind="stable")]
    # The moments that matter are those at which something begins: a completion counts from the next of them.
    moments = np.unique(given.invoked[begun])
    after = np.searchsorted(moments, given.completed[done], side="right")
    used, moment = np.unique(after, return_inverse=True)
    node = nodes.take(len(used))
    reaches = moment[used[moment] < len(moments)] if len(used) else moment
    sources = done[used[moment] < len(moments)] if len(used) else done
    at = np.searchsorted(used, np.searchsorted(moments, given.invoked[begun]), side="right") - 1
    follows = at >= 0
    source = np.concatenate((sources, node + np.arange(max(len(used) - 1, 0)), node + at[follows]))
    target = np.concatenate((node + reaches, node + np.arange(1, max(len(used), 1)), begun[follows]))
    return Edge.REALTIME, (source, target, np.full(len(source), -1))
