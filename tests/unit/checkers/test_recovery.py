"""A client that closed a ledger for its writer had the answers that allow it."""

import pytest

from checkers.recovery.writers import AT_ONCE_NS
from evidence.codes import NEVER, FrameFlag, Kind, Message, Outcome, Status
from evidence.findings import Verdict
from tests.histories.asking import CLOSED_BY as BY
from tests.histories.asking import (
    EIO,
    ENOENTRY,
    ENOLEDGER,
    EOK,
    TOO_MANY,
    add,
    answered,
    asked,
    exchange,
    fencing,
    forged,
    plain_read,
    read,
    recovered,
    recovery,
    swallowed,
)
from tests.histories.story import (
    READER,
    acked,
    closed,
    created,
    finds,
    judging,
    operation,
    recovering,
    refused,
    unsure,
)

TOO_SOON = [("ended_too_soon", 5, 5)]
TOO_FEW = [("fenced_too_few", -1, -1)]
judgement_of = judging("recovery", wire=True)
found = finds("recovery", wire=True)


def test_two_denials_end_a_ledger_of_three_copies():
    judgement = judgement_of(recovered(), recovery(4))
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen["legal"] == 1


def test_a_close_on_one_denial_names_the_end_and_who_answered_what():
    parts = [recovered(), recovery(4, denied=("b1",)), exchange("reader", "b3", read(5), TOO_MANY, at=30)]
    assert found(*parts) == TOO_SOON
    assert judgement_of(*parts).findings[0].proof == (
        "metadata version 2: CLOSED at 4 after IN_RECOVERY, in force by 0.000000100 s",
        "entry 5 would be on b3, b1, b2: 2 of them must deny it (WQ 3, AQ 2)",
        "to reader about entry 5: no such entry from b1; an error from b3; nothing from b2",
        "the last entry acknowledged to the writer is 9",
    )


@pytest.mark.parametrize("status", [EIO, TOO_MANY, Status.EUNKNOWNLEDGERSTATE, Status.EUA])
def test_only_explicit_negatives_end_a_ledger(status):
    one = recovery(4, denied=("b1",))
    assert found(recovered(), one, answered("reader", "b2", read(5), status)) == TOO_SOON
    assert not found(recovered(), one, answered("reader", "b2", read(5), ENOLEDGER))


def test_a_bookie_counts_once_however_often_it_denies():
    again = answered("reader", "b1", read(5), ENOENTRY, at=31)
    assert found(recovered(), recovery(4, denied=("b1",)), again) == TOO_SOON


def test_a_denial_of_another_entry_does_not_count():
    assert found(recovered(), recovery(4, denied=("b1",)), recovery(3)) == TOO_SOON


def test_a_denial_counts_when_it_may_have_come_before_the_close():
    late = answered("reader", "b2", read(5), ENOENTRY, at=BY)
    assert not found(recovered(), recovery(4, denied=("b1",)), late)
    late = answered("reader", "b2", read(5), ENOENTRY, at=BY, forwarded_ns=BY + 1)
    assert found(recovered(), recovery(4, denied=("b1",)), late) == TOO_SOON


def test_an_answer_that_was_kept_from_its_client_gave_no_ground():
    kept = swallowed("reader", "b2", read(5), ENOENTRY)
    assert found(recovered(), recovery(4, denied=("b1",)), kept) == TOO_SOON


def test_an_answer_of_ours_is_a_ground_like_any_other():
    made = forged("reader", "b2", read(5), ENOENTRY)
    judgement = judgement_of(recovered(), recovery(4, denied=("b1",)), made)
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen["forged_answers"] == 1


def test_two_recoverers_do_not_share_their_answers():
    parts = [recovery(4, denied=("b1",)), recovery(4, source="observer", denied=("b2",))]
    assert found(recovered(), parts) == TOO_SOON
    assert not found(recovered(), parts, recovery(4, source="observer"))


