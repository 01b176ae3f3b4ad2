"""Shortest cycles of one component and one class, counted in transactions.

From each transaction where such a cycle can begin, the shortest way back (Dijkstra over the reversed
edges, SciPy). Edges that start at inner nodes weigh next to nothing. A cycle whose rw edges lie apart is
a way through a graph of twice the nodes. Work is counted in edges, not in time, so the answer is the same
on any machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from checkers.log.components import Part, apart
from checkers.log.edges import Edge, Edges
from checkers.log.models import CycleClass, Shape
from evidence.exchange.transactions import Ints

if TYPE_CHECKING:  # SciPy takes 0.4 s to import: only a run with cycles needs it
    from scipy.sparse import csr_array

_NEXT_TO_NOTHING = 1e-9
_SHORTEST = 2
_PREFERRED = (Edge.WW, Edge.WR, Edge.RW, Edge.PROCESS, Edge.REALTIME)


@dataclass
class Work:
    """How many edges may still be looked at."""

    left: int

    def take(self, edges: int) -> bool:
        """Whether this amount of work may be done; counts it."""
        if edges > self.left:
            return False
        self.left -= edges
        return True


@dataclass(frozen=True, slots=True)
class Step:
    """From one transaction of a cycle to the next: what the edge says, and the log it is about (-1: none)."""

    node: int
    label: Edge
    key: int


@dataclass(frozen=True, slots=True)
class Cycle:
    """A cycle: its steps, each with the node that it leaves; ``shortest`` where all was looked at."""

    steps: tuple[Step, ...]
    shortest: bool = True


class Search:
    """The search for one class's cycles in one component."""

    def __init__(self, edges: Edges, part: Part, sought: CycleClass) -> None:
        self._part, self._sought = part, sought
        own = edges.only(part.edges)
        self._source = np.searchsorted(part.nodes, own.source)
        self._target = np.searchsorted(part.nodes, own.target)
        self._label, self._key = own.label, own.key
        self._transactions = int(np.searchsorted(part.nodes, edges.transactions))
        self._starts = self._source < self._transactions
        if sought.shape is not Shape.NONE:
            self._starts &= self._label == Edge.RW
        self._layered = sought.shape is Shape.APART
        self._back = self._reversed()

    @property
    def cost(self) -> int:
        """The work of one search from one transaction."""
        return int(self._back.nnz + self._back.shape[0])

    def shortest(self, work: Work) -> tuple[Cycle | None, bool]:
        """The shortest cycle seen, and whether all was looked at before the work reached its limit."""
        best, found = np.inf, None
        for begin in np.unique(self._source[self._starts]):
            if best <= _SHORTEST + 0.5:
                break
            if not work.take(self.cost):
                return (None if found is None else Cycle(self._steps(*found), shortest=False)), False
            length, way = self._from(int(begin), best)
            if way is not None and length < best - 0.5:
                best, found = length, (int(begin), way)
        return (None if found is None else Cycle(self._steps(*found))), True

    def _from(self, begin: int, best: float) -> tuple[float, list[int] | None]:
        """The length of the shortest way from ``begin`` back to it and its nodes after ``begin``."""
        from scipy.sparse.csgraph import dijkstra

        distance, following = dijkstra(self._back, indices=begin, return_predecessors=True, limit=best)
        number = len(self._part.nodes)
        first = self._target[self._starts & (self._source == begin)] + (number if self._layered else 0)
        node = int(first[np.argmin(distance[first])])
        if not np.isfinite(distance[node]):
            return np.inf, None
        way = [node]
        while way[-1] != begin:
            way.append(int(following[way[-1]]))
        return 1 + float(distance[node]), way

    def _reversed(self) -> csr_array:
        """The edges of the way back, turned round, with their weights."""
        number = len(self._part.nodes)
        inner = self._source >= self._transactions
        rw = self._label == Edge.RW
        weight = np.where(inner, _NEXT_TO_NOTHING, 1.0)
        if not self._layered:
            chosen = ~rw | inner if self._sought.shape is Shape.ONE else np.ones(len(rw), np.bool_)
            return _lightest(self._target[chosen], self._source[chosen], weight[chosen], number)
        source, target, position = apart(self._source, self._target, inner, rw, number)
        return _lightest(target, source, weight[position], 2 * number)

    def _steps(self, begin: int, way: list[int]) -> tuple[Step, ...]:
        """Name the edges of a way; inner nodes vanish."""
        number = len(self._part.nodes)
        steps, leaving, label, key = [], begin, Edge(0), -1
        for position, (one, other) in enumerate(zip([begin, *way], way, strict=False)):
            if one % number < self._transactions:
                leaving = one % number
                label, key = self._edge(leaving, other % number, self._allowed(position, other))
            if other % number < self._transactions:
                steps.append(Step(int(self._part.nodes[leaving]), label, key))
        return tuple(steps)

    def _allowed(self, position: int, target: int) -> Edge:
        """What the edge at this place of the way can be."""
        shape = self._sought.shape
        if shape is Shape.NONE:
            return self._sought.edges
        if position == 0:
            return Edge.RW
        if shape is Shape.ONE:
            return self._sought.edges
        if shape is Shape.APART:
            return Edge.RW if target >= len(self._part.nodes) else self._sought.edges
        return self._sought.labels

    def _edge(self, source: int, target: int, allowed: Edge) -> tuple[Edge, int]:
        at = np.flatnonzero((self._source == source) & (self._target == target))
        for label in _PREFERRED:
            for edge in at:
                if label & allowed and self._label[edge] == label:
                    return label, int(self._key[edge])
        raise AssertionError(f"no edge of {allowed!r} from {source} to {target}")


def _lightest(row: Ints, column: Ints, weight: NDArray[np.float64], number: int) -> csr_array:
    """A sparse matrix in which parallel edges are one (all weigh the same)."""
    from scipy.sparse import csr_array

    _, once = np.unique(row.astype(np.int64) * number + column, return_index=True)
    return csr_array((weight[once], (row[once], column[once])), shape=(number, number))


def pairs(edges: Edges, sought: CycleClass, before: NDArray[np.bool_]) -> Iterator[tuple[Step, Step]]:
    """Cycles of two transactions, in the order of their first ones: the shortest that there can be.

    ``before`` tells for each edge whether its target comes before its source in the order that the class
    adds to the data: a process's, or real time. Edges of that order lead over inner nodes.
    """
    direct = (edges.source < edges.transactions) & (edges.target < edges.transactions)
    if sought.shape is Shape.APART:
        return
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
        edge = go[one]
        first = Step(int(edges.source[edge]), Edge(int(edges.label[edge])), int(edges.key[edge]))
        if has[one]:
            other = come[at[one]]
            yield first, Step(int(edges.target[edge]), Edge(int(edges.label[other])), int(edges.key[other]))
        else:
            yield first, Step(int(edges.target[edge]), order, -1)
