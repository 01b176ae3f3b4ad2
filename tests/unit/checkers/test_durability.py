"""What was promised, what is left of it, and what counts as proof of a loss."""

import pytest

from evidence.codes import NEVER, Flag, Holding, Kind, Outcome, Proof
from evidence.findings import Verdict
from tests.histories.story import (
    THREE,
    acked,
    answered,
    closed,
    created,
    deferred,
    deleted,
    delivered,
    forced,
    found,
    good_ending,
    judged,
    judging,
    kept,
    kinds,
    kinds_found,
    lac_read,
    lost,
    opened,
    operation,
    unsure,
    vanished,
)

durability = judging("durability")


def test_everything_acknowledged_was_read_back():
    judgement = durability(acked(0), acked(1), good_ending(1))
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen["promised"] == judgement.counts["kept"] == 2


def test_an_acknowledged_entry_that_every_bookie_denies_is_lost():
    verdict = judged(acked(0), acked(1), created(), closed(1), opened(1), kept(0), found(0), lost(1))
    (finding,) = verdict.judgements["durability"].findings
    assert (finding.kind, finding.first_entry, finding.last_entry, finding.count) == ("lost", 1, 1, 1)
    assert finding.loss == "undetermined"
    assert "writer got ok for entry 1" in finding.proof
    assert "census pass 2: b1, b2, b3 answered no such entry for entry 1" in finding.proof
    assert verdict.verdict is Verdict.ANOMALY
    assert verdict.headline.startswith("1 of 2 acknowledged entries lost")


READ_BACK = [acked(0), acked(1), created(), opened(1), kept(0), kept(1)]
CLOSED = closed(1, latest_ns=1)


def denied(entry, at_ns=3, bookies=(1, 2, 3), **columns):
    times = {"asked_ns": at_ns, "answered_ns": at_ns + 5}
    return [answered(entry, bookie, Holding.ABSENT, **times, **columns) for bookie in bookies]


def damaged(entry, bookie):
    return answered(entry, bookie, Holding.DAMAGED, asked_ns=3, answered_ns=4)


def test_an_entry_that_was_read_at_the_end_and_then_denied_by_every_bookie_is_lost():
    verdict = judged(READ_BACK, CLOSED, denied(1))
    assert kinds(verdict, "durability") == [("lost", 1, 1)]
    (finding,) = verdict.judgements["durability"].findings
    assert "a confirmed read had returned entry 1" in finding.proof
    assert "census pass 2: b1, b2, b3 answered no such entry for entry 1" in finding.proof
    assert verdict.judgements["durability"].counts["kept"] == 1
    assert verdict.headline.startswith("1 of 2 acknowledged entries lost")


@pytest.mark.parametrize(
    "answers",
    [
        denied(1, 2),  # the read ended at 2
        denied(1, bookies=(1, 2)),
        [denied(1, bookies=(1, 2)), answered(1, 3, Holding.UNKNOWN, asked_ns=3, answered_ns=4)],
        [denied(1, number=1), found(1)],
    ],
)
def test_an_entry_that_was_read_at_the_end_is_kept_where_not_all_deny_it_afterwards(answers):
    assert durability(READ_BACK, CLOSED, answers).verdict is Verdict.VALID


STRAY = answered(1, 4, Holding.PRESENT, asked_ns=3, answered_ns=4)


@pytest.mark.parametrize("bad", [denied(1), [denied(1, bookies=(1, 2)), damaged(1, 3)]])
def test_an_entry_that_only_a_bookie_has_which_no_reader_asks_is_unavailable(bad):
    judgement = durability(READ_BACK, CLOSED, bad, STRAY)
    assert judgement.verdict is Verdict.UNKNOWN
    assert judgement.counts["unavailable"] == 1
    assert durability(READ_BACK, CLOSED, bad[1:], STRAY).verdict is Verdict.VALID
    assert durability(READ_BACK, CLOSED, bad, STRAY, deleted(invoked_ns=2)).counts["unavailable"] == 0


@pytest.mark.parametrize(
    ("times", "verdict"),
    [({"latest_ns": 3}, Verdict.VALID), ({"latest_ns": 2}, Verdict.UNKNOWN), ({}, Verdict.VALID)],
)
def test_a_copy_is_in_reach_by_a_version_that_may_have_been_in_force_during_the_last_pass(times, verdict):
    """The last pass began at 3, and b4 had a copy by the version before."""
    before = created(fragments={0: ("b1", "b2", "b4")})
    judgement = durability(READ_BACK, before, closed(1, **times), denied(1), STRAY)
    assert judgement.verdict is verdict