@pytest.mark.parametrize(
    ("quorums", "needed"),
    [((2, 1), 2), ((2, 2), 1), ((3, 1), 3), ((3, 2), 2), ((3, 3), 1), ((4, 2), 3), ((4, 3), 2), ((4, 4), 1)],
)
def test_denials_needed_are_those_of_the_documents_table(quorums, needed):
    write, ack = quorums
    bookies = ("b1", "b2", "b3", "b4")[:write]
    shape = {"ensemble": write, "write_quorum": write, "ack_quorum": ack}
    parts = recovered(**shape, fragments={0: bookies})
    enough = recovery(4, fenced=bookies, denied=bookies[:needed])
    assert not found(parts, enough)
    assert found(parts, recovery(4, fenced=bookies, denied=bookies[: needed - 1])) == TOO_SOON


def test_only_the_write_set_of_the_entry_can_deny_it():
    shape = {"ensemble": 4, "write_quorum": 2, "ack_quorum": 2, "fragments": {0: ("b1", "b2", "b3", "b4")}}
    fenced = ("b1", "b2", "b3", "b4")
    assert found(recovered(**shape), recovery(4, fenced=fenced, denied=("b1", "b4"))) == TOO_SOON
    assert not found(recovered(**shape), recovery(4, fenced=fenced, denied=("b2",)))


def test_the_ensemble_is_that_of_a_version_in_recovery_or_of_the_close():
    other = {0: ("b1", "b4", "b5")}
    versions = [created(), recovering(1), closed(4, 2, latest_ns=BY, fragments=other)]
    adds = [acked(entry) for entry in range(10)]
    assert not found(versions, adds, recovery(4))
    assert not found(versions, adds, recovery(4, fenced=("b1", "b4"), denied=("b4", "b5")))
    assert found(versions, adds, recovery(4, denied=("b2", "b5"))) == TOO_SOON
    stale = [created(fragments=other), recovering(1), closed(4, 2, latest_ns=BY)]
    assert found(stale, adds, recovery(4, denied=("b4", "b5"))) == TOO_SOON


def test_going_on_with_an_ack_quorum_unknown_is_wrong():
    parts = [recovered(), recovery(4, fenced=("b1",))]
    assert found(*parts) == TOO_FEW
    other = recovery(4, source="observer", denied=())
    assert judgement_of(*parts, other).findings[0].proof[1:] == (
        "reader went on by 0.000000020 s with answers to fencing from b1; "
        "unknown in one write set: b2, b3 (AQ 2)",
    )


@pytest.mark.parametrize("status", [EOK, ENOENTRY, ENOLEDGER])
def test_negatives_are_answers_to_fencing_too(status):
    assert not found(
        recovered(), recovery(4, fenced=("b1",)), answered("reader", "b3", fencing(), status, at=9)
    )


@pytest.mark.parametrize("status", [EIO, Status.EUNKNOWNLEDGERSTATE, Status.EUA])
def test_errors_are_no_answers_to_fencing(status):
    parts = [recovery(4, fenced=("b1",)), answered("reader", "b3", fencing(), status, at=9)]
    assert found(recovered(), parts) == TOO_FEW


def test_answers_to_fencing_after_the_first_read_came_too_late():
    """It went on with b1 alone. b2 and b3 answered before it read the entry after the end."""
    asks = [asked("reader", bookie, fencing(), at=10) for bookie in ("b1", "b2", "b3")]
    in_time = answered("reader", "b1", fencing(), at=11)
    late = [answered("reader", bookie, fencing(), at=25) for bookie in ("b2", "b3")]
    rest = recovery(5, fenced=(), found=(5,))  # reads entry 5 at 20, entry 6 at 30
    assert found(recovered(5), asks, in_time, late, rest) == TOO_FEW
    assert not found(recovered(5), asks, in_time, answered("reader", "b2", fencing(), at=20), late, rest)


