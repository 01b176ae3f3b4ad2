"""Which classes of cycles a history has, each with a shortest witness for each component.

A class is looked for in every strongly connected component of the edges of that class. A component that has
shown a class that implies it is not searched again: the strongest is reported. Where there is no stronger
class, every cycle of the component is of the class sought, so only G-single and G-nonadjacent need a search
to exist, and the others only for their witness.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from checkers.found import KEPT
from checkers.log.components import Knots, Part, apart, components, knots, parts
from checkers.log.edges import Edge, Edges, with_process
from checkers.log.models import CLASSES, CycleClass, Shape, classify, hides, implies
from checkers.log.witness import Cycle, Search, Work, pairs
from evidence.codes import Outcome
from evidence.exchange.transactions import Ints, Transactions


@dataclass(frozen=True, slots=True)
class Limits:
    """How much work a search may take: ``edges`` looked at for each class."""

    edges: int = 50_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """A class in a component of ``size`` transactions; ``cycle`` is None for one proven without a search."""

    kind: str
    size: int
    cycle: Cycle | None


@dataclass
class Result:
    """What was found; exact ``counts`` of components by class; classes whose search reached its limit."""

    found: list[Found] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    undecided: list[str] = field(default_factory=list)
    rows: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def add(self, kind: str, size: int, cycle: Cycle | None) -> None:
        """One more component of a class."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if self.counts[kind] <= KEPT:
            self.found.append(Found(kind, size, cycle))


def find_cycles(given: Transactions, edges: Edges, limits: Limits) -> Result:
    """Every class of cycles in the graph; nodes of witnesses are positions in ``rows``."""
    tight = knots(edges)
    result = Result(rows=tight.rows)
    if len(tight.rows):
        hunt = _Hunt(given, tight, result)
        for sought in CLASSES:
            hunt.look_for(sought, Work(limits.edges))
    return result


class _Hunt:
    """The classes one after the other, with what each found: a node of each of its components."""

    def __init__(self, given: Transactions, tight: Knots, result: Result) -> None:
        self._edges, self._result = with_process(tight.edges, given, tight.rows), result
        self._shown: list[tuple[CycleClass, int]] = []
        self._doubted: list[tuple[CycleClass, int]] = []
        self._completed = np.where(
            given.outcome[tight.rows] == Outcome.OK, given.completed[tight.rows], np.iinfo(np.int64).max
        )
        self._invoked = given.invoked[tight.rows]
        self._process = given.process[tight.rows]
        self._committed = given.outcome[tight.rows] == Outcome.OK

    def look_for(self, sought: CycleClass, work: Work) -> None:
        """Find one class wherever it is not implied by what was found."""
        label, each = parts(self._edges, sought.labels)
        done = {int(label[node]) for known, node in self._shown if hides(known, sought)}
        todo = {number: part for number, part in each if number not in done}
        todo = {number: part for number, part in todo.items() if self._possible(sought, part)}
        if not todo:
            return
        twos = self._twos(sought, label, todo)
        able = self._able(sought, todo.keys() - twos.keys(), label)
        for number, part in todo.items():
            size = int(np.searchsorted(part.nodes, self._edges.transactions))
            if number in twos:
                self._show(sought, part, size, twos[number])
            elif number in able:
                self._search(sought, part, size, work)

    def _possible(self, sought: CycleClass, part: Part) -> bool:
        """A class with rw edges needs one."""
        return sought.shape is Shape.NONE or bool((self._edges.label[part.edges] == Edge.RW).any())

    def _search(self, sought: CycleClass, part: Part, size: int, work: Work) -> None:
        """One component: show the class, with its witness where the work suffices, or doubt it."""
        certain = sought.shape in (Shape.NONE, Shape.ANY) and not self._in_doubt(sought, part)
        if certain and self._result.counts.get(sought.name, 0) >= KEPT:
            self._show(sought, part, size, None)
            return
        cycle, complete = Search(self._edges, part, sought).shortest(work)
        if cycle is not None or certain:
            self._show(sought, part, size, cycle)
        elif not complete:
            self._doubted.append((sought, int(part.nodes[0])))
            if sought.name not in self._result.undecided:
                self._result.undecided.append(sought.name)

    def _in_doubt(self, sought: CycleClass, part: Part) -> bool:
        """Whether a class that implies this one was looked for in the component and not decided."""
        return any(
            implies(doubted, sought) and bool(np.isin(node, part.nodes)) for doubted, node in self._doubted
        )

    def _show(self, sought: CycleClass, part: Part, size: int, cycle: Cycle | None) -> None:
        kind = sought.name if cycle is None else classify([step.label for step in cycle.steps])
        self._result.add(kind, size, cycle)
        self._shown.append((sought, int(part.nodes[0])))

    def _twos(self, sought: CycleClass, label: Ints, todo: dict[int, Part]) -> dict[int, Cycle]:
        """For each component a cycle of two, where it has one."""
        own = self._edges.only(np.sort(np.concatenate([part.edges for part in todo.values()])))
        before = np.zeros(len(own.source), dtype=np.bool_)
        if sought.suffix:
            last = own.transactions - 1
            source, target = np.minimum(own.source, last), np.minimum(own.target, last)
            before = self._completed[target] < self._invoked[source]
            if Edge.PROCESS in sought.edges:
                before &= self._committed[source] & (self._process[source] == self._process[target])
        twos: dict[int, Cycle] = {}
        for first, second in pairs(own, sought, before):
            twos.setdefault(int(label[first.node]), Cycle((first, second)))
            if len(twos) == len(todo):
                break
        return twos

    def _able(self, sought: CycleClass, numbers: set[int], label: Ints) -> set[int]:
        """The components that can have the class: linear work rules out most of the others."""
        if sought.shape not in (Shape.ONE, Shape.APART) or not numbers:
            return numbers
        edges, number = self._edges, self._edges.nodes
        chosen = ((edges.label & sought.labels) != 0) & (label[edges.source] == label[edges.target])
        chosen &= np.isin(label[edges.source], list(numbers))
        own = edges.only(chosen)
        inner, rw = own.source >= own.transactions, own.label == Edge.RW
        source, target, _ = apart(own.source, own.target, inner, rw, number)
        layered = components(2 * number, source, target)
        return set(_with_cycles(layered, source, target, label, number).tolist())


def _with_cycles(layered: Ints, source: Ints, target: Ints, label: Ints, number: int) -> Ints:
    """The components whose layered graph has a cycle."""
    inside = layered[source] == layered[target]
    return np.unique(label[source[inside] % number])
