"""A close never cuts off what was promised, and a ledger has one end."""

import pytest

from evidence.codes import Flag, Kind, Outcome
from evidence.findings import Verdict
from tests.histories.story import (
    OBSERVER,
    acked,
    closed,
    created,
    deleted,
    good_ending,
    judged,
    judging,
    kinds,
    lac_read,
    opened,
    operation,
    recovered,
    recovering,
    unsure,
    vanished,
)

closing = judging("closing")


def written(ledger=1, handle=1):
    return operation(Kind.CREATE, ledger=ledger, handle=handle)


def close_reported(at, **columns):
    return operation(Kind.CLOSE, result=at, seq=70, **columns)


def test_a_close_at_the_last_acknowledged_entry_is_right():
    assert closing(acked(0), acked(1), good_ending(1)).verdict is Verdict.VALID


def test_a_recovered_end_may_lie_above_the_last_acknowledged_entry():
    assert closing(acked(0), unsure(1), good_ending(1)).verdict is Verdict.VALID


def test_a_close_below_acknowledged_entries_names_the_version_and_who_was_told():
    verdict = judged(acked(0), acked(1), acked(2), created(), recovering(), closed(0, 2))
    assert kinds(verdict, "closing") == [("closed_below", 1, 2)]
    proof = verdict.judgements["closing"].findings[0].proof
    assert proof[0] == "metadata version 2: CLOSED at 0"
    assert proof[1] == "the highest entry acknowledged is 2, to writer (operation 3)"


def test_a_close_below_a_told_lac_is_wrong():
    assert kinds(judged(unsure(0), lac_read(0), created(), closed(-1)), "closing") == [("closed_below", 0, 0)]


def test_the_answer_to_a_lac_read_is_a_promise_even_if_the_handle_did_not_keep_it():
    history = [lac_read(0, result=2), created(), closed(0)]
    assert kinds(judged(history), "closing") == [("closed_below", 1, 2)]
    assert kinds(judged(lac_read(2, result=0), created(), closed(2)), "closing") == []


def test_a_delete_excuses_only_a_close_that_came_later():
    early = [acked(0), created(), closed(-1, latest_ns=5)]
    assert closing(*early, deleted(invoked_ns=9)).findings
    assert not closing(*early, deleted(invoked_ns=5)).findings
    assert not closing(*early, deleted(invoked_ns=3)).findings
    assert not closing(acked(0), created(), closed(-1), deleted(invoked_ns=9)).findings
    assert closing(*early, deleted(invoked_ns=3, outcome=Outcome.FAIL)).findings


def test_whoever_was_told_of_the_close_knows_that_it_came_before_a_delete():
    """The metadata store's clock has whole milliseconds, in which a close and a delete may both fall."""
    history = [acked(0), created(), closed(-1, latest_ns=9), deleted(invoked_ns=9)]
    assert closing(*history, recovered(-1, completed_ns=8)).findings
    assert closing(*history, written(), close_reported(-1, completed_ns=8)).findings
    assert not closing(*history, recovered(-1, completed_ns=9)).findings
    assert not closing(*history, recovered(-1, completed_ns=8, outcome=Outcome.UNKNOWN)).findings
    assert not closing(*history, close_reported(-1, completed_ns=8, handle=5)).findings


def test_two_closed_versions_with_two_ends():
    verdict = judged(acked(0), created(), closed(0, 1), closed(1, 2))
    assert ("two_ends", 1, 1) in kinds(verdict, "closing")
    both = recovered(5, lac=-1), recovered(3, lac=-1, seq=42)
    [finding] = closing(created(), closed(0), closed(3, 2), *both).findings
    assert (finding.kind, finding.first_entry, finding.last_entry, finding.count) == ("two_ends", 1, 5, 1)
    assert finding.proof == (
        "metadata version 1: CLOSED at 0",
        "metadata version 2: CLOSED at 3",
        "reader recovered it and received its end 5 (operation 41)",
    )


def test_a_writer_whose_close_was_ok_elsewhere():
    history = [written(), acked(0), created(), closed(0)]
    assert not closing(*history, close_reported(0)).findings
    assert closing(*history, close_reported(1)).findings
    assert not closing(*history, close_reported(1, outcome=Outcome.UNKNOWN)).findings


def test_the_close_of_a_readers_handle_says_nothing_of_the_ledger():
    assert not closing(written(), acked(0), created(), closed(0), close_reported(-1, handle=5)).findings


def test_two_recoverers_must_agree():
    history = [acked(0), created(), closed(0), opened(0)]
    assert not closing(*history, recovered(0)).findings
    assert closing(*history, recovered(1)).findings


