"""Sets of entries: the same as Python's sets of pairs, whatever the order of the rows."""

import pickle
import time
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checkers.sets.marks import Marks, mark_of, unmarked
from checkers.sets.spans import Spans
from tests.histories.strategies import steady

pairs = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 12)), max_size=40)
marked = st.lists(st.tuples(st.integers(1, 2), st.integers(0, 8), st.integers(1, 3)), max_size=30)


def spans(rows):
    return Spans.from_entries([ledger for ledger, _ in rows], [entry for _, entry in rows])


def marks(rows):
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Marks.from_rows(columns[0], columns[1], columns[2], np.full(len(rows), 100))


def pairs_of(found):
    return {(ledger, entry) for ledger, first, last in found for entry in range(first, last + 1)}


def triples_of(found):
    return {
        (ledger, entry, unmarked(mark)[0])
        for ledger, mark, first, last in found
        for entry in range(first, last + 1)
    }


@steady(60)
@given(pairs)
def test_a_span_set_is_the_set_of_its_rows(rows):
    found = spans(rows)
    assert pairs_of(found) == set(rows)
    assert found.count() == len(set(rows))
    assert found.ledgers() == sorted({ledger for ledger, _ in rows})


@steady(60)
@given(pairs)
def test_spans_are_sorted_and_never_touch(rows):
    found = list(spans(rows))
    assert found == sorted(found)
    for (ledger, _, last), (next_ledger, first, _) in pairwise(found):
        assert ledger != next_ledger or first > last + 1


@steady(60)
@given(pairs, pairs)
def test_set_algebra(left, right):
    mine, theirs = spans(left), spans(right)
    assert pairs_of(mine | theirs) == set(left) | set(right)
    assert pairs_of(mine & theirs) == set(left) & set(right)
    assert pairs_of(mine - theirs) == set(left) - set(right)
    assert mine | theirs == spans(left + right)


@steady(60)
@given(pairs, pairs, pairs)
def test_union_does_not_care_for_grouping(a, b, c):
    assert (spans(a) | spans(b)) | spans(c) == spans(c) | (spans(b) | spans(a))


@steady(60)
@given(st.lists(st.tuples(st.integers(1, 2), st.integers(0, 9), st.integers(-1, 12)), max_size=15))
def test_ranges_may_overlap_and_be_empty(ranges):
    ledgers, firsts, lasts = ([row[i] for row in ranges] for i in range(3))
    expected = {(ledger, e) for ledger, first, last in ranges for e in range(first, last + 1)}
    assert pairs_of(Spans.from_ranges(ledgers, firsts, lasts)) == expected


@steady(60)
@given(pairs, st.dictionaries(st.integers(1, 3), st.integers(-1, 12), max_size=3))
def test_prefixes_and_what_lies_beyond(rows, ends):
    found = spans(rows)
    assert pairs_of(found & Spans.up_to(ends)) == {(a, e) for a, e in set(rows) if e <= ends.get(a, -1)}
    assert pairs_of(found & Spans.beyond(ends)) == {(a, e) for a, e in set(rows) if a in ends and e > ends[a]}


@steady(60)
@given(pairs, st.integers(-1, 12))
def test_what_lies_above_a_number_and_up_to_it(rows, entry):
    found = spans(rows)
    numbers = np.full(len(found), entry)
    assert pairs_of(found.above(numbers)) == {(a, e) for a, e in set(rows) if e > entry}
    assert pairs_of(found.up_to_each(numbers)) == {(a, e) for a, e in set(rows) if e <= entry}


@steady(60)
@given(pairs, st.integers(1, 3))
def test_one_ledger_and_all_but_some(rows, ledger):
    found = spans(rows)
    assert found.of_ledger(ledger).entries().tolist() == sorted({e for a, e in rows if a == ledger})
    assert pairs_of(found.without([ledger])) == {(a, e) for a, e in rows if a != ledger}
    asked = np.arange(-1, 15)
    assert found.holds(ledger, asked).tolist() == [(ledger, e) in set(rows) for e in asked.tolist()]


@steady(60)
@given(pairs, pairs, st.sampled_from([0, 1, 2**61]))
def test_rows_of_many_ledgers_find_their_spans(rows, asked, more):
    """Also where ledger and entry do not fit into one number."""
    found = spans([(ledger, entry + more * (ledger == 2)) for ledger, entry in rows])
    ledgers, entries = (np.array([pair[at] for pair in asked], dtype=np.int64) for at in (0, 1))
    entries = entries + more * (ledgers == 2)
    assert found.has(ledgers, entries).tolist() == [pair in set(rows) for pair in asked]
    places = found.place(ledgers, entries).tolist()
    columns = list(found)
    for place, ledger, entry in zip(places, ledgers.tolist(), entries.tolist(), strict=True):
        assert place == -1 or (
            columns[place][0] == ledger and columns[place][1] <= entry <= columns[place][2]
        )


@steady(60)
@given(marked, marked)
def test_marks_are_sets_of_triples(left, right):
    mine, theirs = marks(left), marks(right)
    assert triples_of(mine | theirs) == set(left) | set(right)
    assert triples_of(mine & theirs) == set(left) & set(right)
    both = {(a, e) for a, e, w in left + right}
    assert pairs_of((mine | theirs).spans()) == both
    assert pairs_of((mine | theirs).twice()) == {
        (a, e) for a, e in both if len({w for x, y, w in left + right if (x, y) == (a, e)}) > 1
    }
    there = {(a, e) for a, e, _ in right}
    assert triples_of(mine.among(theirs.spans())) == {one for one in left if one[:2] in there}
    within = [(1, mark, first, last) for mark, first, last in mine.within(1, 2, 5)]
    assert triples_of(within) == {(a, e, w) for a, e, w in left if a == 1 and 2 <= e <= 5}


def test_a_mark_is_a_writer_and_a_size():
    writers, sizes = np.array([1, 250]), np.array([0, 2**32 - 1])
    assert list(map(unmarked, mark_of(writers, sizes).tolist())) == [(1, 0), (250, 2**32 - 1)]


def test_pickled_and_back():
    found = spans([(1, 2), (1, 3), (2, 0)])
    assert pickle.loads(pickle.dumps(found)) == found
    assert list(pickle.loads(pickle.dumps(marks([(1, 2, 3)])))) == list(marks([(1, 2, 3)]))


def test_nothing():
    assert not Spans.empty()
    assert Spans.empty().count() == 0
    assert Spans.up_to({}) == Spans.beyond({}) == spans([]) - spans([(1, 1)])


def test_millions_of_rows_take_well_under_a_second():
    generator = np.random.default_rng(1)
    entries = generator.permutation(2_000_000)
    began = time.process_time()
    found = Spans.from_entries(np.ones(len(entries), dtype=np.int64), entries)
    assert time.process_time() - began < 2
    assert list(found) == [(1, 0, 1_999_999)]
