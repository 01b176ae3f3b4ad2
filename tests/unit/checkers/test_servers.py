"""BP-46's order of events at boot: each rule as a story, and when it reports no anomaly."""

import pytest

from evidence.codes import NEVER, Message, Status
from evidence.findings import Verdict
from tests.histories.boots import commanded, fault, said, server
from tests.histories.literals_servers import (
    CHECK,
    CRASHED,
    MENDED,
    OPEN,
    REPAIR,
    STAMPED,
    STOPPED,
    boot_with,
    second,
)
from tests.histories.story import READER, closed, created, judging, metadata, recovering, vanished

UNCHECKED = {"preboot_start": None, "mark_limbo": None, "preboot_end": None}
WHOLE = second(CHECK | REPAIR)


judgement_of = judging("servers", wire=True, guarded=frozenset({"b1"}))


def kinds(*parts, **run):
    return [finding.kind for finding in judgement_of(*parts, **run).findings]


def denied(at, *, boot=2, entry=3, status=Status.ENOENTRY, kind=Message.READ, **columns):
    return said(kind, 1, at, entry=entry, status=status, boot=boot, source=READER, **columns)


def test_a_boot_in_the_order_of_the_document_is_valid():
    judgement = judgement_of(MENDED, servers=WHOLE)
    assert (judgement.verdict, judgement.findings) == (Verdict.VALID, ())
    tried = {name for name, number in judgement.seen.items() if name.startswith("tried_") and number}
    assert tried == {
        "tried_unclean_unseen",
        "tried_unchecked",
        "tried_available_unchecked",
        "tried_flag_cleared_early",
        "tried_full_check_early",
        "tried_unmarked",
        "tried_cleared_unrecovered",
    }


def test_an_unclean_end_that_the_next_boot_does_not_see():
    judgement = judgement_of(OPEN, servers=second({"dirty_kept": 19, "answering": 20}), guarded=frozenset())
    assert [finding.kind for finding in judgement.findings] == ["unclean_unseen"]
    assert judgement.findings[0].proof == (
        "b1 boot 1 set its marker at 0.000000004 s",
        "b1 boot 1 was killed at 0.000000010 s",
        "the log of b1 boot 2 shows no unclean shutdown",
    )


def test_a_release_that_knows_no_markers_sees_nothing():
    assert not kinds(OPEN, servers=second({"answering": 20}))
    unmarked = boot_with(1, {"answering": 5}, began=1, killed=10)
    assert not kinds(OPEN, servers=second({"dirty_created": 19}, unmarked))


def test_a_marker_outlives_crashes_before_the_next():
    again = boot_with(3, {"dirty_kept": 40}, began=31)
    assert kinds(OPEN, servers=(*second({}, killed=30), *again)) == ["unclean_unseen"]
    assert not kinds(OPEN, servers=(*second({}, stopped=30), *again))


def test_a_disk_that_a_fault_changed_may_have_lost_the_marker():
    blind = second({"dirty_created": 19, "answering": 20})
    assert not kinds(OPEN, servers=blind, faults=(fault(kind="wipe"),))
    assert not kinds(OPEN, servers=(*blind, *commanded("b1", at=2, until=3)))
    early = {"injected_ns": 0, "healed_ns": 99}
    assert kinds(OPEN, servers=blind, faults=(fault(kind="wipe", **early),)) == ["unclean_unseen"]
    assert not kinds(OPEN, servers=blind, faults=(fault(kind="read_only", **early),))
    assert kinds(OPEN, servers=blind, faults=(fault(kind="kill"),)) == ["unclean_unseen"]
    assert kinds(OPEN, servers=blind, faults=(fault(kind="power_loss"),)) == ["unclean_unseen"]


def test_an_orderly_end_is_not_seen_as_unclean():
    assert "clean_seen_unclean" in kinds(OPEN, servers=second(CHECK, STOPPED))
    assert judgement_of(OPEN, servers=second({"dirty_created": 19}, STOPPED)).verdict is Verdict.VALID


def test_a_stop_before_it_was_up_leaves_the_marker_in_place():
    early = boot_with(1, {"dirty_created": 4}, began=1, stopped=10)
    assert "clean_seen_unclean" not in kinds(OPEN, servers=second(CHECK, early))


def test_available_without_a_check():
    bare = second(CHECK, **UNCHECKED)
    assert kinds(OPEN, servers=bare) == ["unchecked"]
    assert not kinds(OPEN, servers=bare, guarded=frozenset())
    assert not kinds(OPEN, servers=second(CHECK, **UNCHECKED, registered=None, answering=None))


