"""Rows sorted by ledger and entry: the same order as a plain sort's, however wide the numbers are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checkers.sets.ordering import grouped, in_order, is_sorted

NUMBERS = st.one_of(st.integers(-1, 5), st.integers(-(2**62), 2**62))
ROWS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=20)


@given(ROWS)
def test_the_order_is_that_of_a_stable_sort(rows: list[tuple[int, int]]) -> None:
    ledger, entry = (
        (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
        if rows
        else (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    )
    order = in_order(ledger, entry)
    places = list(range(len(rows))) if order is None else order.tolist()
    assert places == sorted(range(len(rows)), key=lambda row: rows[row])


@given(ROWS)
def test_sorted_rows_are_known_as_such(rows: list[tuple[int, int]]) -> None:
    columns = [np.array([row[place] for row in rows], dtype=np.int64) for place in (0, 1)]
    assert is_sorted(columns) == (rows == sorted(rows))


@given(st.lists(st.integers(0, 9), max_size=20), st.integers(1, 20))
def test_neighbours_are_grouped_as_far_as_they_fit(sizes: list[int], most: int) -> None:
    groups = list(grouped(np.array(sizes, dtype=np.int64), most))
    assert [at for begin, end in groups for at in range(begin, end)] == list(range(len(sizes)))
    for begin, end in groups:
        assert end == begin + 1 or sum(sizes[begin:end]) <= most
        assert end == len(sizes) or sum(sizes[begin : end + 1]) > most
