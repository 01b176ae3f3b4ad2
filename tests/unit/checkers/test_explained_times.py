"""Which death, fault or close explains a loss where their times meet, or are not known exactly."""

import pytest

from checkers.judging.contract import Event
from evidence.codes import NEVER
from tests.histories.boots import fault, on_disk, took
from tests.histories.story import acked, closed, facts, found, kept, opened, recovering
from tests.unit.checkers.test_explained import (
    ACKS,
    BORN,
    EXPLAINED,
    KILLS,
    LIVES,
    LOSS,
    READ,
    UNDETERMINED,
    check,
    classes,
    denied,
    durability,
    dying,
    killed,
    wiped,
)


@pytest.mark.parametrize(
    "faults",
    [
        KILLS[:1],
        (KILLS[0], killed(2, 2, 700)),
        (KILLS[0], killed(2, 3, 900)),
        (KILLS[0], killed(2, 3, 700, injected_ns=NEVER)),
        (KILLS[0], fault(2, "cut", "writer-b3", planned_ns=698, injected_ns=720)),
        (KILLS[0], fault(2, "kill", "writer", planned_ns=698, injected_ns=720, confirmed_ns=721)),
        (*KILLS, fault(-1, "unplanned", "b3", confirmed_ns=700)),
    ],
)
def test_a_death_that_no_fault_of_ours_was_explains_nothing(faults):
    assert classes(faults=faults) == UNDETERMINED


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"planned_ns": 700}, EXPLAINED),
        ({"planned_ns": 701}, UNDETERMINED),
        ({"injected_ns": 699, "confirmed_ns": 700}, EXPLAINED),
        ({"injected_ns": 699, "confirmed_ns": 699}, UNDETERMINED),
        ({"injected_ns": 700, "confirmed_ns": NEVER}, EXPLAINED),
        ({"injected_ns": 699, "confirmed_ns": NEVER}, UNDETERMINED),
    ],
)
def test_a_fault_ended_whom_it_names_from_its_plan_to_its_confirmation(columns, expected):
    """b3 died at 700."""
    assert classes(faults=(KILLS[0], killed(2, 3, 700, **columns))) == expected


@pytest.mark.parametrize("columns", [{"planned_ns": 695}, {"injected_ns": 692, "confirmed_ns": 695}])
def test_a_fault_may_have_ended_a_boot_at_any_time_at_which_this_may_have_died(columns):
    faults = (KILLS[0], killed(2, 3, 700, **columns))
    assert classes(servers=dying(3, 690, 700), faults=faults) == EXPLAINED


def test_a_wipe_at_which_a_bookie_may_have_lived_on_may_have_taken_nothing():
    held, faults = on_disk(3, 1), (*KILLS, wiped(3, 694))
    assert classes(LOSS, ACKS, held, servers=dying(3, 690, 700), faults=faults) == UNDETERMINED


@pytest.mark.parametrize(("target", "at"), [("b2", 700), ("b3", 699), ("b3", 701)])
def test_an_unplanned_end_of_another_boot_is_not_this_one(target, at):
    assert classes(faults=(*KILLS, fault(-1, "unplanned", target, confirmed_ns=at))) == EXPLAINED


def test_an_acknowledgement_of_a_boot_whose_start_was_not_recorded_is_of_a_holder_that_is_not_known():
    assert classes(LOSS, ACKS, took(1, 2, 102, boot=9)) == UNDETERMINED


def test_what_a_close_did_not_cut_off_was_not_lost_by_it():
    ended = [acked(0), acked(1), BORN, closed(1, latest_ns=400), opened(1), kept(0), found(0), denied(1)]
    assert classes(ended, ACKS) == EXPLAINED


def test_what_a_close_cut_off_while_an_ack_quorum_had_it_was_not_taken_by_their_later_deaths():
    cut = [acked(0), acked(1), BORN, recovering(1), closed(0, 3, latest_ns=9_000), opened(0), kept(0)]
    # At 500 the first holder was perhaps dead, and one is fewer than AQ.
    for by_ns, expected in ((499, UNDETERMINED), (500, EXPLAINED), (699, EXPLAINED), (900, EXPLAINED)):
        assert classes(cut, closed(0, 2, latest_ns=by_ns), found(0), denied(1), ACKS) == expected


def test_a_holder_that_may_have_been_dead_at_the_close_is_not_counted():
    cut = [acked(0), acked(1), BORN, closed(0, latest_ns=490), opened(0), kept(0), found(0), denied(1)]
    assert classes(cut, ACKS) == UNDETERMINED
    assert classes(cut, ACKS, servers=dying(1, 480, 500)) == EXPLAINED


def test_the_check_of_one_ledger_is_looked_at_for_that_one_only(monkeypatch):
    asked, copied = [], "ledger_check_and_copy_end"

    def ledger_of(event):
        asked.append(event.name)
        return int(event.detail.get("ledgerId", -1))

    monkeypatch.setattr(Event, "ledger", property(ledger_of))

    def questions(number):
        asked.clear()
        ledgers = range(1, number + 1)
        history = [(table, {**row, "ledger": one}) for one in ledgers for table, row in facts(LOSS, ACKS)]
        checks = (check(2, 600, event=copied, ledgerId=one) for one in ledgers)
        judgement = durability(history, servers=(*LIVES, *READ, *checks))
        assert judgement.counts["lost_undetermined"] == number
        return asked.count(copied)

    assert questions(10) == 10 * questions(1)
