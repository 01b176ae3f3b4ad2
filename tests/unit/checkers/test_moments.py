"""Moments are exact where there are few, bounds where there are many, and blind to how they were cut."""

import random

from checkers.sets.moments import BLOCK, FEW, Index, Moments, Pieces, pairs
from checkers.sets.spans import ints

ME, YOU = 7, 8


def moments(*rows):
    """Rows of (entry, early, late), of ``ME`` in ledger 1."""
    entry, early, late = zip(*rows, strict=True) if rows else ((), (), ())
    return Moments.of([ME] * len(entry), [1] * len(entry), entry, early, late)


def listed(found, ledger=1, who=ME):
    pieces = Index(found).of(ledger, who)
    return list(zip(*(column.tolist() for column in pieces), strict=True))


def test_few_are_kept_one_by_one_and_repeats_too():
    found = moments((3, 5, 6), (2, 9, 9), (3, 1, 2))
    assert listed(found) == [(2, 2, 9, 9), (3, 3, 5, 6), (3, 3, 1, 2)]


def test_nothing_is_nothing():
    assert listed(moments()) == []
    assert not len(moments() | Moments.empty())
    assert Index(Moments.empty()).known() == []


def test_many_of_one_block_become_ranges_with_bounds():
    found = moments(*((entry, 100 + entry, 200 + entry) for entry in range(FEW + 1) if entry != 10))
    assert len(listed(found)) == FEW
    crowded = found | moments((10, 1, 5)) | moments((100, 300, 301))
    assert listed(crowded) == [(0, FEW, 1, 301), (100, 100, 1, 301)]


def test_another_block_and_another_who_are_not_concerned():
    crowd = moments(*((entry, 5, 5) for entry in range(FEW + 1)))
    both = crowd | moments((BLOCK, 7, 8), (-1, 2, 3)) | Moments.of([YOU], [1], [4], [1], [2])
    assert listed(both) == [(-1, -1, 2, 3), (0, FEW, 5, 5), (BLOCK, BLOCK, 7, 8)]
    assert listed(both, who=YOU) == [(4, 4, 1, 2)]
    assert listed(both, ledger=2) == []
    assert Index(both).known() == [(1, ME), (1, YOU)]


def test_any_cut_and_any_order_of_merging_give_the_same():
    dice = random.Random(1)
    for _ in range(50):
        rows = [(dice.randrange(-1, 3 * BLOCK), dice.randrange(50), 50) for _ in range(dice.randrange(500))]
        rows += [(dice.randrange(-1, 200), dice.randrange(50), 50) for _ in range(dice.randrange(200))]
        parts = [[] for _ in range(dice.randint(1, 6))]
        for row in rows:
            dice.choice(parts).append(row)
        found = [moments(*part) for part in parts]
        while len(found) > 1:
            at = dice.randrange(len(found) - 1)
            found[at : at + 2] = [found[at] | found[at + 1]]
        assert sorted(listed(found[0])) == sorted(listed(moments(*rows)))


def test_the_first_moment_of_each_entry():
    pieces = Index(moments((3, 5, 6), (2, 9, 9), (3, 1, 7), (3, 2, 6))).of(1, ME).firsts()
    assert [column.tolist() for column in pieces] == [[2, 3], [2, 3], [9, 2], [9, 6]]


def test_pairs_are_all_overlaps():
    def of(*ranges):
        columns = zip(*((first, last, 0, 0) for first, last in ranges), strict=True)
        return Pieces(*(ints(column) for column in columns))

    left, right = of((0, 5), (3, 3), (9, 20), (30, 30)), of((1, 3), (5, 8), (10, 12), (15, 40))
    found = pairs(left, right)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == [
        (1, 3, 0, 0),
        (5, 5, 0, 1),
        (3, 3, 1, 0),
        (10, 12, 2, 2),
        (15, 20, 2, 3),
        (30, 30, 3, 3),
    ]
