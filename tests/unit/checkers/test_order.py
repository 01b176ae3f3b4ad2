"""Ids are given and delivered in sequence, each once."""

import pytest

from checkers.judging.judge import judge
from evidence.codes import Flag, Kind, Outcome
from evidence.findings import Verdict
from tests.histories.story import (
    OBSERVER,
    READER,
    acked,
    chunk,
    delivered,
    judged,
    judging,
    kinds,
    operation,
    run_facts,
    unsure,
)

order = judging("order")


def test_ids_in_sequence():
    judgement = order(acked(0), acked(1), delivered(0), delivered(1))
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen == {"adds": 2, "delivered": 2, "followed": 2, "failed_reads": 0}


def test_the_plans_own_readers_are_counted_apart_from_the_final_reads():
    judgement = order(
        acked(0),
        delivered(0),
        delivered(0, client=OBSERVER, flags=Flag.FINAL),
        read(0, 0, -1, outcome=Outcome.UNKNOWN),
        read(0, 0, -1, outcome=Outcome.FAIL),
        read(0, 0, -1, outcome=Outcome.PENDING),
        read(0, 0, -1, outcome=Outcome.UNKNOWN, client=OBSERVER, flags=Flag.FINAL),
    )
    assert judgement.seen == {"adds": 1, "delivered": 2, "followed": 1, "failed_reads": 2}


def test_an_add_under_another_id_than_was_due():
    verdict = judged(acked(0), acked(2, expected=1, seq=9))
    assert kinds(verdict, "order") == [("added_out_of_order", 2, 2)]
    assert verdict.judgements["order"].findings[0].proof == (
        "writer, operation 9: acknowledged as entry 2 where entry 1 was due",
    )


def test_an_adv_handle_that_chooses_its_ids_gets_no_acknowledgement_behind_a_gap():
    in_order = [acked(0, flags=Flag.ADV, seq=2), acked(1, flags=Flag.ADV, seq=1)]
    assert not order(*in_order).findings
    behind = judged(*in_order, acked(3, expected=2, flags=Flag.ADV))
    assert kinds(behind, "order") == [("added_out_of_order", 3, 3)]


def test_an_unknown_add_has_no_order():
    assert not order(acked(0), unsure(3, expected=1)).findings


def test_a_reader_that_sees_a_gap():
    verdict = judged(delivered(0), delivered(2, expected=1), delivered(3, expected=2))
    assert kinds(verdict, "order") == [("read_out_of_order", 2, 3)]
    assert verdict.judgements["order"].findings[0].count == 2


def test_where_order_has_no_say_nothing_is_judged():
    assert not order(delivered(4, expected=-1)).findings


def test_one_id_acknowledged_twice():
    verdict = judged(acked(0), acked(1), acked(1, client=READER), acked(2))
    assert kinds(verdict, "order") == [("acked_twice", 1, 1)]


def read(first, last, delivered, **columns):
    columns = {"client": READER, "seq": 30, **columns}
    return operation(Kind.READ, entry=first, last=last, result=delivered, **columns)


def test_a_read_that_ends_ok_delivers_all_that_it_was_asked_for():
    verdict = judged(acked(0), read(0, 4, 3), read(0, 4, 5))
    assert kinds(verdict, "order") == [("ended_short", 3, 4)]
    [finding] = verdict.judgements["order"].findings
    assert finding.proof == ("reader, operation 30: a read of entries 0..4 ended ok with 3 entries",)
    assert finding.count == verdict.judgements["order"].counts["ended_short"] == 2


def test_a_read_that_ends_ok_and_empty_is_short():
    assert kinds(judged(read(2, 2, 0)), "order") == [("ended_short", 2, 2)]
    assert not order(read(2, 2, 1)).findings


def test_short_reads_of_several_ledgers_have_a_proof_each():
    found = order(read(0, 4, 3), read(2, 9, 4, seq=31), read(0, 0, 0, ledger=2, seq=32)).findings
    assert [(one.ledger, one.first_entry, one.last_entry) for one in found] == [
        (1, 3, 4),
        (1, 6, 9),
        (2, 0, 0),
    ]
    first = "reader, operation 30: a read of entries 0..4 ended ok with 3 entries"
    assert [one.proof for one in found] == [
        (first,),
        (f"the first such read of this ledger: {first}",),
        ("reader, operation 32: a read of entry 0 ended ok with 0 entries",),
    ]


def test_a_read_that_is_not_ok_or_of_a_batch_may_end_short():
    assert not order(acked(0), read(0, 4, 3, outcome=Outcome.UNKNOWN)).findings
    assert not order(acked(0), read(0, 4, 3, flags=Flag.BATCH)).findings


def test_an_unconfirmed_read_that_ends_ok_delivers_all_too():
    assert kinds(judged(read(0, 4, 3, flags=Flag.UNCONFIRMED)), "order") == [("ended_short", 3, 4)]
    assert not order(acked(0), read(0, 4, 5, flags=Flag.UNCONFIRMED)).findings


@pytest.mark.parametrize("flags", [0, Flag.UNCONFIRMED, Flag.BATCH])
def test_no_read_delivers_more_than_it_was_asked_for(flags):
    rows = [delivered(entry) for entry in range(6)]
    verdict = judged(rows, read(0, 4, 6, flags=flags))
    assert kinds(verdict, "order") == [("read_out_of_order", 5, 5)]
    assert verdict.judgements["order"].findings[0].proof == (
        "reader, operation 30: delivered as entry 5 where none was due",
    )
    assert not order(rows, read(0, 5, 6, flags=flags)).findings


def test_two_acknowledgements_are_found_wherever_in_their_block_they_are():
    parts = [chunk([acked(2)]), chunk([acked(0), acked(1), acked(0, client=READER)])]
    assert kinds(judge(parts, run_facts()), "order") == [("acked_twice", 0, 0)]


def test_what_reads_of_two_batches_did_not_deliver_counts_once():
    parts = [chunk([read(5, 9, 1, seq=31)]), chunk([read(0, 9, 2, seq=30)])]
    judgement = judge(parts, run_facts()).judgements["order"]
    [found] = judgement.findings
    assert (found.first_entry, found.last_entry, found.count, judgement.counts["ended_short"]) == (2, 9, 8, 8)
    assert found.proof == ("reader, operation 30: a read of entries 0..9 ended ok with 2 entries",)


def test_nothing_seen_nothing_proven():
    assert order(unsure(0)).verdict is Verdict.UNKNOWN
