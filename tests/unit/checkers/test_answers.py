"""A bookie that must have an entry does not deny it."""

import pytest

from evidence.codes import NEVER, FrameFlag, Message, Outcome, Status
from evidence.findings import Verdict
from tests.histories.asking import (
    EIO,
    ENOENTRY,
    ENOLEDGER,
    UNKNOWN_STATE,
    add,
    answered,
    asked,
    plain_read,
    read,
    swallowed,
    write_back,
)
from tests.histories.boots import UNPROVEN, fault, server
from tests.histories.story import (
    closed,
    created,
    deleted,
    finds,
    judging,
    kinds,
    of_known_ledgers,
    recovering,
    vanished,
)

OWN = [("denied_own_ack", 3, 3)]
SHOWN = [("denied_own_show", 3, 3)]
LIMBO = [("limbo_not_shown", 3, 3)]
ACK = answered("writer", "b1", add(3), at=10)
SHOW = answered("reader", "b1", plain_read(3), at=10)


def judgement_of(*parts, **run):
    return judging("answers", wire=True)(of_known_ledgers(*parts), **run)


def found(*parts, **run):
    return kinds(judgement_of(*parts, **run))


def denied(what=None, status=ENOENTRY, *, at=20, **columns):
    return answered("reader", "b1", what or plain_read(3), status, at=at, **columns)


@pytest.mark.parametrize("ack", [add(3), write_back(3)])
@pytest.mark.parametrize("what", [plain_read(3), read(3)])
@pytest.mark.parametrize("status", [ENOENTRY, ENOLEDGER])
def test_a_boot_that_denies_what_it_acknowledged_violates_answers(ack, what, status):
    assert found(answered("writer", "b1", ack, at=10), denied(what, status)) == OWN


def test_the_proof_has_the_acknowledgement_and_the_denial():
    judgement = judgement_of(ACK, denied())
    assert judgement.findings[0].text == "ledger 1: b1 (boot 1) denied entry 3 that it had acknowledged"
    assert judgement.findings[0].proof == (
        "the same boot answered EOK to the add of entry 3, received by 0.000000010 s",
        "b1 (boot 1) answered no such entry to reader's read of entry 3: asked not before 0.000000019 s, "
        "received by 0.000000020 s",
    )
    assert judgement.counts["denied_own_ack"] == 1


def test_a_boot_that_shows_what_it_acknowledged_is_right():
    judgement = judgement_of(ACK, answered("reader", "b1", plain_read(3), at=20))
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen == {"acknowledged": 1, "read": 1, "denied": 0}


def test_a_ledger_without_any_metadata_may_be_gone_and_its_denials_excuse_themselves():
    assert not finds("answers", wire=True)(ACK, denied())
    assert finds("answers", wire=True)(ACK, denied(), created()) == OWN
    assert not finds("answers", wire=True)(ACK, denied(), created(ledger=2))


def test_a_denial_of_what_was_never_acknowledged_is_right():
    assert judgement_of(denied()).verdict is Verdict.VALID
    assert not found(answered("writer", "b1", add(4), at=10), denied())
    assert not found(answered("writer", "b2", add(3), at=10), denied())
    assert not found(answered("writer", "b1", add(3), Status.EFENCED, at=10), denied())
    assert not found(asked("writer", "b1", add(3), at=10), denied())


def test_the_acknowledgement_must_have_come_before_the_question_was_passed_on():
    assert not found(ACK, denied(at=20, asked_ns=10))
    assert found(ACK, denied(at=20, asked_ns=11)) == OWN


def test_another_boot_may_have_lost_it():
    assert not found(ACK, denied(boot=2))


@pytest.mark.parametrize("status", [EIO, UNKNOWN_STATE, Status.ETOOMANYREQUESTS])
def test_an_unknown_answer_denies_nothing(status):
    assert not found(ACK, denied(status=status))


def test_a_question_about_the_lac_denies_no_entry():
    lac = [answered("writer", "b1", (Message.ADD, -1), at=10), denied((Message.FENCING_LAC_READ, -1))]
    assert not found(lac, denied((Message.READ, -1)))


@pytest.mark.parametrize("flag", UNPROVEN)
def test_what_may_not_be_the_bookies_own_word_proves_nothing(flag):
    assert not found(ACK, denied(flags=flag))
    assert not found(answered("writer", "b1", add(3), at=10, flags=flag), denied())


