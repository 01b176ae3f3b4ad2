"""Each version may follow the one before it; legal flows of BookKeeper never trip it."""

import pytest

from evidence.codes import Flag, Proof
from evidence.findings import Verdict
from tests.histories.story import (
    READER,
    acked,
    closed,
    created,
    deferred,
    deleted,
    delivered,
    judged,
    judging,
    kept,
    kinds,
    metadata,
    recovering,
    refused,
    unsure,
    vanished,
)

FOUR = {"fragments": {0: ("b1", "b2", "b4")}}
GROWN = {"fragments": {0: ("b1", "b2", "b3"), 5: ("b1", "b2", "b4")}}
verdict_on = judging("metadata")


LEGAL = {
    "closed by its writer": [created(), closed(3)],
    "closed by its writer while another recovers it": [created(), recovering(1), closed(3, 2)],
    "recovered": [created(), recovering(1), closed(3, 2)],
    "a bookie replaced before the first acknowledgement": [
        created(),
        metadata(1, 1, **FOUR),
        closed(3, 2, **FOUR),
    ],
    "a new fragment": [created(), metadata(1, 1, **GROWN), closed(6, 2, **GROWN)],
    "recovery replaces the last fragment's bookies as it closes": [
        created(),
        recovering(1),
        closed(3, 2, **FOUR),
    ],
    "recovery adds a fragment as it closes": [created(), recovering(1), closed(6, 2, **GROWN)],
    "replication moves a closed fragment": [created(), closed(3), closed(3, 2, **FOUR)],
    "replication moves an open fragment": [created(), metadata(1, 1, **FOUR)],
    "replication moves an early fragment under recovery": [
        created(),
        metadata(1, 1, **GROWN),
        recovering(2, **GROWN),
        recovering(3, fragments={0: ("b5", "b2", "b3"), 5: ("b1", "b2", "b4")}),
    ],
    "closed empty with an unused last fragment": [created(), metadata(1, 1, **GROWN), closed(4, 2, **GROWN)],
    "deleted": [created(), closed(3), vanished()],
}


@pytest.mark.parametrize("name", LEGAL)
def test_legal_flows(name):
    judgement = verdict_on(*LEGAL[name])
    assert judgement.verdict is Verdict.VALID, judgement.findings


ILLEGAL = {
    "the closed end changed": [created(), closed(3), closed(4, 2)],
    "closed and open again": [created(), closed(3), metadata(2, 1)],
    "recovery undone": [created(), recovering(1), metadata(2, 1)],
    "a fragment vanished": [created(**GROWN), metadata(1, 1)],
    "a fragment's first entry moved": [
        created(**GROWN),
        metadata(1, 1, fragments={0: ("b1", "b2", "b3"), 4: ("b1", "b2", "b4")}),
    ],
    "a fragment put before another": [
        created(**GROWN),
        metadata(1, 1, fragments={0: ("b1", "b2", "b3"), 2: ("b1", "b2", "b5"), 5: ("b1", "b2", "b4")}),
    ],
    "quorums changed": [created(), metadata(1, 1, ack_quorum=3)],
    "closed and open again, whatever was between": [created(), closed(3), metadata(4, 1)],
    "a fragment vanished in versions that were not seen": [created(**GROWN), metadata(3, 1)],
    "the length of a closed ledger changed": [created(), closed(3), closed(3, 2, length_bytes=300)],
}


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_moves(name):
    judgement = verdict_on(*ILLEGAL[name])
    assert [finding.kind for finding in judgement.findings] == ["illegal_move"]
    assert len(judgement.findings[0].proof) == 2


@pytest.mark.parametrize(
    "version",
    [
        created(fragments={1: ("b1", "b2", "b3")}),
        created(fragments={0: ("b1", "b2")}),
        created(fragments={0: ("b1", "b1", "b3")}),
        created(ack_quorum=4),
        metadata(0, 9),
        closed(3, 0, **GROWN),
    ],
)
def test_malformed_versions(version):
    assert kinds(judged(version), "metadata") == [("malformed", -1, -1)]


def test_a_version_far_beyond_its_end_stands_out_among_others_of_its_kind():
    lawful = [[created(ledger=ledger, **GROWN), closed(4, ledger=ledger, **GROWN)] for ledger in (1, 2, 3)]
    beyond = [created(ledger=4, **GROWN), closed(3, ledger=4, **GROWN)]
    [finding] = verdict_on(*lawful, *beyond).findings
    assert (finding.ledger, finding.kind) == (4, "malformed")
    assert finding.text == (
        "ledger 4: version 1: a fragment begins at entry 5, and the ledger is closed at 3"
    )


def test_a_changed_length_stands_out_among_other_moves_of_its_kind():
    lawful = [[created(ledger=one), closed(3, ledger=one), closed(3, 2, ledger=one)] for one in (1, 2, 3)]
    changed = [created(ledger=4), closed(3, ledger=4, length_bytes=9), closed(3, 2, ledger=4)]
    [finding] = verdict_on(*lawful, *changed).findings
    assert (finding.ledger, finding.kind) == (4, "illegal_move")


SHORT = [created(), closed(1, length_bytes=100)]
OTHER_END = [created(), closed(-1, length_bytes=100)]