def test_an_open_without_recovery_that_found_the_ledger_closed_reports_its_end():
    """-1 reports nothing: an open of a ledger that is open returns it too."""
    history = [[acked(entry) for entry in range(10)], created(), closed(9), opened(9)]
    assert kinds(judged(history, recovered(5, flags=0)), "closing") == [("two_ends", 6, 9)]
    assert closing(history, recovered(5, flags=0)).findings[0].proof == (
        "reader opened it and received its end 5 (operation 41)",
        "metadata version 1: CLOSED at 9",
    )
    assert not closing(history, recovered(9, flags=0)).findings
    assert not closing(history, recovered(-1, flags=0, lac=9)).findings
    assert not closing(history, recovered(5, flags=0, outcome=Outcome.UNKNOWN)).findings


def test_a_promised_ledger_that_was_never_closed_proves_nothing():
    judgement = closing(acked(0), created())
    assert judgement.verdict is Verdict.UNKNOWN
    assert any("never seen CLOSED" in note for note in judgement.notes)


def test_a_deleted_ledger_need_not_be_closed():
    history = [acked(0), created(), created(ledger=2), closed(-1, ledger=2)]
    assert closing(*history, deleted()).verdict is Verdict.VALID
    assert closing(*history, vanished()).verdict is Verdict.UNKNOWN  # by no client


def test_flags_beside_recovery_do_not_matter():
    both = Flag.RECOVERY | Flag.FINAL
    assert closing(acked(0), created(), closed(0), recovered(3, flags=both)).findings


def test_a_close_is_written_before_its_client_hears_of_it():
    """CLOSED came into force later: another client wrote it."""
    history = [written(), acked(0), created(), closed(0, earliest_ns=7)]
    verdict = judged(*history, close_reported(0, completed_ns=6))
    assert kinds(verdict, "closing") == [("closed_unwritten", -1, -1)]
    assert verdict.judgements["closing"].findings[0].proof == (
        "writer got ok for its close at 0 by 0.000000006 s (operation 70)",
        "metadata version 1: CLOSED at 0, not in force before 0.000000007 s",
    )
    assert not closing(*history, close_reported(0, completed_ns=7)).findings
    assert not closing(*history, close_reported(0, completed_ns=6, outcome=Outcome.UNKNOWN)).findings
    assert not closing(*history, close_reported(0, completed_ns=6, handle=5)).findings


@pytest.mark.parametrize("deleted_later", [[], [vanished(3)]])
def test_the_first_of_several_closed_versions_counts(deleted_later):
    history = [created(), closed(0, earliest_ns=5), closed(0, 2, earliest_ns=9), *deleted_later]
    assert not closing(*history, recovered(0, completed_ns=5)).counts["closed_unwritten"]
    assert closing(*history, recovered(0, completed_ns=4)).counts["closed_unwritten"] == 1


def test_the_first_answer_that_named_an_end_counts():
    late = recovered(0, completed_ns=9, client=OBSERVER, seq=45)
    [finding] = closing(created(), closed(0, earliest_ns=7), recovered(0, completed_ns=6), late).findings
    assert finding.kind == "closed_unwritten"
    assert finding.proof[0].endswith("received its end 0 by 0.000000006 s (operation 41)")


def test_a_recovery_that_ended_ok_has_closed_its_ledger():
    assert closing(created(), recovering(), recovered(-1)).counts["closed_unwritten"] == 1
    assert not closing(created(), recovering(), recovered(-1, outcome=Outcome.UNKNOWN)).findings


def test_a_version_that_was_not_seen_may_have_been_closed():
    early = close_reported(0, completed_ns=3)
    assert not closing(written(), created(), closed(0, 2, earliest_ns=7), early).findings
    assert not closing(written(), early).findings
    assert not closing(written(), created(), early, damage=("ledgers: torn",)).findings


def test_each_ledger_has_its_own_close():
    good = [[created(ledger=one), closed(0, ledger=one), recovered(0, ledger=one)] for one in (1, 3)]
    late = [created(ledger=2), closed(0, ledger=2, earliest_ns=9), recovered(0, ledger=2)]
    [finding] = closing(*good, *late).findings
    assert (finding.kind, finding.ledger) == ("closed_unwritten", 2)


def test_of_several_closes_the_lowest_cuts_off_the_most():
    verdict = judged(acked(0), acked(1), acked(2), created(), closed(2), closed(0, 2))
    below = [finding for finding in verdict.judgements["closing"].findings if finding.kind == "closed_below"]
    assert [(one.first_entry, one.last_entry, one.proof[0]) for one in below] == [
        (1, 2, "metadata version 2: CLOSED at 0")
    ]


def test_what_is_promised_by_a_lac_and_beyond_it_is_counted_once():
    history = [acked(0), acked(1, lac=1), acked(2, lac=1), acked(3, lac=1), created(), closed(3)]
    assert closing(*history).seen == {"closed_ledgers": 1, "promised": 4}


def test_without_a_close_nothing_is_proven():
    assert closing(created()).verdict is Verdict.UNKNOWN