def test_a_copy_within_the_ensemble_and_outside_the_write_set_is_out_of_reach():
    striped = {"ensemble": 4, "write_quorum": 2, "fragments": {0: ("b1", "b2", "b3", "b4")}}
    ledger = [acked(0), acked(1), created(**striped), closed(1, latest_ns=1, **striped), kept(0), kept(1)]
    assert durability(ledger, denied(1, bookies=(2, 3)), STRAY).counts["unavailable"] == 1
    assert durability(ledger, denied(1, bookies=(1, 3)), STRAY).counts["unavailable"] == 0


def test_a_read_by_any_client_must_have_ended_before_the_pass():
    later = delivered(1, completed_ns=4)
    assert durability(READ_BACK, CLOSED, denied(1), later).verdict is Verdict.VALID


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({"earliest_ns": 8, "latest_ns": NEVER}, Verdict.UNKNOWN),
        ({"earliest_ns": 9, "latest_ns": NEVER}, Verdict.ANOMALY),
        ({"earliest_ns": 1, "latest_ns": 3}, Verdict.UNKNOWN),
        ({"earliest_ns": 1, "latest_ns": 2}, Verdict.ANOMALY),
    ],
)
def test_denials_while_the_metadata_changed_prove_no_loss_of_what_was_read(changed, verdict):
    """The last pass lasted from 3 to 8: a copy may have moved behind its back."""
    judgement = durability(READ_BACK, CLOSED, closed(1, 2, **changed), denied(1))
    assert judgement.verdict is verdict
    if verdict is Verdict.UNKNOWN:
        assert judgement.counts["unavailable"] == 1
        assert "read back, then denied by every bookie that must have it" in judgement.notes[0]


def test_other_bytes_alone_after_the_read_leave_it_corrupt():
    spoiled = [answered(1, 1, Holding.DAMAGED, asked_ns=3, answered_ns=4), denied(1, bookies=(2, 3))]
    assert kinds(judged(READ_BACK, CLOSED, spoiled), "durability") == [("corrupt", 1, 1)]


def test_a_close_below_an_acknowledged_entry_is_proof_of_its_loss():
    verdict = judged([acked(entry) for entry in range(50)], created(), closed(-1, 3), opened(-1))
    assert kinds(verdict, "durability") == [("lost", 0, 49)]
    (finding,) = verdict.judgements["durability"].findings
    assert finding.count == 50
    assert "metadata version 3: CLOSED at -1, below entry 49" in finding.proof
    assert verdict.headline.startswith("50 of 50 acknowledged entries lost")


@pytest.mark.parametrize("answer", [Holding.UNKNOWN, Holding.PRESENT])
def test_one_bookie_that_does_not_deny_it_leaves_it_unavailable(answer):
    judgement = durability(acked(0), created(), closed(0), lost(0, bookies=(1, 2)), answered(0, 3, answer))
    assert judgement.verdict is Verdict.UNKNOWN
    assert not judgement.findings
    assert judgement.counts["unavailable"] == 1
    assert any("unavailable" in note for note in judgement.notes)


def test_a_bookie_that_was_not_asked_has_not_denied():
    judgement = durability(acked(0), created(), closed(0), lost(0, bookies=(1, 2)))
    assert judgement.verdict is Verdict.UNKNOWN


def test_only_the_last_census_pass_is_proof():
    judgement = durability(acked(0), created(), closed(0), lost(0, number=1), found(5, number=2))
    assert judgement.verdict is Verdict.UNKNOWN


def test_a_former_holder_must_deny_it_too():
    history = [acked(0), created(fragments={0: ("b1", "b2", "b4")}), closed(0), lost(0, bookies=(1, 2, 3))]
    assert durability(*history).verdict is Verdict.UNKNOWN
    assert durability(*history, lost(0, bookies=(4,))).verdict is Verdict.ANOMALY


def test_a_bookie_outside_the_write_set_need_not_be_asked():
    striped = {"ensemble": 4, "write_quorum": 2, "fragments": {0: ("b1", "b2", "b3", "b4")}}
    history = [acked(1), created(**striped), closed(1, **striped), kept(0)]
    assert durability(*history, lost(1, bookies=(2, 3))).verdict is Verdict.ANOMALY
    assert durability(*history, lost(1, bookies=(1, 4))).verdict is Verdict.UNKNOWN