def test_of_several_tries_an_answer_to_fencing_after_the_last_read_came_too_late():
    late = answered("reader", "b2", fencing(), at=25)
    one = [recovered(), recovery(4, fenced=("b1",)), late]
    assert found(*one) == TOO_FEW
    assert found(*one, asked("reader", "b3", read(5), at=25)) == TOO_FEW
    two = [*one, asked("reader", "b1", fencing(), at=22)]
    assert found(*two) == TOO_FEW
    assert not found(*two, asked("reader", "b3", read(5), at=25))
    assert found(*two, asked("reader", "b3", read(5), at=BY + 1)) == TOO_FEW
    assert not found(*two, asked("reader", "b3", read(5), at=BY))


@pytest.mark.parametrize(("again", "tries"), [("b1", 2), ("b4", 2), ("b2", 1)])
def test_a_retry_is_judged_by_all_that_its_client_was_told(again, tries):
    """A client that tries again asks a bookie again, or those of another ensemble."""
    first = recovery(4, fenced=("b1",), denied=("b1",))
    second = recovery(4, fenced=("b3",), denied=("b2",), at=40)
    parts = [recovered(), first, second, asked("reader", again, fencing(), at=40)]
    assert found(*parts) == ([] if tries > 1 else TOO_FEW)


def test_with_more_bookies_than_copies_every_write_set_counts():
    shape = {"ensemble": 5, "write_quorum": 3, "ack_quorum": 2}
    parts = recovered(**shape, fragments={0: ("b1", "b2", "b3", "b4", "b5")})
    denied = ("b1", "b2", "b3")
    assert not found(parts, recovery(4, fenced=("b1", "b3", "b4", "b5"), denied=denied))
    assert found(parts, recovery(4, fenced=("b1", "b2", "b4"), denied=denied)) == TOO_FEW


def test_an_ambiguous_answer_speaks_for_the_recoverer():
    odd = {"protocol": 2, "flags": FrameFlag.AMBIGUOUS}
    one = recovery(4, denied=("b1",))
    assert found(recovered(), one, answered("reader", "b2", plain_read(5), ENOENTRY)) == TOO_SOON
    assert not found(recovered(), one, answered("reader", "b2", plain_read(5), ENOENTRY, **odd))
    lac = Message.LAC_READ, -1
    assert not found(recovered(), recovery(4, fenced=("b1",)), answered("reader", "b2", lac, **odd))
    assert found(recovered(), recovery(4, fenced=("b1",)), answered("reader", "b2", lac)) == TOO_FEW


def test_what_a_bookie_says_to_itself_is_seen_by_nobody():
    assert not found(recovered(), recovery(4, source="b3", fenced=("b1",), denied=("b1",)))
    assert found(recovered(), recovery(4, source="b4", fenced=("b1", "b2"), denied=("b1",))) == TOO_SOON
    assert found(recovered(), recovery(4, source="b3", fenced=("b1",), denied=())) == TOO_SOON


def test_where_one_denial_is_enough_a_protected_bookie_may_have_closed_by_itself():
    parts = [recovered(ack_quorum=3), recovery(4, denied=())]
    assert found(*parts) == TOO_SOON
    judgement = judgement_of(*parts, guarded=frozenset({"b2"}))
    assert not judgement.findings
    assert judgement.seen["by_bookie"] == 1
    assert judgement.verdict is Verdict.NOT_JUDGED


@pytest.mark.parametrize("ending", [unsure(10), unsure(10, outcome=Outcome.PENDING), operation(Kind.CLOSE)])
def test_the_writer_may_close_at_its_own_last_entry_while_another_recovers(ending):
    judgement = judgement_of(recovered(9), ending, recovery(9, denied=()))
    assert not judgement.findings
    assert judgement.seen["by_writer"] == 1
    assert judgement.verdict is Verdict.NOT_JUDGED
    assert found(recovered(8), ending, recovery(8, denied=())) == [("ended_too_soon", 9, 9)]


def everywhere(last, *but):
    """Each add is sent to every bookie, which answers EOK at once, but for (bookie, entry) in ``but``."""
    sent = [(bookie, entry) for bookie in ("b1", "b2", "b3") for entry in range(last + 1)]
    requests = [asked("writer", bookie, add(entry), at=4) for bookie, entry in sent]
    return [
        *requests,
        *(answered("writer", bookie, add(entry)) for bookie, entry in sent if (bookie, entry) not in but),
    ]


