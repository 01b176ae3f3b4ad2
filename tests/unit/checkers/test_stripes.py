"""Sets of entries by who has them, few rows also where entries go round an ensemble."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.sets.stripes import Stripes
from tests.histories.strategies import steady


def striped(ensemble, write, entries, *, first=0, ledger=1):
    """Each entry and the bookies (from 1) of its write set."""
    entry = np.repeat(np.arange(first, first + entries), write)
    who = (entry + np.tile(np.arange(write), entries)) % ensemble + 1
    return np.full(len(entry), ledger), who, entry


def content(stripes, ledgers, most=60):
    return {
        (ledger, who, entry)
        for ledger in ledgers
        for who, mask in stripes.having(ledger, np.arange(most))
        for entry in np.flatnonzero(mask).tolist()
    }


@pytest.mark.parametrize(("ensemble", "write"), [(3, 3), (3, 2), (5, 3), (7, 2), (99, 3)])
def test_a_bookie_takes_as_many_rows_as_the_write_quorum_however_long_the_ledger(ensemble, write):
    ledger, who, entry = striped(ensemble, write, 20_000)
    whole = Stripes.of_rows(ledger, who, entry)
    assert len(whole) == (ensemble if ensemble == write else ensemble * write)
    later = Stripes.of_rows(*striped(ensemble, write, 20_000, first=20_000))
    assert len(whole | later) == len(whole)
    (mask,) = [mask for one, mask in whole.having(1, np.arange(100)) if one == 1]
    assert mask.tolist() == [1 in ((e + i) % ensemble + 1 for i in range(write)) for e in range(100)]


def test_holes_and_changes_of_bookies_are_kept():
    ledger, who, entry = striped(5, 3, 1_000)
    keep = ~((who == 2) & (entry % 97 == 0))
    stripes = Stripes.of_rows(ledger[keep], who[keep], entry[keep])
    truth = set(zip(who[keep].tolist(), entry[keep].tolist(), strict=True))
    masks = dict(stripes.having(1, np.arange(1_000)))
    assert {(one, int(e)) for one, mask in masks.items() for e in np.flatnonzero(mask)} == truth


ROWS = st.lists(st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(0, 59)), max_size=60)


@steady(150)
@given(ROWS, ROWS, ROWS)
def test_it_is_a_set_and_merging_is_a_union(one, two, three):
    sets = [Stripes.of_rows(*np.array(rows, dtype=np.int64).reshape(-1, 3).T) for rows in (one, two, three)]
    truth = {*one, *two, *three}
    assert content((sets[0] | sets[1]) | sets[2], (1, 2)) == truth
    assert content(sets[2] | (sets[1] | sets[0]), (1, 2)) == truth


def test_of_one_ledger_and_of_nothing():
    stripes = Stripes.of_rows(*striped(3, 2, 20)) | Stripes.of_rows(*striped(5, 3, 20, ledger=4))
    assert stripes.of(4).everyone() == [1, 2, 3, 4, 5]
    assert not list(stripes.having(3, np.arange(5)))
    assert len(Stripes.empty() | stripes) == len(stripes | Stripes.empty()) == len(stripes)
