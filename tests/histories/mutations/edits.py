"""What operators do to rows: leave some out, change one, change all rows alike; and how rows are picked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any

from checkers.judging.contract import RunFacts
from evidence.codes import Direction, Flag, Holding, Kind, Message, Status
from tests.histories.mutations.registry import Sign, span
from tests.histories.rows import contents, rows
from tests.histories.rows import wrong_length as kind_of_length
from tests.histories.story import READER, WRITER, Fact
from tests.histories.twins_holdings import loss_class

Row = dict[str, Any]
Pick = Callable[[str, Row], bool]


def final(row: Row) -> bool:
    return row["flags"] & Flag.FINAL != 0


def without(history: list[Fact], drop: Pick) -> list[Fact]:
    return [(table, row) for table, row in history if not drop(table, row)]


def changed(history: list[Fact], pick: Pick, **columns: Any) -> list[Fact]:
    """The history with the first row that ``pick`` accepts changed."""
    copy, done = [], False
    for table, row in history:
        hit = not done and pick(table, row)
        copy.append((table, {**row, **columns} if hit else row))
        done |= hit
    assert done
    return copy


def replaced(history: list[Fact], chosen: Row, **columns: Any) -> list[Fact]:
    """The history with this very row changed."""
    return changed(history, lambda _, row: row is chosen, **columns)


def edited(history: list[Fact], pick: Callable[[Row], bool], **columns: Any) -> list[Fact]:
    """Every row of ``frames`` that ``pick`` accepts, changed."""
    return [(table, {**row, **columns} if table == "frames" and pick(row) else row) for table, row in history]


def is_final_entry(entry: int) -> Pick:
    return lambda table, row: (
        table == "operations" and row["kind"] == Kind.ENTRY and final(row) and row["entry"] == entry
    )


def census_of(entry: int) -> Pick:
    return lambda table, row: table == "census" and row["entry"] == entry


def is_answer(row: Row, kind: int, *, entry: int | None = None, source: int = READER) -> bool:
    same = row.get("way") == Direction.ANSWER and (row["kind"], row["source"]) == (kind, source)
    return same and (entry is None or row["entry"] == entry)


def acknowledgements(history: list[Fact], entry: int) -> list[Row]:
    """The answers EOK to the writer's adds of an entry."""
    rows = [row for table, row in history if table == "frames"]
    mine = [row for row in rows if is_answer(row, Message.ADD, entry=entry, source=WRITER)]
    return [row for row in mine if row["delivered"] == Status.EOK]


def denied_by_all(history: list[Fact], entry: int) -> list[Fact]:
    """Every bookie denies the entry in every pass, and no final read delivers it."""
    gone = {"holding": int(Holding.ABSENT), "origin": 0, "size_bytes": 0}
    pick = census_of(entry)
    denied = [(table, {**row, **gone} if pick(table, row) else row) for table, row in history]
    return without(denied, is_final_entry(entry))


def spans(name: str, entries: Iterable[int], loss: str = "") -> set[Sign]:
    """Findings that stand for these entries: one for neighbours together."""
    found: set[Sign] = set()
    for _, run in groupby(enumerate(sorted(entries)), key=lambda one: one[1] - one[0]):
        together = [entry for _, entry in run]
        found |= span(name, together[0], together[-1], loss)
    return found


def lost(classes: Mapping[int, str]) -> set[Sign]:
    """Losses of the entries, each of its class."""
    by_class = {loss: [one for one in classes if classes[one] == loss] for loss in classes.values()}
    return {sign for loss, entries in by_class.items() for sign in spans("durability/lost", entries, loss)}


def lost_of(history: list[Fact], run: RunFacts, *entries: int) -> set[Sign]:
    """Losses of the entries of a doctored history, each of the class that the naive twin gives it."""
    return lost({entry: loss_class(history, run, 1, entry) for entry in entries})


def wrong_length(history: list[Fact]) -> set[Sign]:
    """The finding of a closed length that is not the sum of the sizes; none where adds are deferred."""
    if any(row["flags"] & Flag.DEFERRED_SYNC for row in rows(history, "operations")):
        return set()
    return {Sign(f"metadata/{kind_of_length(history, contents(history, 1))}")}
