"""What many rows say of one key is one row, however the rows were cut and in whichever order they came."""

import pickle

import numpy as np
import pytest

from checkers.rows import Rows, at_once
from checkers.sets.folded import FIRST, LEAST, MOST, Folded
from checkers.sets.sharing import shared
from evidence.schemas import TABLES

ROWS = [
    (2, 7, 5, 30, 1),
    (1, 7, 9, 10, 4),
    (2, 7, 4, 20, 9),
    (2, 7, 4, 20, 3),
    (2, 8, 6, 10, 2),
    (1, 7, 9, 40, 8),
]
"""(ledger, client, first, least, most)"""


def of(rows):
    """(ledger, client) -> of the row whose ``first`` and ``least`` are least those two, and the most."""
    ledger, client, first, second, most = np.array(rows, dtype=np.int64).reshape(-1, 5).T
    return Folded.of_rows([ledger, client], (first, FIRST), (second, FIRST), (most, MOST), (most, LEAST))


def joined(rows, pieces, seed):
    order = np.random.default_rng(seed).permutation(len(rows))
    total = of([])
    for part in np.array_split(order, pieces):
        total = total | of([rows[at] for at in part])
    return pickle.loads(pickle.dumps(total))


@pytest.mark.parametrize("pieces", [1, 2, 6])
@pytest.mark.parametrize("seed", range(5))
def test_each_column_is_folded_by_its_own_rule(pieces, seed):
    found = joined(ROWS, pieces, seed)
    assert found.of(1) == [(1, 7, 9, 10, 8, 4)]
    assert found.of(2) == [(2, 7, 4, 20, 9, 1), (2, 8, 6, 10, 2, 2)]
    assert found.of(2, 8) == found.of(2)[1:] and len(found) == 3
    assert not found.of(3) and not found.of(1, 8)


def test_rows_are_found_among_the_keys_of_others():
    keys = Folded.of_rows([np.array([1, 2, 5]), np.array([7, 8, 7])])
    assert of(ROWS).among(keys).tolist() == [True, False, True]
    assert not of([]).among(keys).any() and not of(ROWS).among(of([])).any()


def test_what_two_summaries_share_is_joined_once():
    merge = shared(lambda left, right: left + right)
    left, right, other = [1], [2], [2]
    assert merge(left, right) is merge(left, right) == [1, 2]
    assert merge(left, other) is not merge(left, right)


def test_nothing_is_scanned_once():
    scanned = []

    @at_once
    def scan(rows):
        scanned.append(rows.number)
        return rows.number

    empty = Rows.of_table(TABLES["census"].empty_table())
    assert [scan(empty), scan(Rows.of_table(TABLES["census"].empty_table()))] == [0, 0] and scanned == [0]
