"""Rows of a table: parts are made once, and only of what is asked for."""

import numpy as np
import pyarrow as pa
import pytest

from checkers.judging.contract import Batch, Rows
from evidence.codes import Kind, Outcome
from tests.histories.story import acked, chunk, kept


@pytest.fixture
def rows():
    return Rows.from_table(pa.table({"kind": [1, 2, 1, 2], "entry": [7, 8, 9, 10]}))


def test_a_part_is_the_same_object_for_everybody_who_asks(rows):
    part = rows.where(kind=1)
    assert part["entry"].tolist() == [7, 9] and part.num_rows == 2
    assert rows.where(kind=1) is part
    assert part.where(entry=9)["kind"].tolist() == [1]
    assert rows.where(kind=3).num_rows == 0


def test_taking_all_rows_makes_none(rows):
    assert rows.filter(rows["entry"] > 0) is rows
    assert rows.where(kind=2).where(kind=2) is rows.where(kind=2)


def test_a_function_of_rows_is_worked_out_once(rows):
    asked = []

    def entries(part):
        asked.append(part)
        return part["entry"].sum()

    assert rows.where(kind=1).memo(entries) == rows.where(kind=1).memo(entries) == 16
    assert len(asked) == 1


def test_a_function_of_rows_and_something_else_is_worked_out_again_for_another(rows):
    asked = []

    def only(part, kind):
        asked.append(kind)
        return part if kind == 0 else None

    kinds = [3, 3, 4, 0, 0]
    assert [rows.memo(only, kind) for kind in kinds] == [None, None, None, rows, rows]
    assert asked == [3, 4, 0]


def test_parts_of_parts_keep_their_order(rows):
    down = Rows.from_table(pa.table({"n": [3, 1, 2], "kind": [1, 1, 2]}), lambda part: np.argsort(part["n"]))
    assert down["n"].tolist() == [1, 2, 3]
    assert down.where(kind=1)["n"].tolist() == [1, 3]
    others = rows.filter(rows["entry"] != 8)
    assert dict(others).keys() == {"kind", "entry"}


def test_a_column_that_was_not_read_fails_by_its_name(rows):
    with pytest.raises(KeyError, match="digest"):
        rows["digest"]


def test_operations_come_by_ledger_and_entry_whatever_their_order_was():
    part = chunk([acked(5), kept(0), acked(0), acked(3)])
    adds = part.operations.where(kind=Kind.ADD, outcome=Outcome.OK)
    assert part.operations["entry"].tolist() == [0, 0, 3, 5]
    assert adds["entry"].tolist() == [0, 3, 5]
    assert Batch({}).operations.num_rows == 0
