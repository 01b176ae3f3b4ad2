"""What batches found is combined by the operation that made it; facts of ledgers too."""

from __future__ import annotations

import pickle
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.judging.contract import Batch, LedgerFact, LedgerFacts
from checkers.judging.found import (
    Found,
    bookie_bits,
    bookie_sets,
    first_rows,
    ledger_rows,
    mark_rows,
    set_rows,
    span_rows,
    whole_rows,
)
from checkers.judging.judge import CHECKERS, check_all, combined_facts, facts_of, judge
from checkers.sets.marks import Marks
from checkers.sets.spans import Spans
from evidence.findings import Verdict
from protocol.addresses import MAX_BOOKIES
from tests.histories.story import acked, chunk, facts, good_ending, run_facts

ROWS = [
    (dice.randint(1, 2), dice.randint(0, 9), dice.randint(0, 1)) for dice in [Random(4)] for _ in range(40)
]


def columns(rows):
    return [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)] if rows else [[], [], []]


def spans_of(rows):
    ledger, entry, proof = columns(rows)
    return span_rows("here", ledger, entry, proof=[proof])


def ledgers_of(rows):
    ledger, entry, proof = columns(rows)
    return ledger_rows("here", ledger, entry, proof=[proof])


@pytest.mark.parametrize("form", [spans_of, ledgers_of])
@pytest.mark.parametrize("seed", range(5))
def test_rows_of_several_batches_are_combined_as_if_they_were_one(form, seed):
    whole = Found.from_tables(form(ROWS), rows=len(ROWS))
    dice, dealt = Random(seed), [[], [], [], []]
    for row in dice.sample(ROWS, len(ROWS)):
        dice.choice(dealt[:3]).append(row)
    parts = [pickle.loads(pickle.dumps(Found.from_tables(form(part), rows=len(part)))) for part in dealt]
    joined = Found.joined([Found.joined(parts[:2]), Found.joined(parts[2:])])
    assert joined.count("rows") == whole.count("rows") == 40
    assert joined.count("others") == 0
    if form is spans_of:
        assert joined.runs("here") == whole.runs("here")
        assert joined.spans("here") == whole.spans("here")
        assert {
            (row.ledger, entry, *row.proof)
            for row in joined.runs("here")
            for entry in range(row.first, row.last + 1)
        } == set(ROWS)
    else:
        assert joined.by_ledger("here") == whole.by_ledger("here")
        assert [row.number for row in whole.by_ledger("here")] == [
            sum(ledger == number for ledger, *_ in ROWS) for number in (1, 2)
        ]
    assert joined.runs("there") == []


def test_neighbours_join_where_their_proof_is_the_same():
    found = Found.from_tables(span_rows("here", [1, 1, 1, 1], [0, 1, 2, 3], proof=[[7, 7, 8, 8]]))
    assert [(row.first, row.last, row.number, row.proof) for row in found.runs("here")] == [
        (0, 1, 2, (7,)),
        (2, 3, 2, (8,)),
    ]
    assert list(found.spans("here")) == [(1, 0, 3)]


def of_entries(rows):
    ledger, entry, who, at_ns = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return Found.from_tables(first_rows("here", ledger, entry, like=[who], proof=[at_ns]))


def test_of_neighbours_with_one_name_the_proof_is_that_of_the_first_and_each_row_counts():
    low = [(1, 3, 7, 30), (1, 1, 7, 12), (1, 1, 7, 11), (1, 2, 8, 20), (1, 2, 7, 40)]
    high = [(1, 4, 7, 5), (1, 6, 7, 6), (2, 4, 7, 1)]
    expected = [(1, 1, 4, 5, (7, 11)), (1, 6, 6, 1, (7, 6)), (1, 2, 2, 1, (8, 20)), (2, 4, 4, 1, (7, 1))]
    assert of_entries(low + high).firsts("here", 1) == expected
    assert Found.joined([of_entries(high), of_entries(low)]).firsts("here", 1) == expected
    assert not of_entries(low).firsts("there", 1)


def test_overlapping_ranges_count_once():
    found = Found.from_tables(span_rows("here", [1], [0], [9]), span_rows("here", [1], [5], [12]))
    assert [(row.first, row.last, row.number) for row in found.runs("here")] == [(0, 12, 13)]


def test_rows_of_a_class_of_loss_are_of_a_kind_of_their_own():
    found = Found.from_tables(set_rows("lost/explained", Spans.from_entries([1], [3])))
    assert list(found.spans("lost/explained")) == [(1, 3, 3)]
    assert not len(found.spans("lost"))


