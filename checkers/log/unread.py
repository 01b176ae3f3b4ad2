"""Edges from the readers of a log's last version to the appends that no read shows, linear in number.

Each reader stands before each such append, its own excepted. Where that is few pairs they are edges;
else inner nodes stand between. Those who are on both sides need care: a node between all and all would
lead each to itself. They are put in a row, one chain of nodes leads to all behind a place in
the row and one to all before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evidence.exchange.transactions import Ints

FEW_PAIRS = 10_000
"""So many pairs at one log are edges of their own."""


@dataclass
class Nodes:
    """Numbers for nodes: the transactions' own, then inner ones."""

    number: int

    def take(self, many: int) -> int:
        """The first of so many new inner nodes."""
        first = self.number
        self.number += many
        return first


def unread_edges(
    nodes: Nodes, reader: Ints, reader_key: Ints, writer: Ints, writer_key: Ints
) -> tuple[Ints, Ints, Ints]:
    """(source, target, key) of all edges; rows of ``reader`` and ``writer`` are transactions at a key."""
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
    """Two chains through those on both sides; see the module."""
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