def test_an_answer_of_no_known_boot_or_question_proves_nothing():
    assert not found(answered("writer", "b1", add(3), at=10, boot=0), denied(boot=0))
    assert not found(ACK, denied(asked_ns=NEVER))


def test_a_bookie_answers_for_its_word_even_where_it_was_kept_from_the_client():
    assert found(ACK, swallowed("reader", "b1", plain_read(3), ENOENTRY, at=20)) == OWN
    held = FrameFlag.HELD | FrameFlag.DELAYED | FrameFlag.DUPLICATED
    assert found(ACK, denied(flags=held)) == OWN


def test_a_denial_that_was_changed_on_its_way_is_still_the_bookies():
    assert found(ACK, denied(delivered=Status.EOK)) == OWN
    assert not found(ACK, denied(status=Status.EOK, delivered=ENOENTRY))


@pytest.mark.parametrize("show", [plain_read(3), read(3)])
@pytest.mark.parametrize("what", [plain_read(3), read(3)])
def test_a_boot_that_denies_what_it_had_shown_is_wrong(show, what):
    shown = answered("reader", "b1", show, at=10)
    assert found(shown, denied(what)) == SHOWN
    assert judgement_of(shown, denied(what)).findings[0].proof[0] == (
        "the same boot showed entry 3 in an answer to a read, received by 0.000000010 s"
    )
    assert not found(shown, denied(what, asked_ns=10))
    assert not found(shown, denied(what, boot=2))
    assert not found(shown, denied(what), deleted(invoked_ns=20))
    assert not found(shown, denied(what), created(), closed(9, 1, fragments={0: ("b4", "b2", "b3")}))


def test_a_denial_of_what_was_acknowledged_and_shown_is_one_finding():
    assert found(ACK, SHOW, denied()) == OWN


@pytest.mark.parametrize("flag", UNPROVEN)
def test_only_a_bookies_own_word_shows_an_entry(flag):
    assert not found(answered("reader", "b1", plain_read(3), at=10, flags=flag), denied())


@pytest.mark.parametrize(
    "kind", ["read_only", "fill", "corrupt", "swap_disks", "wipe_metadata", "unheard_of"]
)
def test_a_bookie_whose_disk_a_fault_met_may_deny_what_it_had_shown(kind):
    assert not found(SHOW, denied(), faults=(fault(1, kind, "b1"),))


def test_other_faults_excuse_no_denial_of_what_was_shown():
    assert found(SHOW, denied(), faults=(fault(1, "read_only", "b2"), fault(2, "cut", "reader-b1"))) == SHOWN
    assert not found(SHOW, denied(), faults=(fault(1, "garble", "reader-b2"),))
    assert not found(SHOW, denied(), changed=frozenset({"b1"}))
    assert not found(SHOW, denied(), damage=("faults: torn",))


def test_a_deleted_ledger_may_be_forgotten_from_the_delete_on():
    assert not found(ACK, denied(), deleted(invoked_ns=20))
    assert found(ACK, denied(), deleted(invoked_ns=21)) == OWN
    assert found(ACK, denied(), deleted(invoked_ns=5, outcome=Outcome.FAIL)) == OWN
    assert found(ACK, denied(), deleted(invoked_ns=5, ledger=2)) == OWN


def test_a_ledger_whose_metadata_is_gone_may_be_forgotten():
    assert not found(ACK, denied(), created(), vanished(1, earliest_ns=20))
    assert found(ACK, denied(), created(), vanished(1, earliest_ns=21)) == OWN


def test_a_closed_ledger_that_names_a_bookie_no_more_may_be_forgotten_by_it():
    moved = {"fragments": {0: ("b4", "b2", "b3")}}
    closes = [created(), closed(9, 1)]
    assert not found(ACK, denied(), closes, closed(9, 2, earliest_ns=20, **moved))
    assert found(ACK, denied(), closes, closed(9, 2, earliest_ns=21, **moved)) == OWN
    assert found(ACK, denied(), created(), recovering(1, **moved)) == OWN


def test_a_version_that_nobody_saw_may_name_the_bookie_no_more():
    assert not found(ACK, denied(), created(), closed(9, 2))


def test_a_range_of_denials_is_one_finding():
    acks = [answered("writer", "b1", add(entry), at=10) for entry in range(500)]
    denials = [denied(plain_read(entry), at=20) for entry in range(100, 300) if entry != 150]
    assert found(acks, denials) == [("denied_own_ack", 100, 149), ("denied_own_ack", 151, 299)]
    assert judgement_of(acks, denials).counts["denied_own_ack"] == 199