def test_marks_come_back():
    marks = Marks.from_rows(
        *(np.array(column) for column in ([1, 1, 1], [0, 1, 1], [101, 101, 102], [9, 9, 9]))
    )
    back = Found.from_tables(mark_rows("written", marks)).marks("written")
    assert list(back) == list(marks)
    among = marks.among(Spans.from_entries([1], [1]))
    assert [(first, last) for _, _, first, last in among] == [(1, 1), (1, 1)]
    assert not len(Found.from_tables().marks("written"))


FIRST_ADD = LedgerFact(
    "first_add",
    "operations",
    lambda batch: batch.operations,
    first_by=(("entry", "descending"),),
    also=("seq",),
)


@pytest.mark.parametrize("seed", range(5))
def test_a_fact_of_several_batches_is_that_of_one(seed):
    dice = Random(seed)
    history = [
        acked(entry, ledger=ledger, seq=dice.randint(1, 9)) for ledger in (1, 2) for entry in (0, 3, 3, 1)
    ]
    whole = FIRST_ADD.aggregate(chunk(history))
    dice.shuffle(history)
    parts = [FIRST_ADD.aggregate(chunk(history[at : at + 3])) for at in (0, 3, 6)]
    assert FIRST_ADD.combined([FIRST_ADD.combined(parts[:2]), parts[2]]).equals(whole)
    assert whole["entry"].to_pylist() == [3, 3]
    known = LedgerFacts({"first_add": whole})
    assert known.at(FIRST_ADD, "entry", np.array([2, 5, 1]), missing=-1).tolist() == [3, -1, 3]
    assert known.rows(FIRST_ADD, 9) == []
    assert FIRST_ADD.aggregate(Batch({})).num_rows == 0


class Broken:
    """``order`` on the contract of blocks, which fails in one of its parts."""

    name, tables, kinds = "order", ("operations",), ()

    def __init__(self, where):
        self.where = where
        fact = LedgerFact("torn", "operations", lambda _: self._act("fact", {"ledger": np.empty(0)}))
        self.facts = (fact,)

    def check(self, batch, facts, run):
        facts.columns(self.facts[0])
        return self._act("check", Found())

    def conclude(self, found, facts, run):
        return self._act("conclude", None)

    def _act(self, what, value):
        if what == self.where:
            raise RuntimeError(f"no {what} today")
        return value


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("check", "check raised RuntimeError: no check today"),
        ("fact", "check raised RuntimeError: fact torn raised RuntimeError: no fact today"),
        ("conclude", "conclude raised RuntimeError: no conclude today"),
    ],
)
def test_a_checker_that_crashes_is_unknown_and_the_others_are_judged(where, why):
    checkers = tuple(Broken(where) if checker.name == "order" else checker for checker in CHECKERS)
    history = [chunk(facts(acked(0), good_ending(0))), chunk([])]
    verdict = judge(history, run_facts(), checkers=checkers)
    assert verdict.verdict is Verdict.UNKNOWN
    assert verdict.judgements["order"].notes == (f"the checker failed: {why}",)
    assert verdict.judgements["durability"].verdict is Verdict.VALID


def test_a_check_without_the_facts_it_needs_is_no_pass():
    found = check_all(chunk([acked(0)]), run_facts(), LedgerFacts())
    assert "no checker asked for the fact" in found["closing"]


def test_facts_of_no_batch_are_those_of_an_empty_one():
    assert combined_facts([]).tables == combined_facts([facts_of(Batch({}))]).tables


@given(st.sets(st.integers(0, MAX_BOOKIES), min_size=1))
def test_a_set_of_bookies_is_some_numbers_and_comes_back(bookies):
    words = [int(np.bitwise_or.reduce(word)) for word in bookie_bits(list(bookies))]
    assert bookie_sets(words) == [tuple(sorted(bookies))]


def test_whole_rows_are_neither_joined_nor_counted_once():
    rows = [
        Found.from_tables(whole_rows("row", [1, 1], [[7, 7], [2, 2]])),
        Found(),
        Found.from_tables(whole_rows("row", [1], [[8], [3]])),
    ]
    assert [column.tolist() for column in Found.joined(rows).columns("row")] == [[7, 7, 8], [2, 2, 3]]
    assert Found.joined(rows).columns("other") == ()


@pytest.mark.parametrize("seed", range(20))
def test_the_proof_of_a_ledger_is_the_first_of_its_rows_sorted_by_all_columns(seed):
    dice = Random(seed)
    rows = [tuple(dice.randint(0, 2) for _ in range(5)) for _ in range(dice.randint(1, 60))]
    ledger, entry, *proof = (np.array(column) for column in zip(*rows, strict=True))
    found = Found.from_tables(ledger_rows("here", ledger, entry, proof=proof)).by_ledger("here")
    assert [(row.ledger, row.proof) for row in found] == [
        (each, min(row[2:] for row in rows if row[0] == each)) for each in sorted({row[0] for row in rows})
    ]