def test_a_writer_whose_adds_are_ok_everywhere_closes_only_when_it_is_told_to():
    parts = [recovered(9), everywhere(9), recovery(9, denied=())]
    assert found(*parts) == [("ended_too_soon", 10, 10)]
    assert found(*parts, refused(10)) == [("ended_too_soon", 10, 10)]


@pytest.mark.parametrize(
    "third",
    [
        (),
        answered("writer", "b2", add(9), Status.EFENCED),
        answered("writer", "b2", add(9), at=2 * 10**9, asked_ns=1),
        answered("writer", "b2", add(9), rule=3),
        answered("writer", "b2", add(9), asked_ns=NEVER),
        swallowed("writer", "b2", add(9)),
    ],
    ids=["missing", "fenced", "late", "touched", "unasked", "swallowed"],
)
def test_a_third_answer_that_went_wrong_may_have_made_the_writer_close(third):
    judgement = judgement_of(
        recovered(9), everywhere(9, ("b2", 9)), [third] if third else [], recovery(9, denied=())
    )
    assert not judgement.findings
    assert judgement.seen["by_writer"] == 1


@pytest.mark.parametrize(("took_ns", "at_once"), [(AT_ONCE_NS, True), (AT_ONCE_NS + 1, False)])
def test_an_answer_is_at_once_up_to_a_second(took_ns, at_once):
    third = answered("writer", "b2", add(9), asked_ns=10, forwarded_ns=10 + took_ns)
    parts = [recovered(9), everywhere(9, ("b2", 9)), third, recovery(9, denied=())]
    assert bool(judgement_of(*parts).findings) is at_once


