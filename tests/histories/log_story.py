"""Literal histories over logs: ``ok(append("x", 1), read("x", 1))``.

Unless stated otherwise every transaction is one process's only one and overlaps all others, so that neither
a process's order nor real time relates any two.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evidence.codes import NEVER, Outcome
from evidence.exchange.transactions import NOT_KNOWN, Micro, Transactions

FIRST_COMPLETION = 1_000
Op = tuple[Micro, Any, Any]


class Collecting:
    """Builds :class:`Transactions` row by row, from Python values.

    Keys may be anything hashable. Elements too: integers stand for themselves, other
    elements get numbers far below zero.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[int, int, int, int, int]] = []
        self._first = [0]
        self._micros: list[tuple[int, int, int, int, int]] = []
        self._keys: dict[Any, int] = {}
        self._elements: list[int] = []
        self._named: dict[Any, int] = {}

    def add(
        self,
        micros: Iterable[tuple[Micro, Any, Any]],
        *,
        process: int,
        invoked: int,
        completed: int | None,
        outcome: Outcome,
        number: int | None = None,
    ) -> None:
        """One transaction; a micro-operation is (APPEND, key, element) or (READ, key, list or None)."""
        for kind, key, value in micros:
            known = self._keys.setdefault(key, len(self._keys))
            if kind is Micro.APPEND:
                self._micros.append((kind, known, self._number(value), 0, 0))
            elif value is None:
                self._micros.append((kind, known, 0, 0, NOT_KNOWN))
            else:
                self._micros.append((kind, known, 0, len(self._elements), len(value)))
                self._elements.extend(map(self._number, value))
        self._first.append(len(self._micros))
        ended = NEVER if completed is None else completed
        self._rows.append((process, invoked, ended, outcome, len(self._rows) if number is None else number))

    def done(self) -> Transactions:
        """The collected transactions."""
        process, invoked, completed, outcome, number = np.array(self._rows, dtype=np.int64).reshape(-1, 5).T
        kind, key, element, start, length = np.array(self._micros, dtype=np.int64).reshape(-1, 5).T
        return Transactions(
            process,
            invoked,
            completed,
            outcome,
            number,
            np.array(self._first, dtype=np.int64),
            kind,
            key,
            element,
            start,
            length,
            np.array(self._elements, dtype=np.int64),
            key_names=tuple(map(str, self._keys)),
            element_names={number: str(name) for name, number in self._named.items()},
        )

    def _number(self, element: Any) -> int:
        if type(element) is int:
            return element
        return self._named.setdefault(element, -(2**62) + len(self._named))


@dataclass(frozen=True)
class Txn:
    """One transaction of a story; times None: overlapping all others."""

    micros: tuple[Op, ...]
    outcome: Outcome = Outcome.OK
    process: int | None = None
    invoked: int | None = None
    completed: int | None = None

    def by(self, process: int) -> Txn:
        return replace(self, process=process)

    def at(self, invoked: int, completed: int) -> Txn:
        return replace(self, invoked=invoked, completed=completed)


def append(key: Any, element: Any) -> Op:
    return Micro.APPEND, key, element


def read(key: Any, *elements: Any) -> Op:
    return Micro.READ, key, list(elements)


def read_unknown(key: Any) -> Op:
    return Micro.READ, key, None


def ok(*micros: Op) -> Txn:
    return Txn(micros)


def failed(*micros: Op) -> Txn:
    return Txn(micros, Outcome.FAIL)


def unknown(*micros: Op) -> Txn:
    return Txn(micros, Outcome.UNKNOWN)


def completed(rows: list[Txn] | tuple[Txn, ...]) -> list[Txn]:
    """The same with a process and times for each."""
    return [
        replace(
            row,
            process=-1 - at if row.process is None else row.process,
            invoked=at if row.invoked is None else row.invoked,
            completed=FIRST_COMPLETION + at if row.completed is None else row.completed,
        )
        for at, row in enumerate(rows)
    ]


def story(*rows: Txn) -> Transactions:
    """The columns of these transactions; their numbers are their places, from 1."""
    collecting = Collecting()
    for number, row in enumerate(completed(rows), start=1):
        assert row.process is not None
        assert row.invoked is not None
        collecting.add(
            row.micros,
            process=row.process,
            invoked=row.invoked,
            completed=None if row.outcome is Outcome.UNKNOWN else row.completed,
            outcome=row.outcome,
            number=number,
        )
    return collecting.done()
