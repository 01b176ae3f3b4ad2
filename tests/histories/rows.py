"""What is asked of a history's rows again and again by the naive twins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evidence.codes import Flag, Kind, Outcome
from tests.histories.story import Fact

Row = dict[str, Any]


def rows(history: Iterable[Fact], table: str) -> list[Row]:
    return [row for name, row in history if name == table]


def operations(history: list[Fact], *kinds: Kind) -> list[Row]:
    return [row for row in rows(history, "operations") if row["kind"] in kinds]


def ok(row: Row) -> bool:
    return bool(row["outcome"] == Outcome.OK)


def has(row: Row, flag: Flag) -> bool:
    return row["flags"] & flag != 0


def ledgers_of(history: list[Fact]) -> list[int]:
    return sorted({row["ledger"] for _, row in history})


def chain(history: list[Fact], ledger: int) -> list[Row]:
    """The ledger's versions, ascending, less the row that says it was deleted."""
    found = [row for row in rows(history, "ledgers") if row["ledger"] == ledger and row["state"] != 0]
    return sorted(found, key=lambda row: row["version"])


def end_of(history: list[Fact], ledger: int) -> int | None:
    closed = [row for row in chain(history, ledger) if row["state"] == 3]
    return closed[-1]["last_entry"] if closed else None


def last_pass(history: list[Fact]) -> list[Row]:
    census = rows(history, "census")
    return [row for row in census if row["pass_number"] == max(row["pass_number"] for row in census)]