@pytest.mark.parametrize("copies", [29, 30, 31])
def test_a_writer_sent_as_many_adds_as_were_due_or_it_may_have_closed(copies):
    good = [exchange("writer", f"b{at % 4 + 1}", add(at // 4)) for at in range(copies)]
    assert bool(judgement_of(recovered(9), good, recovery(9, denied=())).findings) is (copies >= 30)


@pytest.mark.parametrize("third", [(), answered("writer", "b2", add(9), Status.EFENCED)])
def test_an_answer_to_spare_does_not_stand_in_for_one_that_went_wrong(third):
    substituted = exchange("writer", "b4", add(5))
    parts = [everywhere(9, ("b2", 9)), substituted, [third] if third else [], recovery(9, denied=())]
    judgement = judgement_of(recovered(9), *parts)
    assert not judgement.findings
    assert judgement.seen["by_writer"] == 1


def test_an_add_that_was_never_acknowledged_is_not_the_writers_end():
    versions = [created(), recovering(1), closed(1, 2, latest_ns=BY)]
    parts = [versions, acked(0), unsure(1), recovery(1, denied=())]
    assert found(*parts) == [("ended_too_soon", 2, 2)]
    assert judgement_of(*parts).findings[0].proof[-1] == "the last entry acknowledged to the writer is 0"


def test_the_close_of_a_readers_handle_ends_no_ledger():
    versions = [created(), recovering(1), closed(-1, 2, latest_ns=BY)]
    reader = operation(Kind.CLOSE, client=READER, handle=5, invoked_ns=50)
    assert found(versions, reader, recovery(-1, denied=())) == [("ended_too_soon", 0, 0)]


def test_one_recovery_that_was_not_seen_leaves_the_property_unknown():
    other = [(table, {**row, "ledger": 2}) for table, row in recovered()[:3]]
    judgement = judgement_of(recovered(), recovery(4), other)
    assert judgement.verdict is Verdict.UNKNOWN
    assert (judgement.seen["legal"], judgement.seen["unseen"]) == (1, 1)


def test_a_close_that_nobody_dated_may_be_of_any_writer_that_was_active():
    versions = [created(), recovering(1), closed(-1, 2)]
    made = operation(Kind.CREATE)
    [finding] = judgement_of(versions, made, recovery(-1, denied=())).findings
    assert (finding.kind, finding.first_entry, finding.last_entry) == ("ended_too_soon", 0, 0)
    assert finding.proof[0] == "metadata version 2: CLOSED at -1 after IN_RECOVERY"
    assert finding.proof[-1].startswith("to reader about entry 0")
    closes = operation(Kind.CLOSE, seq=9, invoked_ns=10**9)
    assert not found(versions, made, closes, recovery(-1, denied=()))


def test_a_close_of_an_open_ledger_is_nobodys_recovery():
    judgement = judgement_of(created(), closed(4, latest_ns=BY), [acked(entry) for entry in range(10)])
    assert judgement.verdict is Verdict.NOT_JUDGED
    assert judgement.seen["recoveries"] == 0


def test_a_recovery_of_which_no_frame_was_seen_is_unknown():
    judgement = judgement_of(recovered())
    assert judgement.verdict is Verdict.UNKNOWN
    assert judgement.notes == (
        "1 close after a recovery of which no frame or not every version was seen, first ledger 1",
    )


@pytest.mark.parametrize("missing", [0, 1])
def test_an_unseen_version_may_name_other_bookies(missing):
    versions, adds = recovered()[:3], recovered()[3]
    del versions[missing]
    judgement = judgement_of(versions, adds, recovery(4, denied=("b1",)))
    assert judgement.verdict is Verdict.UNKNOWN
    assert judgement.seen["unseen"] == 1


def test_of_a_ledger_of_which_only_the_end_was_seen_nothing_is_known():
    assert judgement_of(closed(4, 2, latest_ns=BY), recovery(4, denied=("b1",))).seen["unseen"] == 1
    assert judgement_of(closed(4, 0, latest_ns=BY), recovery(4, denied=("b1",))).seen["recoveries"] == 0


def test_what_replication_does_to_a_closed_ledger_is_no_recovery():
    moved = closed(4, 4, fragments={0: ("b4", "b2", "b3")})
    assert judgement_of(recovered(), moved, recovery(4)).verdict is Verdict.VALID


def test_a_malformed_version_is_left_to_the_checker_of_metadata():
    judgement = judgement_of(recovered(fragments={0: ("b1", "b2")}), recovery(4, denied=("b1",)))
    assert judgement.seen["unseen"] == 1
    assert (
        judgement_of(recovered(write_quorum=5), recovery(4, found=(4,), denied=("b1",))).seen["unseen"] == 1
    )
    assert judgement_of(recovered(fragments={7: ("b1", "b2", "b3")}), recovery(4)).seen["unseen"] == 1


@pytest.mark.parametrize("damaged", ["frames: 3 records lost", "ledgers: torn", "operations: writer torn"])
def test_nothing_is_found_where_an_answer_may_be_missing(damaged):
    judgement = judgement_of(recovered(), recovery(4, denied=("b1",)), damage=(damaged,))
    assert judgement.verdict is Verdict.UNKNOWN
    assert not judgement.findings


def test_a_run_that_was_not_closed_in_order_is_no_anomaly():
    assert judgement_of(recovered(), recovery(4, denied=("b1",)), complete=False).verdict is Verdict.UNKNOWN


def test_without_a_wire_log_there_is_nothing_to_judge_unless_the_plan_asks_for_it():
    assert judgement_of(recovered(), wire=False).verdict is Verdict.NOT_JUDGED
    assert judgement_of(recovered(), wire=False, required=("recovery",)).verdict is Verdict.UNKNOWN


def test_an_answer_that_was_never_passed_on_is_none():
    held = answered("reader", "b2", read(5), ENOENTRY, forwarded_ns=NEVER)
    assert found(recovered(), recovery(4, denied=("b1",)), held) == TOO_SOON
    undated = [created(), recovering(1), closed(4, 2), [acked(entry) for entry in range(10)]]
    assert found(undated, recovery(4, denied=("b1",)), held) == TOO_SOON