def test_each_of_many_is_judged_by_the_time_of_its_own_acknowledgement():
    acks = [answered("writer", "b1", add(entry), at=10 + entry) for entry in range(500)]
    denials = [denied(plain_read(entry), at=400) for entry in range(500)]
    assert found(acks, denials) == [("denied_own_ack", 0, 388)]


def test_what_recovery_wrote_later_does_not_veil_what_the_writer_was_told():
    acks = [answered("writer", "b1", add(entry), at=10) for entry in range(500)]
    later = [answered("reader", "b1", write_back(entry), at=900) for entry in range(500)]
    assert found(acks, later, denied(plain_read(7), at=20)) == [("denied_own_ack", 7, 7)]


def test_the_many_denials_of_a_later_census_do_not_veil_an_early_one():
    closes = [OPEN, recovering(1), closed(-1, 2, earliest_ns=30, latest_ns=30)]
    census = [answered("observer", "b1", plain_read(n), ENOENTRY, at=99, boot=2) for n in range(100)]
    assert in_limbo(closes, denied(read(3), boot=2), census) == LIMBO


@pytest.mark.parametrize("damaged", ["servers: torn", "ledgers: torn"])
def test_boots_and_metadata_that_are_torn_may_hide_an_excuse(damaged):
    judgement = judgement_of(ACK, denied(), damage=(damaged,))
    assert judgement.verdict is Verdict.UNKNOWN
    assert found(ACK, denied(), damage=("faults: torn",)) == OWN


def test_frames_that_are_lost_take_nothing_from_those_that_are_there():
    assert judgement_of(ACK, denied(), damage=("frames: 3 records lost",)).verdict is Verdict.ANOMALY
    shown = answered("reader", "b1", plain_read(3), at=20)
    assert judgement_of(ACK, shown, damage=("frames: 3 records lost",)).verdict is Verdict.UNKNOWN


def test_nobody_read_anything():
    assert judgement_of(ACK).verdict is Verdict.NOT_JUDGED
    assert judgement_of(ACK, required=("answers",)).verdict is Verdict.UNKNOWN
    assert judgement_of(ACK, denied(), wire=False).verdict is Verdict.NOT_JUDGED
    assert judgement_of(ACK, denied(), wire=False, required=("answers",)).verdict is Verdict.UNKNOWN


def boot(number, event, at, **detail):
    return server(1, number, event, at, at, **detail)


STARTED = [boot(1, "started", 1), boot(1, "answering", 2)]
KILLED = [boot(1, "exit", 12, signal=9), boot(2, "started", 15)]
CRASH = (*STARTED, *KILLED)
OPEN = created(earliest_ns=3, latest_ns=4)


def in_limbo(*parts, servers=CRASH, guarded=("b1",), **run):
    return found(*(parts or (OPEN, denied(boot=2))), servers=servers, guarded=frozenset(guarded), **run)


def test_a_protected_bookie_that_denies_after_a_crash_violates_answers():
    assert in_limbo() == LIMBO
    judgement = judgement_of(OPEN, denied(boot=2), servers=CRASH, guarded=frozenset({"b1"}))
    assert judgement.findings[0].proof[0] == (
        "boot 1 had not shut down cleanly; ledger 1 was not closed and had b1 in its last ensemble "
        "since boot 2 began: limbo was due"
    )


def test_the_answer_that_limbo_asks_for_is_right():
    assert not in_limbo(OPEN, denied(boot=2, status=UNKNOWN_STATE))


def test_limbo_is_owed_by_protected_bookies_only():
    assert not in_limbo(guarded=())
    assert not in_limbo(guarded=("b2",))


def test_limbo_is_owed_after_an_unclean_end_only():
    assert not in_limbo(servers=(*STARTED, boot(1, "exit", 12, signal=15), boot(2, "started", 15)))
    assert in_limbo(servers=(*STARTED, boot(1, "exit", 12, code=3), boot(2, "started", 15))) == LIMBO
    assert not in_limbo(OPEN, denied(boot=1))


