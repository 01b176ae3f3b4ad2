"""The last add confirmed never goes back on a handle and never covers what cannot be."""

import pytest

from evidence.codes import NEVER, Flag, FrameFlag, Kind, Message, Outcome, Status
from evidence.findings import Verdict
from tests.histories.boots import said, took
from tests.histories.story import (
    OBSERVER,
    READER,
    WRITER,
    acked,
    closed,
    created,
    deferred,
    forced,
    judged,
    judging,
    kinds,
    lac_read,
    metadata,
    opened,
    operation,
    recovered,
    recovering,
    refused,
    unsure,
    vanished,
)

lac = judging("lac")


def test_a_lac_that_grows():
    assert lac(acked(0), acked(1, lac_before=0)).verdict is Verdict.VALID


def test_a_lac_that_goes_back_on_its_handle():
    verdict = judged(acked(5, lac_before=5, lac=3, seq=8))
    assert kinds(verdict, "lac") == [("went_back", 3, 3)]
    assert verdict.judgements["lac"].findings[0].proof == (
        "writer, operation 8: received LAC 3 on a handle that had received 5 before it asked",
    )


@pytest.mark.parametrize(
    "one", [acked(5, lac_before=4, lac=-1), lac_read(-1, lac_before=4), forced(5, lac_before=4)]
)
def test_a_handle_may_go_back_to_no_lac_at_all(one):
    assert kinds(judged(one), "lac") == [("went_back", -1, -1)]


def test_a_read_returns_no_lac():
    assert not lac(operation(Kind.READ, lac_before=4)).findings


def test_a_best_effort_lac_read_may_answer_less_than_the_handle_knows():
    judgement = lac(lac_read(5, lac_before=5, result=3))
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen["low_answers"] == 1


def test_what_the_handle_holds_after_a_lac_read_does_not_go_back():
    assert kinds(judged(lac_read(3, lac_before=5, result=3)), "lac") == [("went_back", 3, 3)]


@pytest.mark.parametrize("kind", [Kind.WATCHED, Kind.CENSUS, Kind.DELETE])
def test_the_lac_column_of_other_kinds_tells_no_lac(kind):
    assert lac(operation(kind, lac=1, lac_before=5)).verdict is Verdict.UNKNOWN


def test_a_lac_told_after_a_close_and_beyond_it():
    history = [created(), closed(2, latest_ns=10)]
    assert kinds(judged(*history, lac_read(4, invoked_ns=11)), "lac") == [("beyond_close", 3, 4)]
    assert not lac(*history, lac_read(2, invoked_ns=11)).findings


def test_a_lac_told_before_the_close_or_at_an_unknown_time_is_no_anomaly():
    assert not lac(created(), closed(2, latest_ns=10), lac_read(4, invoked_ns=10)).findings
    assert not lac(created(), closed(2), lac_read(4, invoked_ns=11)).findings


def test_the_highest_of_all_later_tellings_counts():
    later = [
        lac_read(3, invoked_ns=11, seq=1),
        lac_read(9, invoked_ns=14, seq=2),
        lac_read(1, invoked_ns=13, seq=3),
    ]
    others = [lac_read(50, invoked_ns=9, seq=4), lac_read(9, invoked_ns=12, seq=5)]
    verdict = judged(created(), closed(2, latest_ns=10), later, others)
    assert kinds(verdict, "lac") == [("beyond_close", 3, 9)]
    proof = verdict.judgements["lac"].findings[0].proof
    assert proof[1] == "reader, operation 2, invoked later: received LAC 9"


def test_the_first_close_counts_and_not_a_later_version_of_it():
    history = [created(), closed(2, latest_ns=10), closed(2, 2, latest_ns=30)]
    assert kinds(judged(*history, lac_read(4, invoked_ns=11)), "lac") == [("beyond_close", 3, 4)]
    assert not lac(*history, lac_read(4, invoked_ns=10)).findings


def test_the_first_close_is_the_one_that_was_dated_first():
    history = [created(), closed(2), closed(2, 2, latest_ns=10)]
    assert kinds(judged(*history, lac_read(4, invoked_ns=11)), "lac") == [("beyond_close", 3, 4)]
    beyond = [
        vanished(3),
        created(ledger=2),
        closed(2, ledger=2, latest_ns=10),
        lac_read(2, ledger=2, invoked_ns=11),
    ]
    assert kinds(judged(*history, *beyond, lac_read(4, invoked_ns=11)), "lac") == [("beyond_close", 3, 4)]