def test_a_metadata_version_that_was_not_seen_may_name_another_holder():
    judgement = durability(acked(0), created(), closed(0, 2), lost(0))
    assert judgement.verdict is Verdict.UNKNOWN
    assert any("not seen whole" in note for note in judgement.notes)


def test_an_unknown_add_promises_nothing():
    judgement = durability(acked(0), unsure(1), good_ending(0))
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen["promised"] == 1


def test_an_unknown_add_below_the_close_is_promised():
    judgement = durability(acked(0), unsure(1), created(), closed(1), kept(0), lost(1))
    assert kinds(judgement) == [("lost", 1, 1)]
    assert any("CLOSED at 1" in fact for fact in judgement.findings[0].proof)


def test_every_id_up_to_a_told_lac_is_promised():
    judgement = durability(unsure(0), unsure(1), lac_read(1), created(), closed(0), kept(0))
    assert kinds(judgement) == [("lost", 1, 1)]
    assert "reader received LAC 1 (operation 50)" in judgement.findings[0].proof


def test_the_state_of_watched_metadata_is_no_lac():
    watched = operation(Kind.WATCHED, lac=3, last=4, client=250)
    assert durability(acked(0), watched, good_ending(0)).verdict is Verdict.VALID


def test_what_a_confirmed_read_returned_is_promised_and_what_an_unconfirmed_read_returned_is_not():
    ending = [created(), closed(-1)]
    assert kinds(durability(unsure(0), delivered(0), *ending)) == [("lost", 0, 0)]
    judgement = durability(unsure(0), delivered(0, flags=Flag.UNCONFIRMED), *ending)
    assert not judgement.findings


def test_a_deferred_add_is_promised_once_a_force_that_came_later_is_ok():
    ending = [created(), closed(-1)]
    adds = [deferred(0), deferred(1), deferred(2)]
    assert not durability(*adds, *ending).findings
    assert kinds(durability(*adds, forced(1), *ending)) == [("lost", 0, 1)]
    assert not durability(*adds, forced(1, outcome=Outcome.UNKNOWN), *ending).findings
    (finding,) = durability(*adds, forced(1), lac_read(2), *ending).findings
    assert finding.proof[:2] == (
        "writer got ok for entries 0..1, and then ok for a force (operation 90)",
        "reader received LAC 2 (operation 50)",
    )


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (Outcome.OK, Verdict.UNKNOWN),
        (Outcome.UNKNOWN, Verdict.UNKNOWN),
        (Outcome.PENDING, Verdict.UNKNOWN),
        (Outcome.FAIL, Verdict.ANOMALY),
    ],
)
def test_a_delete_that_was_sent_releases_the_ledger(outcome, verdict):
    judgement = durability(acked(0), created(), closed(0), lost(0), deleted(outcome=outcome))
    assert judgement.verdict is verdict
    assert judgement.seen["released"] == (0 if outcome is Outcome.FAIL else 1)


def test_metadata_that_vanishes_without_a_delete_is_an_anomaly():
    verdict = judged(acked(0), acked(1), created(), closed(1), vanished())
    assert kinds(verdict, "durability") == [("vanished", 0, 1)]
    assert "1 ledger vanished" in verdict.headline


def test_metadata_that_vanishes_is_no_anomaly_when_histories_are_torn():
    for run in ({"damage": ("operations: writer torn",)}, {"complete": False}):
        judgement = durability(acked(0), created(), closed(0), vanished(), **run)
        assert judgement.verdict is Verdict.UNKNOWN
        assert not judgement.findings


def test_an_empty_ledger_that_vanishes_is_found_too():
    assert kinds(judged(created(), closed(-1), vanished()), "durability") == [("vanished", -1, -1)]


def test_other_bytes_everywhere_are_corruption():
    history = [acked(0), created(), closed(0), kept(0, proof=Proof.DAMAGED)]
    spoiled = [answered(0, bookie, Holding.DAMAGED) for bookie in (1, 2, 3)]
    assert kinds(durability(*history, spoiled)) == [("corrupt", 0, 0)]
    assert not durability(*history, spoiled[:2], found(0, bookies=(3,))).findings


def test_proven_bytes_of_another_writing_are_not_the_entry():
    history = [acked(0), created(), closed(0), kept(0, size_bytes=64)]
    copies = [answered(0, bookie, Holding.PRESENT, size_bytes=64) for bookie in (1, 2, 3)]
    verdict = judged(*history, copies)
    assert kinds_found(verdict) == {"durability/corrupt", "content/two_writings"}


