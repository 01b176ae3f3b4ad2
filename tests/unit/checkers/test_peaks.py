"""The highest value of each ledger does not depend on the order in which rows or pieces come."""

from itertools import permutations

import numpy as np

from checkers.sets.peaks import NO_PEAKS, Peak, peaks


def of(*rows):
    """Peaks of (ledger, value, client, seq) rows."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return peaks(*columns)


ROWS = [(1, 5, 102, 1), (1, 5, 101, 9), (1, 5, 101, 3), (1, 4, 101, 1), (2, 0, 101, 7)]


def test_the_highest_and_of_equals_the_first_client_and_its_first_operation():
    for rows in permutations(ROWS):
        assert of(*rows) == {1: Peak(5, 101, 3), 2: Peak(0, 101, 7)}


def test_merged_in_any_order():
    for rows in permutations(ROWS):
        merged = NO_PEAKS
        for row in rows:
            merged = merged | of(row)
        assert merged == of(*ROWS)


def test_no_rows():
    assert of() == {}