def test_a_lac_at_the_end_is_not_beyond_it():
    """Also of a ledger that is looked at more closely: its metadata went later."""
    history = [created(), closed(2, latest_ns=10), vanished()]
    assert not lac(*history, lac_read(2, invoked_ns=11)).findings
    assert kinds(judged(*history, lac_read(3, invoked_ns=11)), "lac") == [("beyond_close", 3, 3)]
    assert not lac(*history, lac_read(3, invoked_ns=10)).findings


def test_a_handle_may_hear_the_same_lac_again():
    judgement = lac(lac_read(5, lac_before=5))
    assert not judgement.findings and judgement.seen["low_answers"] == 0
    assert kinds(judged(lac_read(4, lac_before=5)), "lac") == [("went_back", 4, 4)]


def test_a_lac_over_an_add_that_was_never_sent():
    history = [created(), acked(0), refused(1)]
    assert kinds(judged(*history, lac_read(1)), "lac") == [("covers_unsent", 1, 1)]
    assert not lac(*history, lac_read(0)).findings


def test_a_lac_over_ids_that_no_client_tried():
    history = [created(), acked(0), unsure(1)]
    verdict = judged(*history, lac_read(5))
    assert kinds(verdict, "lac") == [("covers_unsent", 2, 5)]
    assert verdict.judgements["lac"].findings[0].proof == (
        "no add of entries 2..5 left its client",
        "reader, operation 50: received LAC 5",
    )
    assert not lac(*history, lac_read(1)).findings
    assert not lac(*history, lac_read(5), recovering()).findings
    assert not lac(*history, lac_read(5), damage=("operations: torn",)).findings


def test_of_a_ledger_whose_adds_no_history_has_nothing_is_known():
    assert not lac(created(), lac_read(5)).findings


def test_an_observer_that_found_the_ledger_closed_did_not_recover_it():
    history = [created(), acked(0), refused(1), lac_read(1)]
    assert kinds(judged(*history, closed(1), opened(1)), "lac") == [("covers_unsent", 1, 1)]
    assert not lac(*history, recovering(), closed(1, 2), opened(1)).findings


def test_an_id_that_another_add_used_was_sent():
    assert not lac(created(), acked(0), refused(1), unsure(1), lac_read(1)).findings


def test_only_a_lac_that_came_before_a_recovery_says_something_of_the_writer():
    history = [created(), acked(0), refused(1), lac_read(0, seq=49)]
    verdict = judged(*history, lac_read(1, completed_ns=9), recovering(earliest_ns=10), closed(0, 2))
    assert kinds(verdict, "lac") == [("covers_unsent", 1, 1)]
    assert verdict.judgements["lac"].findings[0].proof[1] == "reader, operation 50: received LAC 1"
    assert not lac(*history, lac_read(1, completed_ns=10), recovering(earliest_ns=10)).findings


def test_an_open_with_recovery_that_changed_nothing_was_no_recovery():
    history = [created(), acked(0), refused(1), lac_read(1)]
    assert kinds(judged(*history, recovered(1, outcome=Outcome.UNKNOWN)), "lac") == [("covers_unsent", 1, 1)]


def test_unseen_metadata_may_hide_a_recovery():
    assert not lac(acked(0), refused(1), lac_read(1)).findings
    assert not lac(created(), closed(0, 2), acked(0), refused(1), lac_read(1)).findings


def test_torn_histories_may_hide_the_add():
    history = [created(), acked(0), refused(1), lac_read(1)]
    assert not lac(*history, damage=("operations: writer torn",)).findings


def test_no_lac_told_nothing_proven():
    judgement = lac(acked(0, lac=-1))
    assert (judgement.verdict, judgement.notes) == (Verdict.UNKNOWN, ())


def test_an_open_tells_a_lac():
    assert lac(operation(Kind.OPEN, lac=0, flags=Flag.RECOVERY)).verdict is Verdict.VALID


def too_soon(*parts, **run):
    found = kinds(judged(*parts, **{"wire": True, **run}), "lac")
    return [(first, last) for kind, first, last in found if kind == "acked_too_soon"]


ONE, TWO = took(0, 1, 10), took(0, 2, 20)  # passed on at 12 and at 22


def test_an_add_is_told_ok_when_its_ack_quorum_has_answered():
    assert not too_soon(created(), ONE, TWO, acked(0, completed_ns=22))
    assert too_soon(created(), ONE, TWO, acked(0, completed_ns=21)) == [(0, 0)]
    assert too_soon(created(), ONE, acked(0, completed_ns=99)) == [(0, 0)]
    assert not too_soon(created(ack_quorum=1), ONE, acked(0, completed_ns=99))
    assert not too_soon(created(), metadata(1, 1, ack_quorum=1), ONE, acked(0, completed_ns=99))