def test_limbo_outlives_an_orderly_restart_if_it_was_marked():
    stopped = (boot(2, "exit", 17, signal=15), boot(3, "started", 18))
    marked = (*CRASH, boot(2, "answering", 16), *stopped)
    assert in_limbo(OPEN, denied(boot=3), servers=marked) == LIMBO
    assert not in_limbo(OPEN, denied(boot=3), servers=(*CRASH, *stopped))
    mended = [OPEN, recovering(1), closed(2, 2, earliest_ns=17, latest_ns=17)]
    assert not in_limbo(mended, denied(boot=3), servers=marked)
    young = created(earliest_ns=16, latest_ns=16)
    assert not in_limbo(young, denied(boot=3), servers=marked)


def test_a_disk_that_a_fault_of_ours_wiped_owes_no_limbo():
    assert not in_limbo(faults=(wiped(13),))
    assert in_limbo(faults=(wiped(13, "b2"),)) == LIMBO
    assert in_limbo(faults=(wiped(0),)) == LIMBO
    stopped = (boot(2, "answering", 16), boot(2, "exit", 17, signal=15), boot(3, "started", 20))
    assert not in_limbo(OPEN, denied(boot=3), servers=(*CRASH, *stopped), faults=(wiped(18),))


def wiped(at, target="b1"):
    times = dict.fromkeys(("planned_ns", "injected_ns", "confirmed_ns", "healed_ns"), at)
    return fault(1, "wipe", target, **times)


@pytest.mark.parametrize(("wiped_ns", "expected"), [(30, []), (31, LIMBO)])
def test_a_wipe_after_the_boot_that_denied_excuses_nothing(wiped_ns, expected):
    boots = (*CRASH, boot(2, "exit", 30, signal=15))
    assert in_limbo(OPEN, denied(boot=2), servers=boots, faults=(wiped(wiped_ns),)) == expected


def test_one_boot_that_had_to_mark_the_ledger_is_enough():
    """It was created after boot 2 had begun, and before boot 3, which followed a crash as well."""
    boots = (*CRASH, boot(2, "answering", 16), boot(2, "exit", 19, signal=9), boot(3, "started", 20))
    young = created(earliest_ns=17, latest_ns=18)
    assert in_limbo(young, denied(boot=3, at=30), servers=boots) == LIMBO


def test_a_boot_that_never_served_had_nothing_to_lose():
    silent = (boot(1, "started", 1), *KILLED)
    assert not in_limbo(servers=silent)
    assert in_limbo(OPEN, denied(boot=2), ACK, servers=silent) == LIMBO
    again = (*CRASH, boot(2, "exit", 16, signal=9), boot(3, "started", 18))
    assert in_limbo(OPEN, denied(boot=3), servers=again) == LIMBO


def test_a_ledger_made_during_the_boot_is_not_in_limbo():
    assert in_limbo(created(latest_ns=14), denied(boot=2)) == LIMBO
    assert not in_limbo(created(latest_ns=15), denied(boot=2))
    assert not in_limbo(created(), denied(boot=2))


def test_a_closed_ledger_is_not_in_limbo():
    assert in_limbo(OPEN, recovering(1), closed(2, 2, earliest_ns=21), denied(boot=2)) == LIMBO
    assert not in_limbo(OPEN, recovering(1), closed(2, 2, earliest_ns=20), denied(boot=2))


def test_only_bookies_of_the_last_ensemble_owe_limbo():
    without = {"fragments": {0: ("b1", "b2", "b3"), 5: ("b4", "b2", "b3")}}
    assert not in_limbo(OPEN, recovering(1, earliest_ns=5, latest_ns=6, **without), denied(boot=2))
    assert not in_limbo(OPEN, recovering(1, earliest_ns=20, **without), denied(boot=2))
    assert in_limbo(OPEN, recovering(1, earliest_ns=21, **without), denied(boot=2)) == LIMBO
    back = [created(latest_ns=4, **without), recovering(1, earliest_ns=5, latest_ns=14)]
    assert in_limbo(back, denied(boot=2)) == LIMBO
    late = [created(latest_ns=4, **without), recovering(1, earliest_ns=5, latest_ns=15)]
    assert not in_limbo(late, denied(boot=2))


def test_limbo_needs_metadata_without_gaps_and_evidence_that_was_closed():
    assert not in_limbo(OPEN, recovering(2), denied(boot=2))
    assert not in_limbo(complete=False)
    assert not in_limbo(damage=("ledgers: torn",))
    assert not in_limbo(damage=("faults: torn",))
    assert not in_limbo(OPEN, denied(boot=2), deleted(invoked_ns=9))