def test_a_damaged_copy_beside_denials_is_corruption_and_not_loss():
    history = [acked(0), created(), closed(0), answered(0, 1, Holding.DAMAGED), lost(0, bookies=(2, 3))]
    assert kinds(durability(*history)) == [("corrupt", 0, 0)]


def test_a_damaged_copy_where_none_was_due_is_corruption_too():
    history = [acked(0), created(), closed(0), lost(0), answered(0, 5, Holding.DAMAGED)]
    assert kinds(durability(*history)) == [("corrupt", 0, 0)]


def test_a_good_copy_where_none_was_due_is_no_loss():
    judgement = durability(acked(0), created(), closed(0), lost(0), found(0, bookies=(5,)))
    assert not judgement.findings
    assert judgement.counts["unavailable"] == 1


def test_one_good_copy_anywhere_is_no_corruption():
    spoiled = [answered(0, bookie, Holding.DAMAGED) for bookie in (1, 2, 3)]
    judgement = durability(acked(0), created(), closed(0), spoiled, found(0, bookies=(5,)))
    assert not judgement.findings
    assert judgement.counts["unavailable"] == 1


def test_an_entry_in_no_fragment_has_nobody_to_deny_it():
    judgement = durability(acked(0), created(fragments={5: THREE}), closed(7, fragments={5: THREE}), lost(0))
    assert not judgement.findings


def test_nothing_promised_is_nothing_proven():
    assert durability(unsure(0), created(), closed(-1)).verdict is Verdict.UNKNOWN


def test_torn_evidence_is_never_valid_and_still_has_its_anomaly():
    assert durability(acked(0), good_ending(0), complete=False).verdict is Verdict.UNKNOWN
    assert durability(acked(0), created(), closed(-1), complete=False).verdict is Verdict.ANOMALY


def test_a_denial_proves_nothing_where_the_run_went_on_unrecorded():
    history = [acked(0), created(), closed(0), lost(0)]
    assert durability(*history).verdict is Verdict.ANOMALY
    assert durability(*history, complete=False).verdict is Verdict.UNKNOWN


def test_a_ledger_whose_metadata_is_gone_may_be_forgotten_by_its_bookies():
    history = [acked(0), created(), closed(0), lost(0), vanished()]
    judgement = durability(*history, damage=("operations: a delete may be missing",))
    assert judgement.verdict is Verdict.UNKNOWN
    assert judgement.counts["unavailable"] == 1


@pytest.mark.parametrize(("created_ns", "verdict"), [(5, Verdict.VALID), (6, Verdict.UNKNOWN)])
def test_a_ledger_with_the_id_of_a_deleted_one_is_not_taken_for_released(created_ns, verdict):
    other = [acked(0, ledger=2), good_ending(0, ledger=2)]
    reborn = operation(Kind.CREATE, invoked_ns=created_ns)
    judgement = durability(other, acked(0), deleted(invoked_ns=5), reborn, created(), closed(0), lost(0))
    assert judgement.verdict is verdict
    assert judgement.undecided == ((1,) if verdict is Verdict.UNKNOWN else ())


def test_damaged_metadata_proves_no_set_of_holders():
    damaged = {"damage": ("ledgers: the transaction log is cut",)}
    assert durability(acked(0), created(), closed(0), lost(0), **damaged).verdict is Verdict.UNKNOWN
    assert durability(acked(0), created(), closed(-1), **damaged).verdict is Verdict.ANOMALY


def test_a_damaged_census_denies_nothing_that_was_read():
    judgement = durability(READ_BACK, CLOSED, denied(1), damage=("census: torn",))
    assert judgement.verdict is Verdict.UNKNOWN
    assert (judgement.counts["kept"], judgement.counts["lost"]) == (2, 0)


def test_findings_are_capped_and_counts_are_exact():
    losses = [lost(entry) for entry in range(0, 500, 2)]
    keeps = [kept(entry) for entry in range(1, 500, 2)]
    judgement = durability([acked(entry) for entry in range(500)], created(), closed(499), losses, keeps)
    assert len(judgement.findings) == 100
    assert judgement.counts["lost"] == 250


def test_an_unreadable_ledger_is_named_with_its_error():
    history = [acked(0), created(latest_ns=NEVER), opened(0, outcome=Outcome.UNKNOWN, error=-23)]
    assert any("error -23" in note for note in durability(*history).notes)