def test_the_proof_says_who_had_told_the_writer_and_who_came_too_late():
    verdict = judged(created(), ONE, TWO, acked(0, completed_ns=21), wire=True)
    [finding] = verdict.judgements["lac"].findings
    assert finding.text == "ledger 1: writer got ok for entry 0 before 2 bookies had acknowledged it"
    assert finding.proof == (
        "metadata: the ack quorum is 2",
        "writer got ok for entry 0 at 0.000000021 s (operation 1)",
        "b1's acknowledgement was passed on to it at 0.000000012 s",
        "b2's acknowledgement was passed on to it not before 0.000000022 s, too late",
    )


LATE = "b2's acknowledgement was passed on to it not before 0.000000022 s, too late"


@pytest.mark.parametrize(
    ("at_ns", "first", "expected"),
    [
        (12, ONE, ("b1's acknowledgement was passed on to it at 0.000000012 s", LATE)),
        (21, [], ("until then no acknowledgement had been passed on to it", LATE)),
    ],
)
def test_the_proof_has_the_answers_to_the_writer_and_what_each_was_worth(at_ns, first, expected):
    others = took(0, 3, 5, source=READER)
    [finding] = lac(created(), first, TWO, others, acked(0, completed_ns=at_ns), wire=True).findings
    assert finding.proof[2:] == expected


def test_an_acknowledgement_that_was_never_passed_on_is_not_in_the_proof():
    dropped = took(0, 1, 10, delivered=Status.NONE, forwarded_ns=NEVER, flags=FrameFlag.DROPPED)
    [finding] = lac(created(), dropped, acked(0), wire=True).findings
    assert finding.proof[2:] == ("no bookie's acknowledgement was ever passed on to it",)


def test_neighbours_are_one_finding_and_counted_each():
    history = [created(), ONE, [acked(entry, completed_ns=5) for entry in (0, 1, 2, 5)]]
    assert too_soon(*history) == [(0, 2), (5, 5)]
    assert lac(*history, wire=True).counts["acked_too_soon"] == 4


def test_bookies_are_counted_and_not_answers():
    assert too_soon(created(), ONE, took(0, 1, 14), acked(0, completed_ns=99)) == [(0, 0)]
    assert not too_soon(
        created(), ONE, took(0, 9, 14), acked(0, completed_ns=99)
    )  # of no ensemble that was seen
    assert not too_soon(created(), ONE, TWO, took(0, 2, 40), acked(0, completed_ns=22))  # its first counts


@pytest.mark.parametrize(
    "columns",
    [
        {"delivered": Status.EFENCED},
        {"delivered": Status.NONE, "forwarded_ns": NEVER, "flags": FrameFlag.DROPPED},
        {"forwarded_ns": 50, "flags": FrameFlag.HELD},
        {"source": READER},
        {"ledger": 2},
        {"entry": 1},
    ],
)
def test_what_did_not_reach_the_writer_in_time_is_no_acknowledgement(columns):
    assert too_soon(
        created(), ONE, took(**{"entry": 0, "bookie": 2, "at_ns": 20, **columns}), acked(0, completed_ns=40)
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"status": Status.NONE, "delivered": Status.EOK, "flags": FrameFlag.FORGED, "rule": 1},
        {"status": Status.EIO, "delivered": Status.EOK, "flags": FrameFlag.FORGED, "rule": 1},
        {"delivered": 100_042},
        {"delivered": Status.NONE},
        {"flags": FrameFlag.AMBIGUOUS},
        {"flags": FrameFlag.UNCORRELATED, "asked_ns": NEVER, "boot": 0},
        {"flags": FrameFlag.GARBLED},
        {"kind": Message.RECOVERY_ADD},
    ],
)
def test_whatever_may_have_been_an_acknowledgement_is_one(columns):
    given = {"kind": Message.ADD, "bookie": 2, "at_ns": 20, "entry": 0, **columns}
    assert not too_soon(created(), ONE, said(**given), acked(0, completed_ns=22))


def test_a_deferred_add_takes_its_ack_quorum_as_well():
    assert too_soon(created(), ONE, deferred(0, completed_ns=99)) == [(0, 0)]
    assert not too_soon(created(), ONE, TWO, deferred(0, completed_ns=99))


def test_an_add_that_was_not_told_ok_needs_no_acknowledgement():
    assert not too_soon(created(), ONE, unsure(0), refused(1), unsure(2, outcome=Outcome.PENDING))


def test_of_two_adds_under_one_id_the_later_counts():
    assert not too_soon(created(), ONE, TWO, acked(0, completed_ns=21), acked(0, completed_ns=22, seq=2))


def test_unseen_metadata_hides_the_ack_quorum():
    assert not too_soon(ONE, acked(0, completed_ns=99))
    assert lac(ONE, TWO, acked(0, completed_ns=99), wire=True).seen["acked_in_time"] == 0
    assert not too_soon(created(put_back=True), ONE, acked(0, completed_ns=99))


