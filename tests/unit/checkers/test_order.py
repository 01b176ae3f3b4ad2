"""Ids are given and delivered in sequence, each once."""

from evidence.codes import Flag, Kind, Outcome
from evidence.findings import Verdict
from tests.histories.story import READER, acked, delivered, judged, kinds, operation, unsure


def order(*parts, **run):
    return judged(*parts, **run).judgements["order"]


def test_ids_in_sequence():
    judgement = order(acked(0), acked(1), delivered(0), delivered(1))
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen == {"adds": 2, "delivered": 2}


def test_an_add_under_another_id_than_was_due():
    verdict = judged(acked(0), acked(2, expected=1, seq=9))
    assert kinds(verdict, "order") == [("added_out_of_order", 2, 2)]
    assert verdict.judgements["order"].findings[0].proof == (
        "writer, operation 9: acknowledged as entry 2 where entry 1 was due",
    )


def test_an_adv_handle_chooses_its_ids():
    assert not order(acked(7, expected=0, flags=Flag.ADV)).findings


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


def test_a_read_that_came_back_short_is_noted():
    short = operation(Kind.READ, entry=0, last=4, result=3)
    judgement = order(acked(0), short, operation(Kind.READ, entry=0, last=4, result=5))
    assert judgement.verdict is Verdict.VALID
    assert any("1 read came back ok with fewer" in note for note in judgement.notes)


def test_a_failed_read_is_not_short():
    failed = operation(Kind.READ, entry=0, last=4, result=3, outcome=Outcome.UNKNOWN)
    assert not order(acked(0), failed).notes


def test_nothing_seen_nothing_proven():
    assert order(unsure(0)).verdict is Verdict.UNKNOWN
