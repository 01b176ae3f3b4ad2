"""Which classes of cycles a history has, each with a shortest witness for each component.

A class is looked for in every strongly connected component of the edges of that class; a cycle lies within
one. A component that has shown a class that implies it is not searched again: the strongest is reported.
Where there is no stronger class, every cycle of the component is of the class sought, so only G-single and
G-nonadjacent need a search to exist, and the others only for their witness.

Source: SciPy's ``connected_components`` (Pearce, *An Improved Algorithm for Finding the Strongly Connected
Components of a Directed Graph*, 2005), linear in nodes and edges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.judging.found import CAP
from checkers.log.edges import Edge, Edges, with_process
from checkers.log.models import CLASSES, CycleClass, Shape, classify, hides, implies
from checkers.log.witness import Cycle, Part, Search, apart, pairs
from evidence.codes import Outcome
from evidence.exchange.transactions import Ints, Transactions


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """How much work a search may take: ``edges`` looked at for each class."""

    edges: int = 50_000_000


class FoundCycle(NamedTuple):
    """A class in a component of ``size`` transactions; ``cycle`` is None for one proven without a search."""

    kind: str
    size: int
    cycle: Cycle | None


@dataclass
class CycleResult:
    """What was found; exact ``counts`` of components by class; classes whose search reached its limit.

    ``rows`` are the transactions of the nodes of witnesses.
    """

    rows: Ints
    found: list[FoundCycle] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    undecided: list[str] = field(default_factory=list)


def find_cycles(given: Transactions, edges: Edges, limits: SearchLimits) -> CycleResult:
    """Every class of cycles in the graph."""
    edges, rows = _knots(edges)
    result = CycleResult(rows)
    if len(rows):
        hunt = _Hunt(given, edges, result)
        for sought in CLASSES:
            hunt.look_for(sought, limits.edges)
    return result


class _Hunt:
    """The classes one after the other, with what each found: a node of each of its components."""

    def __init__(self, given: Transactions, edges: Edges, result: CycleResult) -> None:
        rows = result.rows
        self._edges, self._result = with_process(edges, given, rows), result
        self._shown: list[tuple[CycleClass, int]] = []
        self._doubted: list[tuple[CycleClass, int]] = []
        self._committed = given.outcome[rows] == Outcome.OK
        self._completed = np.where(self._committed, given.completed[rows], np.iinfo(np.int64).max)
        self._invoked, self._process = given.invoked[rows], given.process[rows]

    def look_for(self, sought: CycleClass, limit: int) -> None:
        """Find one class wherever it is not implied by what was found; look at ``limit`` edges at most."""
        label, parts = _parts(self._edges, sought.labels)
        done = {int(label[node]) for known, node in self._shown if hides(known, sought)}
        todo = {
            number: part
            for number, part in parts
            if number not in done
            and (sought.shape is Shape.NONE or bool((self._edges.label[part.edges] == Edge.RW).any()))
        }
        if not todo:
            return
        twos = self._twos(sought, label, todo)
        able = self._able(sought, todo.keys() - twos.keys(), label)
        for number, part in todo.items():
            if number in twos:
                self._show(sought, part, twos[number])
            elif number in able:
                limit -= self._search(sought, part, limit)

    def _search(self, sought: CycleClass, part: Part, limit: int) -> int:
        """Search one component; record the class (and a witness within the limit) or a doubt; the work."""
        # A class that implies this one may have been looked for in the component and not decided.
        in_doubt = any(
            implies(one, sought) and bool(np.isin(node, part.nodes)) for one, node in self._doubted
        )
        certain = sought.shape in (Shape.NONE, Shape.ANY) and not in_doubt
        if certain and self._result.counts.get(sought.name, 0) >= CAP:
            self._show(sought, part, None)
            return 0
        search = Search(self._edges, part, sought)
        cycle = search.shortest(limit)
        if cycle is not None or certain:
            self._show(sought, part, cycle)
        elif search.cut_short:
            self._doubted.append((sought, int(part.nodes[0])))
            if sought.name not in self._result.undecided:
                self._result.undecided.append(sought.name)
        return search.work

    def _show(self, sought: CycleClass, part: Part, cycle: Cycle | None) -> None:
        kind = sought.name if cycle is None else classify([step.label for step in cycle.steps])
        counts = self._result.counts
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] <= CAP:
            size = int(np.searchsorted(part.nodes, self._edges.transactions))
            self._result.found.append(FoundCycle(kind, size, cycle))
        self._shown.append((sought, int(part.nodes[0])))

    def _twos(self, sought: CycleClass, label: Ints, todo: dict[int, Part]) -> dict[int, Cycle]:
        """For each component a cycle of two, where it has one."""
        own = self._edges.only(np.sort(np.concatenate([part.edges for part in todo.values()])))
        twos: dict[int, Cycle] = {}
        for first, second in pairs(own, sought, self._backwards(own, sought)):
            twos.setdefault(int(label[first.node]), Cycle((first, second)))
            if len(twos) == len(todo):
                break
        return twos

    def _backwards(self, edges: Edges, sought: CycleClass) -> NDArray[np.bool_]:
        """Edges whose target comes before their source in the order, of a process or of time, of a class."""
        if not sought.suffix:
            return np.zeros(len(edges.source), dtype=np.bool_)
        source, target = (np.minimum(end, edges.transactions - 1) for end in (edges.source, edges.target))
        before = self._completed[target] < self._invoked[source]
        if Edge.PROCESS in sought.edges:
            before &= self._committed[source] & (self._process[source] == self._process[target])
        return before

    def _able(self, sought: CycleClass, numbers: set[int], label: Ints) -> set[int]:
        """The components that can have the class: linear work rules out most of the others."""
        if sought.shape not in (Shape.ONE, Shape.APART) or not numbers:
            return numbers
        edges, of = self._edges, label[self._edges.source]
        chosen = ((edges.label & sought.labels) != 0) & (of == label[edges.target])
        own = edges.only(chosen & np.isin(of, list(numbers)))
        inner, rw = own.source >= own.transactions, own.label == Edge.RW
        source, target, _ = apart(own.source, own.target, inner, rw, own.nodes)
        layered = _components(2 * own.nodes, source, target)
        in_cycles = source[layered[source] == layered[target]]
        return set(label[in_cycles % own.nodes].tolist())


def _components(nodes: int, source: Ints, target: Ints) -> Ints:
    """The strongly connected component of each node, shape (nodes,)."""
    # Here, because SciPy takes 0.4 s to import and most runs have no log.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array((np.ones(len(source)), (source, target)), shape=(nodes, nodes))
    label: Ints = connected_components(graph, connection="strong")[1]
    return label


def _crowded(edges: Edges) -> tuple[Ints, NDArray[np.bool_], NDArray[np.bool_]]:
    """The component of each node; which nodes and which edges are in one with two transactions or more."""
    label = _components(edges.nodes, edges.source, edges.target)
    crowded = np.bincount(label[: edges.transactions], minlength=int(label.max(initial=-1)) + 1) >= 2
    nodes = crowded[label]
    return label, nodes, nodes[edges.source] & (label[edges.source] == label[edges.target])


def _knots(edges: Edges) -> tuple[Edges, Ints]:
    """What can have cycles: the components with two transactions or more, renumbered.

    And the transactions of the first nodes, ascending.
    """
    _, nodes, inside = _crowded(edges)
    number = np.cumsum(nodes) - 1
    rows = np.flatnonzero(nodes[: edges.transactions])
    source, target, label, key = edges.only(inside).columns
    return Edges(len(rows), int(nodes.sum()), number[source], number[target], label, key), rows


def _parts(edges: Edges, labels: Edge) -> tuple[Ints, list[tuple[int, Part]]]:
    """The component of each node over these labels, and the components with two transactions or more.

    In the order of their first transactions.
    """
    chosen = np.flatnonzero((edges.label & labels) != 0)
    label, crowded, inside = _crowded(edges.only(chosen))
    nodes, own = np.flatnonzero(crowded), chosen[inside]
    nodes = nodes[np.argsort(label[nodes], kind="stable")]
    own = own[np.argsort(label[edges.source[own]], kind="stable")]
    numbers, first = np.unique(label[nodes], return_index=True)
    of_nodes = np.split(nodes, first)[1:]
    of_edges = np.split(own, np.searchsorted(label[edges.source[own]], numbers))[1:]
    parts = zip(numbers.tolist(), map(Part, of_nodes, of_edges), strict=True)
    return label, sorted(parts, key=lambda one: int(one[1].nodes[0]))
