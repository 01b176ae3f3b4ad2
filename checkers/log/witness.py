"""Shortest cycles of one component and one class, counted in transactions.

From each transaction where such a cycle can begin, the shortest way back (Dijkstra over the reversed
edges, SciPy). Edges that start at inner nodes weigh next to nothing. A cycle whose rw edges lie apart is
a way through a graph of twice the nodes. Work is counted in edges, not in time, so the answer is the same
on any machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.log.edges import Edge, Edges
from checkers.log.models import CycleClass, Shape
from evidence.exchange.transactions import Ints

if TYPE_CHECKING:  # SciPy takes 0.4 s to import: only a run with cycles needs it
    from scipy.sparse import csr_array

Mask = NDArray[np.bool_]
_NEXT_TO_NOTHING = 1e-9
_SHORTEST = 2
_PREFERRED = (Edge.WW, Edge.WR, Edge.RW, Edge.PROCESS, Edge.REALTIME)


class Part(NamedTuple):
    """One component of a class's own edges: its ``nodes``, ascending, and the positions of its ``edges``."""

    nodes: Ints
    edges: Ints


class Step(NamedTuple):
    """From one transaction of a cycle to the next: what the edge says, and the log it is about (-1: none)."""

    node: int
    label: Edge
    key: int


class Cycle(NamedTuple):
    """A cycle: its steps, each with the node that it leaves; ``shortest`` where all was looked at."""

    steps: tuple[Step, ...]
    shortest: bool = True


class Search:
    """The search for one class's cycles in one component.

    ``work`` is what it took, in edges and nodes; ``cut_short`` says that more would have been too much.
    """

    def __init__(self, edges: Edges, part: Part, sought: CycleClass) -> None:
        self._nodes, self._sought = part.nodes, sought
        source, target, self._label, self._key = edges.only(part.edges).columns
        self._source, self._target = (np.searchsorted(part.nodes, ends) for ends in (source, target))
        self._transactions = int(np.searchsorted(part.nodes, edges.transactions))
        self._starts = self._source < self._transactions
        if sought.shape is not Shape.NONE:
            self._starts &= self._label == Edge.RW
        self._back = self._reversed()
        self.work, self.cut_short = 0, False

    def shortest(self, limit: int) -> Cycle | None:
        """The shortest cycle seen; all was looked at unless the work reached its limit."""
        best, found = np.inf, None
        cost = int(self._back.nnz + self._back.shape[0])
        for begin in np.unique(self._source[self._starts]).tolist():
            if best <= _SHORTEST + 0.5:
                break
            if self.work + cost > limit:
                self.cut_short = True
                break
            self.work += cost
            length, way = self._from(begin, best)
            if way is not None and length < best - 0.5:
                best, found = length, (begin, way)
        return None if found is None else Cycle(self._steps(*found), shortest=not self.cut_short)

    def _from(self, begin: int, best: float) -> tuple[float, list[int] | None]:
        """The length of the shortest way from ``begin`` back to it and its nodes after ``begin``."""
        from scipy.sparse.csgraph import dijkstra

        distance, following = dijkstra(self._back, indices=begin, return_predecessors=True, limit=best)
        first = self._target[self._starts & (self._source == begin)]
        if self._sought.shape is Shape.APART:
            first += len(self._nodes)
        node = int(first[np.argmin(distance[first])])
        if not np.isfinite(distance[node]):
            return np.inf, None
        way = [node]
        while way[-1] != begin:
            way.append(int(following[way[-1]]))
        return 1 + float(distance[node]), way

    def _reversed(self) -> csr_array:
        """The edges of the way back, turned round, with their weights; parallel edges are one."""
        from scipy.sparse import csr_array

        inner, rw = self._source >= self._transactions, self._label == Edge.RW
        number = len(self._nodes)
        if self._sought.shape is Shape.APART:
            source, target, position = apart(self._source, self._target, inner, rw, number)
            number *= 2
        else:
            position = np.flatnonzero(~rw | inner | (self._sought.shape is not Shape.ONE))
            source, target = self._source[position], self._target[position]
        _, once = np.unique(target.astype(np.int64) * number + source, return_index=True)
        weight = np.where(inner[position[once]], _NEXT_TO_NOTHING, 1.0)
        return csr_array((weight, (target[once], source[once])), shape=(number, number))

    def _steps(self, begin: int, way: list[int]) -> tuple[Step, ...]:
        """Name the edges of a way; inner nodes vanish."""
        number = len(self._nodes)
        steps, leaving, label, key = [], begin, Edge(0), -1
        for position, (one, other) in enumerate(zip([begin, *way], way, strict=False)):
            if one % number < self._transactions:
                leaving = one % number
                label, key = self._edge(leaving, other % number, self._allowed(position, other))
            if other % number < self._transactions:
                steps.append(Step(int(self._nodes[leaving]), label, key))
        return tuple(steps)

    def _allowed(self, position: int, target: int) -> Edge:
        """What the edge at this place of the way can be."""
        shape = self._sought.shape
        if shape is Shape.NONE:
            return self._sought.edges
        if position == 0 or (shape is Shape.APART and target >= len(self._nodes)):
            return Edge.RW
        return self._sought.labels if shape is Shape.ANY else self._sought.edges

    def _edge(self, source: int, target: int, allowed: Edge) -> tuple[Edge, int]:
        at = np.flatnonzero((self._source == source) & (self._target == target))
        for label in _PREFERRED:
            for edge in at:
                if label & allowed and self._label[edge] == label:
                    return label, int(self._key[edge])
        raise AssertionError(f"no edge of {allowed!r} from {source} to {target}")