def test_available_though_the_check_failed():
    assert kinds(OPEN, servers=second(CHECK, preboot_end=None, preboot_error=16)) == ["unchecked"]
    assert not kinds(OPEN, servers=second(CHECK, preboot_error=16))


def test_available_while_ledgers_are_still_marked():
    other = server(1, 2, "mark_limbo", 19, 19, ledgerId=2)
    judgement = judgement_of(OPEN, servers=(*second(CHECK, mark_limbo=21, preboot_end=22), other))
    assert [finding.kind for finding in judgement.findings] == ["available_unchecked"]
    assert judgement.findings[0].text.endswith("before its preboot check had marked 1 ledger")
    assert judgement.findings[0].proof == (
        "b1 boot 2 saw an unclean shutdown at 0.000000012 s",
        "b1 boot 2 was available by 0.000000019 s",
        "b1 boot 2 marked ledger 1 not before 0.000000021 s",
    )


def test_that_the_end_of_the_check_is_told_late_proves_nothing():
    assert not kinds(OPEN, servers=second(CHECK, preboot_end=40))


def test_a_mark_needs_to_be_later_by_its_interval():
    assert not kinds(OPEN, servers=second(CHECK, mark_limbo=(19, 25), preboot_end=26))
    assert kinds(OPEN, servers=second(CHECK, mark_limbo=(20, 25), preboot_end=26))


def test_a_denial_before_the_marks():
    late = second(CHECK, mark_limbo=30, preboot_end=31, registered=40, answering=40)
    judgement = judgement_of(OPEN, denied(20), servers=late)
    assert [(one.kind, one.ledger) for one in judgement.findings] == [("denied_unchecked", 1)]
    assert "b1 boot 2 denied entry 3 of ledger 1 to reader, received by 0.000000021 s" in (
        judgement.findings[0].proof
    )
    assert not kinds(OPEN, denied(30), servers=late)
    assert not kinds(OPEN, denied(20, status=Status.EUNKNOWNLEDGERSTATE), servers=late)
    assert not kinds(OPEN, denied(20), servers=late, wire=False)


def test_a_ledger_that_was_open_all_the_while_is_marked():
    judgement = judgement_of(OPEN, servers=second(CHECK, mark_limbo=None))
    assert [(one.kind, one.ledger) for one in judgement.findings] == [("unmarked", 1)]
    assert judgement.findings[0].proof[-1] == "no line of its log marks ledger 1"


@pytest.mark.parametrize(
    "versions",
    [
        [OPEN, closed(2, 1, earliest_ns=16, latest_ns=30)],
        [OPEN, closed(2, 1, earliest_ns=4, latest_ns=NEVER)],
        [created(earliest_ns=2, latest_ns=14)],
        [OPEN, recovering(2, earliest_ns=5, latest_ns=6)],
        [OPEN, vanished(1, earliest_ns=16)],
        [created(earliest_ns=2, latest_ns=3, fragments={0: ("b2", "b3", "b4")})],
        [OPEN, recovering(1, earliest_ns=9, latest_ns=14, fragments={0: ("b2", "b3", "b4")})],
    ],
)
def test_a_ledger_that_may_have_been_otherwise_need_not_be_marked(versions):
    assert not kinds(versions, servers=second(CHECK, mark_limbo=None))


def test_limbo_ends_with_the_close_and_not_before():
    for at, found in ((24, ["cleared_unrecovered"]), (25, []), (14, [])):
        assert kinds(MENDED, servers=second(CHECK | REPAIR, ledger_check_and_copy_start=at)) == found


def test_a_denial_ends_limbo_too():
    assert kinds(MENDED, denied(21), servers=WHOLE) == ["cleared_unrecovered"]
    assert not kinds(MENDED, denied(26), servers=WHOLE)


def test_the_flag_is_cleared_after_a_check_without_a_ledger_to_retry():
    erring = (*second(CHECK | REPAIR, full_check_end=None), ended(1))
    judgement = judgement_of(MENDED, servers=erring)
    assert [finding.kind for finding in judgement.findings] == ["flag_cleared_early"]
    assert judgement.findings[0].proof[0] == (
        "b1 boot 2 ended a full check with 1 ledger to retry at 0.000000033 s"
    )
    assert kinds(MENDED, servers=second(CHECK | REPAIR, full_check_end=35)) == ["flag_cleared_early"]
    assert not kinds(MENDED, servers=(*erring, ended(0)))


def ended(left):
    """A full check ended with ledgers to retry."""
    return server(1, 2, "full_check_end", 33, 33, ledgersToRetry=left)


