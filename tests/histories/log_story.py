"""Literal histories over logs: ``ok(append("x", 1), read("x", 1))``.

Unless stated otherwise every transaction is one process's only one and overlaps all others, so that neither
a process's order nor real time relates any two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from evidence.codes import Outcome
from evidence.exchange.transactions import Collecting, Micro, Transactions

FIRST_COMPLETION = 1_000
Op = tuple[Micro, Any, Any]


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
