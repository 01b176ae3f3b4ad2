"""The naive twin of the log checker: obvious loops over small lists of transactions.

Every edge between two transactions is written down, every simple cycle enumerated with every choice
among parallel edges. No arrays, no components library, no inner nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

from evidence.codes import Outcome
from evidence.exchange.transactions import Micro
from tests.histories.log_story import Txn

WW, WR, RW, PROCESS, REALTIME = "ww", "wr", "rw", "process", "realtime"
Edge = tuple[int, int, str]
EDGES_OF = {"G0": {WW}, "G1c": {WW, WR}, "G-single": {WW, WR, RW}}
EDGES_OF["G-nonadjacent"] = EDGES_OF["G2-item"] = EDGES_OF["G-single"]
EXTRA = {"": set[str](), "-process": {PROCESS}, "-realtime": {REALTIME}}


class Twin:
    """What a small history shows; ``rows`` have their processes and times."""

    def __init__(self, rows: list[Txn]) -> None:
        self.rows = rows
        self.reads = [
            (t, at, key, tuple(value))
            for t, row in enumerate(rows)
            for at, (kind, key, value) in enumerate(row.micros)
            if row.outcome is Outcome.OK and kind is Micro.READ and value is not None
        ]
        self.appends = [
            (t, key, value)
            for t, row in enumerate(rows)
            for kind, key, value in row.micros
            if kind is Micro.APPEND
        ]
        self.longest: dict[Any, tuple[Any, ...]] = {}
        for _, _, key, value in self.reads:
            if len(value) > len(self.longest.get(key, ())):
                self.longest[key] = value
        self.order = {key: list(dict.fromkeys(value)) for key, value in self.longest.items()}

    def writers(self, key: Any, element: Any) -> list[int]:
        return [t for t, k, e in self.appends if (k, e) == (key, element)]

    def writer(self, key: Any, element: Any) -> int | None:
        """The only one, where it may have happened."""
        found = self.writers(key, element)
        if len(found) == 1 and self.rows[found[0]].outcome is not Outcome.FAIL:
            return found[0]
        return None

    def counts(self) -> Counter[str]:
        """How many reads or transactions show each class that needs no cycle."""
        result: Counter[str] = Counter()
        for t, _, key, value in self.reads:
            result["G1a"] += any(self._failed(key, element) for element in value)
            result["garbage-read"] += any(not self.writers(key, element) for element in value)
            result["duplicate-elements"] += len(set(value)) < len(value)
            result["incompatible-order"] += value != self.longest.get(key, ())[: len(value)]
            result["G1b"] += bool(value) and self._intermediate(t, key, value[-1])
        for t, row in enumerate(self.rows):
            if row.outcome is Outcome.OK:
                result["internal"] += self._internal(t)
                result["future-read"] += self._future(t)
        result["dirty-update"] = sum(
            self._failed(key, element) and any(self._committed(key, later) for later in order[at + 1 :])
            for key, order in self.order.items()
            for at, element in enumerate(order)
        )
        result["lost-update"] = sum(number - 1 for number in Counter(self._based_on()).values())
        return Counter({kind: number for kind, number in result.items() if number})

    def _failed(self, key: Any, element: Any) -> bool:
        found = self.writers(key, element)
        return len(found) == 1 and self.rows[found[0]].outcome is Outcome.FAIL

    def _committed(self, key: Any, element: Any) -> bool:
        found = self.writers(key, element)
        return len(found) == 1 and self.rows[found[0]].outcome is Outcome.OK

    def _intermediate(self, reader: int, key: Any, element: Any) -> bool:
        found = self.writers(key, element)
        if len(found) != 1 or found[0] == reader:
            return False
        own = [e for t, k, e in self.appends if (t, k) == (found[0], key)]
        return own[-1] != element

    def _internal(self, t: int) -> int:
        wrong = 0
        known: dict[Any, tuple[bool, list[Any]]] = {}
        for kind, key, value in self.rows[t].micros:
            whole, state = known.get(key, (False, []))
            if kind is Micro.APPEND:
                known[key] = whole, [*state, value]
            elif value is not None:
                fits = value == state if whole else value[len(value) - len(state) :] == state
                wrong += not (fits and len(value) >= len(state))
                known[key] = True, list(value)
        return wrong

    def _future(self, t: int) -> int:
        micros = self.rows[t].micros
        return sum(
            kind is Micro.APPEND
            and any(
                k is Micro.READ and other == key and shown is not None and value in shown
                for k, other, shown in micros[:at]
            )
            for at, (kind, key, value) in enumerate(micros)
        )

    def _based_on(self) -> Iterator[tuple[Any, tuple[Any, ...]]]:
        """(key, list) for each committed transaction that first read the log and then appended to it."""
        for row in self.rows:
            for key in {key for _, key, _ in row.micros}:
                own = [
                    (k, v)
                    for k, other, v in row.micros
                    if other == key and (k is Micro.APPEND or v is not None)
                ]
                read_first = row.outcome is Outcome.OK and own and own[0][0] is Micro.READ
                if read_first and any(kind is Micro.APPEND for kind, _ in own):
                    yield key, tuple(own[0][1])

    def edges(self) -> set[Edge]:
        """Every edge, real time between every two."""
        found = set(self._data())
        for a, one in enumerate(self.rows):
            for b, other in enumerate(self.rows):
                assert one.completed is not None
                assert other.invoked is not None
                if one.outcome is Outcome.OK and one.completed < other.invoked:
                    if other.outcome is not Outcome.FAIL:
                        found.add((a, b, REALTIME))
                    if other.outcome is Outcome.OK and one.process == other.process:
                        found.add((a, b, PROCESS))
        return {(a, b, label) for a, b, label in found if a != b}

    def _data(self) -> Iterator[Edge]:
        effective = {t for t, row in enumerate(self.rows) if row.outcome is Outcome.OK}
        effective |= {
            writer
            for key, order in self.longest.items()
            for element in order
            if (writer := self.writer(key, element)) is not None
        }
        for key in {key for _, key, _ in self.appends} | set(self.order):
            order = self.order.get(key, [])
            last = self.writer(key, order[-1]) if order else None
            ends = [(t, value) for t, _, k, value in self.reads if k == key]
            for t, value in ends:
                if value and (writer := self.writer(key, value[-1])) is not None:
                    yield writer, t, WR
            for before, element in zip([None, *order], order, strict=False):
                writer = self.writer(key, element)
                if writer is None:
                    continue
                if before is not None and (earlier := self.writer(key, before)) is not None:
                    yield earlier, writer, WW
                yield from ((t, writer, RW) for t, value in ends if (value[-1] if value else None) == before)
            for t, k, element in self.appends:
                if k == key and element not in order and t in effective:
                    if last is not None:
                        yield last, t, WW
                    final = order[-1] if order else None
                    yield from ((r, t, RW) for r, value in ends if (value[-1] if value else None) == final)


def reachable(edges: set[Edge], labels: set[str]) -> dict[int, set[int]]:
    """From each transaction all that it leads to over these labels."""
    nodes = {node for a, b, _ in edges for node in (a, b)}
    reach = {node: {b for a, b, label in edges if a == node and label in labels} for node in nodes}
    for middle in nodes:
        for node in nodes:
            if middle in reach[node]:
                reach[node] |= reach[middle]
    return reach


def component(reach: dict[int, set[int]], node: int) -> frozenset[int]:
    """All that it leads to and that leads to it."""
    return frozenset(other for other in reach[node] if node in reach[other])


def simple_cycles(edges: set[Edge]) -> Iterator[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Every simple cycle once, from its smallest transaction, with every choice of labels."""
    labels: dict[tuple[int, int], list[str]] = {}
    for a, b, label in sorted(edges):
        labels.setdefault((a, b), []).append(label)
    after: dict[int, list[int]] = {}
    for a, b in labels:
        after.setdefault(a, []).append(b)

    def ways(path: list[int]) -> Iterator[tuple[int, ...]]:
        for node in after.get(path[-1], ()):
            if node == path[0]:
                yield tuple(path)
            elif node > path[0] and node not in path:
                yield from ways([*path, node])

    for start in sorted(after):
        for cycle in ways([start]):
            steps = zip(cycle, (*cycle[1:], cycle[0]), strict=True)
            for chosen in product(*(labels[step] for step in steps)):
                yield cycle, chosen


def class_of(chosen: tuple[str, ...]) -> str | None:
    """The class of a cycle; none where a process's order and real time are mixed, or nothing else is."""
    if {PROCESS, REALTIME} <= set(chosen):
        return None
    rw = [label == RW for label in chosen]
    if not any(rw):
        base = "G1c" if WR in chosen else "G0"
    elif sum(rw) == 1:
        base = "G-single"
    else:
        base = (
            "G2-item" if any(a and b for a, b in zip(rw, rw[1:] + rw[:1], strict=True)) else "G-nonadjacent"
        )
    return base + ("-realtime" if REALTIME in chosen else "-process" if PROCESS in chosen else "")