def test_what_a_full_check_should_have_copied_is_not_denied_after_it():
    judgement = judgement_of(MENDED, denied(40, entry=2), servers=WHOLE)
    assert [(one.kind, one.ledger) for one in judgement.findings] == [("denied_repaired", 1)]
    assert judgement.findings[0].proof[1:3] == (
        "b1 boot 2 ended its full check and cleared the flag at 0.000000034 s",
        "b1 boot 2 denied entry 2 of ledger 1 to reader, received by 0.000000041 s",
    )
    assert not kinds(MENDED, denied(40, entry=3), servers=WHOLE)
    assert not kinds(MENDED, denied(33, entry=2), servers=WHOLE)
    elsewhere = closed(2, 2, earliest_ns=25, latest_ns=28, fragments={0: ("b2", "b3", "b4")})
    assert not kinds(MENDED[:2], elsewhere, denied(40, entry=2), servers=WHOLE)
    wiped = fault(kind="wipe", target="b1", injected_ns=36, confirmed_ns=37, healed_ns=38)
    assert not kinds(MENDED, denied(40, entry=2), servers=WHOLE, faults=(wiped,))
    assert not kinds(MENDED, vanished(3, earliest_ns=41), denied(40, entry=2), servers=WHOLE)
    late = vanished(3, earliest_ns=42)
    assert kinds(MENDED, late, denied(40, entry=2), servers=WHOLE) == ["denied_repaired"]


def test_a_full_check_begins_after_the_marks():
    assert kinds(MENDED, servers=second(CHECK | REPAIR, full_check_init=14)) == ["full_check_early"]
    assert not kinds(MENDED, servers=second(CHECK | REPAIR, full_check_init=(14, 15)))


def test_a_cookie_is_stamped_after_the_marks():
    assert not kinds(OPEN, servers=second(STAMPED, STOPPED))
    assert "tried_stamped_unchecked" in judgement_of(OPEN, servers=second(STAMPED, STOPPED)).seen
    for early in ({"cookie_stamped": 14}, {"preboot_end": None}):
        assert kinds(OPEN, servers=second(STAMPED, STOPPED, **early)) == ["stamped_unchecked"]


def test_a_second_crash_does_not_take_the_protection_away():
    again = boot_with(3, dict.fromkeys(CHECK.keys() - {"mark_limbo"}, 45), began=41)
    boots = (*second(CHECK, killed=40), *again)
    assert kinds(OPEN, denied(50, boot=3), servers=boots) == ["unmarked", "protection_lost"]
    assert kinds(OPEN, servers=boots) == ["unmarked"]
    shut = [OPEN, closed(2, 1, earliest_ns=44, latest_ns=48)]
    assert not kinds(shut, denied(50, boot=3), servers=boots)
    ended = [OPEN, closed(2, 1, earliest_ns=38, latest_ns=39)]
    assert not kinds(ended, denied(50, boot=3), servers=boots)
    assert "tried_protection_lost" not in judgement_of(ended, denied(50, boot=3), servers=boots).seen
    assert judgement_of(shut, denied(50, boot=3), servers=boots).seen["tried_protection_lost"] == 1


def lost_after(*parts, first=None, without=(), **run):
    """Whether protection is lost at b1's third boot; its second marks the ledger and ends at 40."""
    third = boot_with(3, dict.fromkeys(CHECK.keys() - {*without}, 45), began=41)
    boots = (*(first or second(CHECK, killed=40)), *third)
    return "protection_lost" in kinds(OPEN, *parts, denied(50, boot=3), servers=boots, **run)


def test_only_a_guarded_bookie_with_its_disk_can_lose_protection_and_only_by_a_crash():
    assert lost_after()
    assert not lost_after(guarded=frozenset())
    assert not lost_after(first=second(CHECK, stopped=40))
    assert not lost_after(faults=(fault(1, "wipe", "b1", injected_ns=40, confirmed_ns=40, healed_ns=40),))
    assert not lost_after(without={"registered", "answering"})


def test_a_bookie_that_was_not_in_the_last_ensemble_all_the_while_owes_no_limbo():
    others = {0: ("b4", "b2", "b3")}
    moved = metadata(1, 1, earliest_ns=20, latest_ns=21, fragments=others)
    assert lost_after(metadata(1, 1, earliest_ns=20, latest_ns=21))
    assert not lost_after(moved)
    assert not lost_after(moved, metadata(2, 1, earliest_ns=30, latest_ns=31))


