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
from evidence.exchange.transactions import Ints, Micro, Transactions

FEW_PAIRS = 10_000
"""Up to this number of pairs at one log are separate edges."""


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
    label: Ints
    key: Ints

    @property
    def columns(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Source, target, label, key."""
        return self.source, self.target, self.label, self.key

    def only(self, chosen: NDArray[np.bool_] | Ints) -> Edges:
        """Some of the edges, by a mask or by their positions."""
        return Edges(self.transactions, self.nodes, *(column[chosen] for column in self.columns))


Part = tuple[Edge, Ints, Ints, Ints]
"""Edges of one label: their sources, targets, and keys."""


def all_edges(given: Transactions, versions: Versions) -> Edges:
    """Every edge of the data and of real time."""
    parts = [*_data(given, versions)]
    parts.append(_realtime(given, _nodes(given, parts)))
    source, target, key = (
        np.concatenate([part[column] for part in parts]).astype(np.int32) for column in (1, 2, 3)
    )
    label = np.concatenate([np.full(len(part[1]), part[0], dtype=np.int8) for part in parts])
    apart = source != target
    return Edges(len(given), _nodes(given, parts), source[apart], target[apart], label[apart], key[apart])


def _nodes(given: Transactions, parts: list[Part]) -> int:
    """How many nodes these edges have: the transactions, and inner nodes that follow them."""
    ends = [end for _, source, target, _ in parts for end in (source, target)]
    return max(len(given), *(int(end.max(initial=-1)) + 1 for end in ends))


def _data(given: Transactions, versions: Versions) -> Iterator[Part]:
    """ww, wr and rw; appends of failed, unknown or ambiguous writers have no part in them."""
    rows = np.flatnonzero(~versions.repeated)
    key = versions.key_of(rows)
    writer = _writers(given, versions.append[rows])
    follows = np.append(key[1:] == key[:-1], False)[: len(rows)]
    after = np.where(follows, np.append(writer[1:], -1)[: len(rows)], -1)
    ww = (writer >= 0) & (after >= 0)
    yield Edge.WW, writer[ww], after[ww], key[ww]
    reader, reads_key = given.owner[versions.reads], given.key[versions.reads]
    wrote = _writers(given, versions.last_append)
    wr = wrote >= 0
    yield Edge.WR, wrote[wr], reader[wr], reads_key[wr]
    overwriter, is_last = np.full(len(versions.element), -1), np.zeros(len(versions.element), dtype=np.bool_)
    overwriter[rows], is_last[rows] = after, ~follows
    inside = versions.seen >= 0
    has_versions = versions.base[reads_key + 1] > versions.base[reads_key]
    at_start = (versions.seen == EMPTY) & has_versions
    next_writer = np.full(len(reader), -1)
    next_writer[inside] = overwriter[versions.seen[inside]]
    next_writer[at_start] = _writers(given, versions.append[versions.base[reads_key[at_start]]])
    rw = next_writer >= 0
    yield Edge.RW, reader[rw], next_writer[rw], reads_key[rw]
    at_end = (versions.seen == EMPTY) & ~has_versions
    at_end[inside] = is_last[versions.seen[inside]]
    last_writer = np.full(len(given.key_names), -1)
    last_writer[key[~follows]] = writer[~follows]
    yield from _unread(given, versions, reader[at_end], reads_key[at_end], last_writer)


def _unread(
    given: Transactions, versions: Versions, reader: Ints, reader_key: Ints, last_writer: Ints
) -> Iterator[Part]:
    """Appends that no read shows come after everything that was read: Elle's reading of them.

    ``reader`` read the last version of a log, ``last_writer`` of each log made it. Those of unknown
    transactions are left out unless another of their appends was read: nothing would come after them, so no
    cycle has them.
    """
    took_effect = given.outcome == Outcome.OK
    shown = given.owner[versions.append[versions.append >= 0]]
    took_effect[shown[given.outcome[shown] != Outcome.FAIL]] = True
    appends = np.flatnonzero((given.kind == Micro.APPEND) & (versions.version < 0) & took_effect[given.owner])
    writer, key = given.owner[appends], given.key[appends]
    last = last_writer[key]
    yield Edge.WW, last[last >= 0], writer[last >= 0], key[last >= 0]
    yield Edge.RW, *_unread_overwrites(len(given), reader, reader_key, writer, key)


def _unread_overwrites(
    nodes: int, reader: Ints, reader_key: Ints, writer: Ints, writer_key: Ints
) -> tuple[Ints, Ints, Ints]:
    """Edges from the readers of a log's last version to appends that no read shows: (source, target, key).

    Rows of ``reader`` and ``writer`` are transactions at a key. Each reader stands before each such append,
    its own excepted. Where that is few pairs they are edges; else inner nodes, numbered from ``nodes`` on,
    stand between. Those who are on both sides need care: a node between all and all would lead each to
    itself. They are put in a row, one chain of nodes leads to all behind a place in the row and one to all
    before it.
    """
    parts = [(np.empty(0, dtype=np.int64),) * 3]
    # A key and a transaction as one number each, sorted and once.
    sides = [
        np.unique(key.astype(np.int64) * nodes + row)
        for row, key in ((reader, reader_key), (writer, writer_key))
    ]
    inner = nodes
    for key in np.intersect1d(reader_key, writer_key).tolist():
        first, end = key * nodes, (key + 1) * nodes
        readers, writers = (side[slice(*np.searchsorted(side, (first, end)))] - first for side in sides)
        if len(readers) * len(writers) <= FEW_PAIRS:
            source, target = np.repeat(readers, len(writers)), np.tile(writers, len(readers))
        else:
            source, target = _chained(inner, readers, writers)
            inner = max(inner, int(source.max()) + 1, int(target.max()) + 1)
        parts.append((source, target, np.full(len(source), key)))
    sources, targets, keys = map(np.concatenate, zip(*parts, strict=True))
    return sources, targets, keys


def _chained(nodes: int, readers: Ints, writers: Ints) -> tuple[Ints, Ints]:
    """Two chains through those on both sides; see :func:`_unread_overwrites`."""
    both = np.intersect1d(readers, writers)
    only_read, only_wrote = np.setdiff1d(readers, both), np.setdiff1d(writers, both)
    place = np.arange(len(both))
    behind, ahead = nodes + place, nodes + len(both) + 1 + place
    end_of_row = nodes + len(both)
    pairs = (
        (only_read, np.full(len(only_read), nodes)),
        (behind, behind + 1),
        (behind, both),
        (np.full(len(only_wrote), end_of_row), only_wrote),
        (ahead, both),
        (ahead[1:], ahead[:-1]),
        (both, behind + 1),
        (both[1:], ahead[:-1]),
    )
    sources, targets = zip(*pairs, strict=True)
    return np.concatenate(sources), np.concatenate(targets)


def _writers(given: Transactions, append: Ints) -> Ints:
    """The transaction of each append, -1 where it is not known to be a transaction that may have happened."""
    writer = np.full(len(append), -1)
    known = append >= 0
    owner = given.owner[append[known]]
    writer[known] = np.where(given.outcome[owner] == Outcome.FAIL, -1, owner)
    return writer


def with_process(edges: Edges, given: Transactions, rows: Ints) -> Edges:
    """The same with the order of each process; ``rows`` are the transactions of the first nodes.

    Left out of ``all_edges``, for real time implies it: a process does one thing at a time.
    """
    done = np.flatnonzero(given.outcome[rows] == Outcome.OK)
    order = done[np.lexsort((given.invoked[rows[done]], given.process[rows[done]]))]
    process = given.process[rows[order]]
    earlier = np.flatnonzero(process[1:] == process[:-1])
    node, later = edges.nodes + np.arange(len(order)), earlier + 1
    source = np.concatenate((order, node[earlier], node[earlier]))
    target = np.concatenate((node, node[later], order[later]))
    label = np.full(len(source), Edge.PROCESS, dtype=np.int8)
    added: tuple[Ints, ...] = source, target, label, np.full(len(source), -1)
    columns = [np.concatenate(both) for both in zip(edges.columns, added, strict=True)]
    return Edges(edges.transactions, edges.nodes + len(order), *columns)


def _realtime(given: Transactions, nodes: int) -> Part:
    """Committed transactions lead to the moment after them, moments to the next and to what follows.

    Moments are inner nodes, numbered from ``nodes`` on.
    """
    done = np.flatnonzero(given.outcome == Outcome.OK)
    begun = np.flatnonzero(given.outcome != Outcome.FAIL)
    begun = begun[np.argsort(given.invoked[begun], kind="stable")]
    # The moments that matter are those at which something begins: a completion counts from the next of them.
    moments = np.unique(given.invoked[begun])
    after = np.searchsorted(moments, given.completed[done], side="right")
    used, moment = np.unique(after, return_inverse=True)
    followed = after < len(moments)
    at = np.searchsorted(used, np.searchsorted(moments, given.invoked[begun]), side="right") - 1
    follows = at >= 0
    node = nodes + np.arange(len(used))
    source = np.concatenate((done[followed], node[:-1], node[at[follows]]))
    target = np.concatenate((nodes + moment[followed], node[1:], begun[follows]))
    return Edge.REALTIME, source, target, np.full(len(source), -1)
