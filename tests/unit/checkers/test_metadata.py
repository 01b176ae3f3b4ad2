"""Each version may follow the one before it; legal flows of BookKeeper never trip it."""

import pytest

from evidence.findings import Verdict
from tests.histories.story import closed, created, judged, judging, kinds, metadata, recovering, vanished

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
    "the length of a closed ledger changed": [created(), closed(3), closed(3, 2, length_bytes=400)],
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
        "ledger 4, version 1: a fragment begins at entry 5, and the ledger is closed at 3"
    )


def test_a_changed_length_stands_out_among_other_moves_of_its_kind():
    lawful = [[created(ledger=one), closed(3, ledger=one), closed(3, 2, ledger=one)] for one in (1, 2, 3)]
    changed = [created(ledger=4), closed(3, ledger=4, length_bytes=9), closed(3, 2, ledger=4)]
    [finding] = verdict_on(*lawful, *changed).findings
    assert (finding.ledger, finding.kind) == (4, "illegal_move")


def test_one_version_number_with_two_contents():
    assert kinds(judged(created(), closed(3), closed(4)), "metadata") == [("two_versions", -1, -1)]


def test_one_version_seen_at_two_times_is_one():
    assert not verdict_on(created(), created(latest_ns=9)).findings


def test_a_gap_is_not_seen_and_convicts_nobody():
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