@pytest.mark.parametrize(
    "history",
    [
        [acked(0), acked(1), SHORT],
        [acked(0), kept(1), SHORT],  # no client got ok for entry 1, and a reader has its bytes
        [unsure(1), acked(0), acked(1), SHORT],
        [acked(0), acked(1), created(), closed(0, length_bytes=200)],  # it counts what the close cut off
        [acked(0), OTHER_END],
        [acked(0), acked(1), SHORT, closed(1, 2, length_bytes=100, **FOUR)],  # replication moved it later
        [acked(0), acked(1), SHORT, deleted(), vanished()],
    ],
)
def test_a_length_that_is_not_that_of_the_entries(history):
    judgement = verdict_on(history)
    found = [(one.kind, one.first_entry, one.count) for one in judgement.findings]
    assert found == [("wrong_own_length", -1, 1)]
    assert judgement.seen["lengths"] == 1


@pytest.mark.parametrize(
    "versions",
    [
        [created(), recovering(), closed(1, 2, length_bytes=0)],
        [created(), closed(1, 2, length_bytes=0)],  # the version that was not seen may be in recovery
    ],
)
def test_a_length_that_a_recovery_may_have_taken_over_is_another_kind(versions):
    assert kinds(judged(acked(0), acked(1), versions), "metadata") == [("wrong_length", -1, -1)]


@pytest.mark.parametrize("length_bytes", [-1, 201, 10**15])
def test_a_length_that_no_entries_have_is_not_what_a_recovery_takes_over(length_bytes):
    versions = [created(), recovering(), closed(1, 2, length_bytes=length_bytes)]
    assert kinds(judged(acked(0), acked(1), versions), "metadata") == [("impossible_length", -1, -1)]
    tried = [acked(0), acked(1), unsure(2), versions]
    expected = "wrong_length" if length_bytes == 201 else "impossible_length"
    assert kinds(judged(tried), "metadata") == [(expected, -1, -1)]


@pytest.mark.parametrize(
    "history",
    [
        [acked(0), SHORT],  # no client knows how long entry 1 is
        [acked(0), unsure(1), SHORT],
        [acked(0), refused(1), SHORT],
        [acked(0), delivered(1, proof=Proof.DAMAGED), SHORT],
        [acked(0), acked(1), acked(1, size_bytes=64, client=READER), SHORT],  # either may be the entry
        [deferred(0), deferred(1), OTHER_END],  # the close cuts off what no force has confirmed
        [acked(1, flags=Flag.ADV), acked(0, flags=Flag.ADV), SHORT],
    ],
)
def test_a_length_that_cannot_be_compared(history):
    judgement = verdict_on(history)
    assert not {"wrong_length", "wrong_own_length"} & {one.kind for one in judgement.findings}
    assert judgement.seen["lengths"] == 0
    assert "1 closed ledger whose length was not compared with the entries, first ledger 1" in judgement.notes


def test_a_wrong_length_is_shown_with_the_bytes_of_the_entries():
    [finding] = verdict_on(acked(0), acked(1), created(), recovering(), closed(1, 2, length_bytes=0)).findings
    assert finding.text == "ledger 1: closed at 1 with the length 0, and its entries have 200 bytes"
    assert finding.proof == (
        "metadata version 2: CLOSED at 1, 0 bytes, fragments 0: b1:3181, b2:3181, b3:3181",
        "the acknowledged adds and the reads of its 2 entries have 200 bytes",
    )


def test_the_length_of_a_ledger_whose_metadata_was_put_back_is_not_compared():
    back = [created(put_back=True, zxid=20), closed(1, length_bytes=100, zxid=21)]
    judgement = verdict_on(acked(0), acked(1), created(), back)
    assert (judgement.verdict, judgement.seen["lengths"]) == (Verdict.VALID, 0)


def test_the_length_of_a_ledger_without_entries_is_compared():
    judgement = verdict_on(created(), closed(-1))
    assert (judgement.verdict, judgement.seen["lengths"]) == (Verdict.VALID, 1)


def test_the_sizes_of_entries_in_many_blocks_add_up():
    entries = [acked(entry, size_bytes=entry + 1) for entry in range(4)]
    judgement = verdict_on(entries, created(), closed(3, length_bytes=1 + 2 + 3 + 4))
    assert (judgement.verdict, judgement.seen["lengths"]) == (Verdict.VALID, 1)


def test_one_version_number_with_two_contents():
    assert kinds(judged(created(), closed(3), closed(4)), "metadata") == [("two_versions", -1, -1)]


def test_one_version_seen_at_two_times_is_one():
    assert not verdict_on(created(), created(latest_ns=9)).findings


def test_a_gap_is_not_seen_and_is_no_anomaly():
    judgement = verdict_on(created(**GROWN), metadata(3, 1, **GROWN))
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen["not_seen"] == 2
    assert judgement.notes == ("ledger 1: metadata versions 1..2 not seen",)


def test_of_many_ledgers_with_gaps_the_first_are_named():
    history = [[created(ledger=one), metadata(2, 1, ledger=one)] for one in range(1, 23)]
    notes = verdict_on(*history).notes
    assert len(notes) == 21
    assert notes[19:] == (
        "ledger 20: metadata versions 1 not seen",
        "2 more ledgers with metadata versions not seen",
    )
    assert len(verdict_on(*history[:20]).notes) == 20


def test_no_version_nothing_proven():
    assert verdict_on().verdict is Verdict.UNKNOWN
