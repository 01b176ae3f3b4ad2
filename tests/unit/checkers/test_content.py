"""What a read returns is what was written, byte for byte."""

import json

import pytest

from evidence.codes import Flag, Holding, Outcome, Proof
from evidence.findings import Verdict
from tests.histories.boots import fault
from tests.histories.story import (
    READER,
    acked,
    answered,
    closed,
    created,
    delivered,
    judged,
    judging,
    kinds,
    unsure,
)

content = judging("content")


def test_bytes_that_prove_themselves():
    assert content(acked(0), delivered(0)).verdict is Verdict.VALID


@pytest.mark.parametrize(
    ("proof", "kind"), [(Proof.DAMAGED, "damaged"), (Proof.FOREIGN, "foreign"), (Proof.NONE, "not_a_payload")]
)
@pytest.mark.parametrize("flags", [0, Flag.FINAL, Flag.UNCONFIRMED])
def test_bytes_that_do_not(proof, kind, flags):
    verdict = judged(acked(0), delivered(0, proof=proof, flags=flags))
    assert kinds(verdict, "content") == [(kind, 0, 0)]


def test_where_nothing_was_delivered_the_ledgers_that_were_written_stay_undecided():
    judgement = content(acked(0), unsure(0, ledger=2))
    assert (judgement.verdict, judgement.undecided) == (Verdict.UNKNOWN, (1, 2))
    assert content(acked(0), delivered(0), acked(0, ledger=2)).undecided == ()


def test_only_what_was_delivered_is_judged():
    assert not content(delivered(0, proof=Proof.DAMAGED, outcome=Outcome.UNKNOWN)).findings


def test_an_entry_that_proves_itself_was_written_though_nobody_recorded_it():
    judgement = content(acked(0), delivered(0), delivered(1))
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen["unrecorded"] == 1


def test_an_unknown_add_was_recorded():
    assert content(unsure(0), delivered(0)).seen["unrecorded"] == 0


@pytest.mark.parametrize("other", [{"origin": READER}, {"size_bytes": 64}])
def test_two_readers_with_different_bytes_under_one_id(other):
    verdict = judged(delivered(0), delivered(0, **other))
    assert kinds(verdict, "content") == [("two_writings", 0, 0)]
    assert len(verdict.judgements["content"].findings[0].proof) == 2


def test_a_read_of_other_bytes_than_were_acknowledged():
    assert kinds(judged(acked(0), delivered(0, size_bytes=64)), "content") == [("two_writings", 0, 0)]


def test_an_unknown_add_may_have_been_written_by_another():
    assert not content(unsure(0, size_bytes=64), delivered(0)).findings


def test_a_damaged_copy_on_a_bookie_is_noted():
    judgement = content(acked(0), delivered(0), answered(0, 2, Holding.DAMAGED))
    assert judgement.verdict is Verdict.VALID
    assert judgement.notes == ("1 census answer held other bytes than the entry's",)


def test_nothing_delivered_nothing_proven():
    assert content(acked(0)).verdict is Verdict.UNKNOWN


def copies(**written):
    """The copies that the last census pass found of entry 0, by bookie: what each differs in."""
    marks = {"b1": {}, "b2": {}, "b3": {}, **written}
    return [answered(0, int(name[1:]), Holding.PRESENT, **columns) for name, columns in marks.items()]


WHOLE = [acked(0), delivered(0), created()]


@pytest.mark.parametrize("other", [{"size_bytes": 64}, {"origin": READER}])
def test_two_bookies_with_different_proven_copies_of_one_entry(other):
    verdict = judged(WHOLE, closed(0), copies(b3=other))
    assert kinds(verdict, "content") == [("two_writings", 0, 0)]
    assert len(verdict.judgements["content"].findings[0].proof) == 2


def test_three_writings_of_one_entry_are_told_each():
    verdict = judged(
        acked(0), delivered(1), created(), closed(1), copies(b2={"size_bytes": 1}, b3={"origin": 7})
    )
    (finding,) = verdict.judgements["content"].findings
    assert len(finding.proof) == 3


@pytest.mark.parametrize(
    "more",
    [
        [closed(0), copies()],
        [closed(-1), copies(b3={"size_bytes": 64})],  # what lies behind the end may be anything
        [copies(b3={"size_bytes": 64})],  # as long as no end is known
        [closed(0), copies(b3={"size_bytes": 64, "number": 1}), copies()],  # repaired since
    ],
)
def test_where_different_copies_are_no_anomaly(more):
    assert not content(WHOLE, *more).findings


def test_with_damaged_metadata_no_end_is_known():
    damaged = {"damage": ("ledgers: line 3",)}
    assert not content(WHOLE, closed(0), copies(b3={"size_bytes": 64}), **damaged).findings


SPOILED = [answered(0, 1, Holding.DAMAGED), answered(0, 2, Holding.PRESENT)]
CLOSED = [acked(0), delivered(0), created(), closed(0)]
COPY = [("damaged_copy", 0, 0)]


def spoiled(*parts, **run):
    return kinds(judged(*parts, **run), "content")


def test_a_damaged_copy_beside_a_good_one_where_nothing_can_have_damaged_it():
    assert spoiled(CLOSED, SPOILED) == COPY
    judgement = content(CLOSED, SPOILED)
    assert judgement.findings[0].proof[0] == (
        "the last census pass: b1 answered with other bytes, another bookie with entry 0"
    )
    assert not spoiled(CLOSED, SPOILED[:1])
    assert not spoiled(acked(0), delivered(0), created(), SPOILED)
    assert not spoiled(acked(0), delivered(0), created(), closed(-1), SPOILED)
    early = answered(0, 1, Holding.DAMAGED, number=1)
    assert not spoiled(CLOSED, early, answered(0, 2, Holding.PRESENT))


@pytest.mark.parametrize(
    "kind", ["corrupt", "wipe", "swap_disks", "read_only", "power_loss", "garble", "fill"]
)
def test_a_fault_of_any_bookie_may_have_damaged_what_repair_then_copied(kind):
    assert not spoiled(CLOSED, SPOILED, faults=(fault(1, kind, "b3"),))


@pytest.mark.parametrize("kind", ["kill", "stop", "pause", "cut", "drop"])
def test_an_end_and_a_lost_message_damage_no_bytes(kind):
    assert spoiled(CLOSED, SPOILED, faults=(fault(1, kind, "b1"),)) == COPY


def test_a_loss_of_power_of_the_process_alone_damages_no_bytes_either():
    process = fault(1, "power_loss", "b1", params=json.dumps({"level": "process"}))
    assert spoiled(CLOSED, SPOILED, faults=(process,)) == COPY


@pytest.mark.parametrize("table", ["ledgers", "faults", "servers"])
def test_what_is_torn_may_hide_why_a_copy_is_damaged(table):
    assert not spoiled(CLOSED, SPOILED, damage=(f"{table}: line 3",))