@pytest.mark.parametrize(
    "run",
    [
        {"wire": False},
        {"complete": False},
        {"damage": ("frames: link writer-b2: 4 frames had no readable header",)},
        {"damage": ("operations: writer torn",)},
        {"damage": ("ledgers: torn",)},
    ],
)
def test_where_the_log_is_not_whole_nobody_is_told_too_soon(run):
    assert not too_soon(created(), ONE, acked(0, completed_ns=99), **run)


@pytest.mark.parametrize("run", [{}, {"wire": True, "damage": ("frames: torn",)}])
def test_without_a_whole_wire_log_the_other_rules_are_judged_as_ever(run):
    judgement = lac(created(), ONE, TWO, acked(0, completed_ns=22), **run)
    assert (judgement.verdict, judgement.seen["acked_in_time"]) == (Verdict.VALID, 0)
    assert judgement.notes[0].endswith("whether adds were acknowledged too soon was not judged")
    assert kinds(judged(lac_read(3, lac_before=5), **run), "lac") == [("went_back", 3, 3)]


def test_nothing_follows_from_a_log_without_a_frame_of_the_writer():
    judgement = lac(created(), took(0, 1, 10, source=OBSERVER), acked(0), wire=True)
    assert judgement.verdict is Verdict.VALID
    [note] = judgement.notes
    assert note.startswith("writer: no frame of its links is in the wire log")


def test_each_ledger_has_its_own_ack_quorum():
    history = [created(), created(ledger=2, ack_quorum=3), ONE, TWO, took(0, 1, 10, ledger=2)]
    history += [took(0, 2, 20, ledger=2), acked(0, completed_ns=99), acked(0, completed_ns=99, ledger=2)]
    [finding] = lac(*history, wire=True).findings
    assert (finding.ledger, finding.kind) == (2, "acked_too_soon")


def outside(*parts, **run):
    judgement = lac(lac_read(0), *parts, **{"wire": True, **run})
    return [(one.first_entry, one.last_entry, one.count) for one in judgement.findings]


def test_an_acknowledgement_of_a_bookie_that_no_version_names_is_shown_with_the_ensembles():
    judgement = lac(lac_read(0), created(), took(0, 1, 10), took(0, 4, 11), wire=True)
    assert [one.kind for one in judgement.findings] == ["acked_outside"]
    assert judgement.findings[0].text == (
        "ledger 1: b4 acknowledged entry 0, which no version of the metadata gives to it"
    )
    assert judgement.findings[0].proof[1:] == ("metadata version 0: from entry 0 on b1, b2, b3",)


def test_a_bookie_acknowledges_what_any_version_gives_to_it():
    changed = metadata(1, 1, fragments={0: ("b1", "b2", "b3"), 5: ("b1", "b2", "b4")})
    again = metadata(2, 1, fragments={0: ("b1", "b2", "b3"), 5: ("b1", "b2", "b5")})
    acks = [took(entry, bookie, 10) for entry, bookie in ((4, 3), (5, 3), (5, 4), (6, 5))]
    assert outside(created(), changed, again, *acks) == []
    assert outside(created(), changed, again, *acks, took(3, 4, 10), took(4, 4, 10)) == [(3, 4, 2)]
    [finding] = lac(lac_read(0), created(), changed, again, took(3, 4, 10), wire=True).findings
    assert finding.proof[-1] == "metadata version 2: from entry 5 on b1, b2, b5"


def test_a_striped_write_set_leaves_bookies_out():
    shape = {"write_quorum": 2}
    assert outside(created(**shape), took(0, 1, 10), took(0, 2, 10), took(1, 3, 10)) == []
    assert outside(created(**shape), took(0, 3, 10), took(1, 1, 10)) == [(1, 1, 1), (0, 0, 1)]


def test_what_recovery_adds_elsewhere_is_no_anomaly():
    assert outside(created(), said(Message.RECOVERY_ADD, 4, 10, entry=0, source=WRITER)) == []
    assert outside(created(), took(0, 4, 10, source=2)) == []  # nor what a bookie adds


@pytest.mark.parametrize(
    ("history", "run"),
    [
        ([metadata(1, 1), took(0, 4, 10)], {}),
        ([created(), vanished(1), took(0, 4, 10)], {}),
        ([created(), took(0, 4, 10)], {"wire": False}),
        ([created(), took(0, 4, 10)], {"damage": ("frames: torn",)}),
    ],
    ids=["a version was not seen", "deleted", "no wire log", "damaged"],
)
def test_where_the_metadata_or_the_log_is_not_known_no_bookie_is_outside(history, run):
    assert outside(*history, **run) == []