def test_what_differs_from_the_document_is_noted():
    other = metadata(0, 1, ledger=2, earliest_ns=2, latest_ns=3, fragments={0: ("b2", "b3", "b4")})
    shut = [created(ledger=3, latest_ns=3), closed(2, 1, ledger=3, earliest_ns=4, latest_ns=5)]
    shown = said(Message.READ, 1, 29, entry=0, boot=2, source=READER)
    notes = judgement_of(MENDED, other, shut, shown, servers=WHOLE).notes
    assert notes == (
        "differs from BP-46: b1 boot 2 neither fenced ledger 2 nor put it in limbo, for its last ensemble "
        "is of others; BP-46 does so with all open ledgers",
        "differs from BP-46: b1 boot 2 fenced no ledger that was closed before (1 of them); BP-46 fences all "
        "ledgers of the cluster",
        "differs from BP-46: b1 boot 2 showed entry 0 of ledger 1 to reader at 0.000000030 s, out of limbo, "
        "and ended the repair, with 3 entries copied, not before 0.000000032 s; BP-46 ends limbo after the "
        "repair",
    )


@pytest.mark.parametrize("stage", ["listening", "registered", "answering"])
def test_without_a_log_nothing_is_proven(stage):
    unread = (*CRASHED, *boot_with(2, {stage: 20}, began=11, read=False))
    judgement = judgement_of(OPEN, servers=unread)
    assert (judgement.verdict, judgement.findings) == (Verdict.UNKNOWN, ())
    assert judgement.notes == ("the log of b1 boot 2 was not read",)
    old = [row for row in second({"answering": 20}) if row["event"] != "log_read"]
    assert judgement_of(OPEN, servers=old).verdict is Verdict.UNKNOWN
    assert judgement_of(OPEN, servers=old, guarded=frozenset()).verdict is Verdict.NOT_JUDGED
    dead = (*CRASHED, *boot_with(2, {}, began=11, killed=12, read=False))
    assert judgement_of(OPEN, servers=dead).verdict is Verdict.NOT_JUDGED


@pytest.mark.parametrize("damage", ["servers: torn", "ledgers: torn", "faults: torn"])
def test_damage_is_no_anomaly(damage):
    judgement = judgement_of(OPEN, servers=second(CHECK, preboot_start=None), damage=(damage,))
    assert (judgement.verdict, judgement.findings) == (Verdict.UNKNOWN, ())


@pytest.mark.parametrize(("at_ns", "noted"), [(15, False), (16, True), (30, True), (31, False)])
def test_an_answer_out_of_limbo_is_noted_until_the_repair_has_ended(at_ns, noted):
    shown = said(Message.READ, 1, at_ns, entry=0, boot=2, source=READER)
    notes = judgement_of(MENDED, shown, servers=WHOLE).notes
    assert any("out of limbo, and ended the repair" in note for note in notes) is noted
    endless = second(CHECK | REPAIR, ledger_check_and_copy_end=None, killed=99)
    notes = judgement_of(MENDED, shown, servers=endless).notes
    assert any("out of limbo, and never ended the repair" in note for note in notes) is (at_ns > 15)


def test_what_differs_from_the_document_is_noted_once_and_counted():
    others = [
        metadata(0, 1, ledger=ledger, latest_ns=3, fragments={0: ("b2", "b3", "b4")}) for ledger in (2, 4)
    ]
    (note,) = judgement_of(OPEN, others, servers=second(CHECK)).notes
    assert "fenced ledger 2" in note and note.endswith("(2 such cases in all)")
    assert judgement_of(OPEN, others, servers=second(CHECK), guarded=frozenset()).notes == ()
    assert judgement_of(OPEN, others, servers=second(CHECK, preboot_end=None)).notes == ()


def test_frames_that_are_lost_may_have_been_denials_and_take_nothing_from_an_anomaly():
    torn = {"damage": ("frames: torn",)}
    judgement = judgement_of(MENDED, servers=WHOLE, **torn)
    assert (judgement.verdict, judgement.notes[0]) == (Verdict.UNKNOWN, "damaged evidence: frames: torn")
    assert kinds(OPEN, servers=second(CHECK, mark_limbo=None), **torn) == ["unmarked"]
    assert judgement_of(OPEN, servers=CRASHED, **torn).verdict is Verdict.NOT_JUDGED


def test_a_run_in_which_nobody_boots_twice():
    assert judgement_of(OPEN, servers=CRASHED).verdict is Verdict.NOT_JUDGED
    assert judgement_of(OPEN, servers=CRASHED, required=("servers",)).verdict is Verdict.UNKNOWN