def apart(source: Ints, target: Ints, inner: Mask, rw: Mask, nodes: int) -> tuple[Ints, Ints, Ints]:
    """A graph of twice the nodes, in which no way takes two rw edges in a row.

    Nodes of the second layer, numbered from ``nodes`` on, were reached over an rw edge, and are left over
    another one. An rw edge from an inner node (``inner``) continues the edge that led there. Returns sources,
    targets, and the position of the edge that each comes from.
    """
    plain, into, within = np.flatnonzero(~rw), np.flatnonzero(rw & ~inner), np.flatnonzero(rw & inner)
    return (
        np.concatenate((source[plain], source[plain] + nodes, source[into], source[within] + nodes)),
        np.concatenate((target[plain], target[plain], target[into] + nodes, target[within] + nodes)),
        np.concatenate((plain, plain, into, within)),
    )


def pairs(edges: Edges, sought: CycleClass, before: Mask) -> Iterator[tuple[Step, Step]]:
    """Cycles of two transactions, in the order of their first ones: the shortest that there can be.

    ``before`` tells for each edge whether its target comes before its source in the order that the class
    adds to the data: a process's, or real time. Edges of that order lead over inner nodes.
    """
    if sought.shape is Shape.APART:
        return
    direct = (edges.source < edges.transactions) & (edges.target < edges.transactions)
    there = Edge.RW if sought.shape is not Shape.NONE else sought.edges
    back = Edge.RW if sought.shape is Shape.ANY else sought.edges
    go = np.flatnonzero(direct & ((edges.label & there) != 0))
    come = np.flatnonzero(direct & ((edges.label & back) != 0))
    code = edges.target[come].astype(np.int64) * edges.nodes + edges.source[come]
    ranked = np.lexsort((edges.label[come], code))
    come, code = come[ranked], code[ranked]
    own = edges.source[go].astype(np.int64) * edges.nodes + edges.target[go]
    at = np.searchsorted(code, own)
    has = at < len(code)
    has[has] = code[at[has]] == own[has]
    in_time = before[go] & (sought.shape is not Shape.ANY)
    order = sought.edges & (Edge.PROCESS | Edge.REALTIME)
    wanted = np.flatnonzero(has | in_time)
    for one in wanted[np.lexsort((edges.target[go[wanted]], edges.source[go[wanted]]))]:
        first = _step(edges, int(go[one]))
        turn = int(edges.target[go[one]])
        yield first, _step(edges, int(come[at[one]])) if has[one] else Step(turn, order, -1)


def _step(edges: Edges, at: int) -> Step:
    return Step(int(edges.source[at]), Edge(int(edges.label[at])), int(edges.key[at]))
