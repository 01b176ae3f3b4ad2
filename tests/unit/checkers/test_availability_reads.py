"""What bookies showed before the final reads and after them could be read in between."""

import pytest

from evidence.codes import NEVER, Flag, Holding, Kind, Outcome
from evidence.findings import Verdict
from tests.histories.boots import boot
from tests.histories.story import (
    OBSERVER,
    answered,
    closed,
    created,
    deleted,
    judged,
    kept,
    kinds,
    opened,
    operation,
    vanished,
)
from tests.unit.checkers.test_availability import BOOKIES, TIMEOUT, UP, availability

NO_ENTRY, DATA_UNKNOWN = -13, -108


def denied(entry, at_ns=100, *, error=NO_ENTRY, **columns):
    """A final read of one entry that did not succeed."""
    times = {"invoked_ns": at_ns, "completed_ns": at_ns + 9}
    fields = {
        "outcome": Outcome.UNKNOWN,
        "error": error,
        "last": entry,
        "client": OBSERVER,
        "flags": Flag.FINAL,
    }
    return operation(Kind.READ, entry=entry, **{**times, **fields, **columns})


def shown(entry, bookie, number, *, holding=Holding.PRESENT):
    """A bookie's answer in census pass 1, from 50 to 0.000000060 s, or 2, from 150 to 0.000000160 s."""
    at_ns = {1: 50, 2: 150}[number]
    return answered(entry, bookie, holding, number=number, asked_ns=at_ns, answered_ns=at_ns + 10)


THERE = [created(), closed(1), opened(1), kept(0)]


def test_an_entry_that_a_bookie_served_before_and_after_can_be_read():
    verdict = judged(
        THERE, denied(1), [shown(1, 2, number) for number in (1, 2)], bookies=BOOKIES, servers=UP
    )
    assert kinds(verdict, "availability") == [("unreadable", 1, 1)]
    (finding,) = verdict.judgements["availability"].findings
    assert finding.text == "ledger 1: entry 1 denied to the final read, yet there on b2"
    assert finding.proof == (
        "final reads between 0.000000100 s and 0.000000109 s: each ended with an explicit negative, so every "
        "bookie asked gave one",
        "census pass 1 before them and 2 after them: b2 showed entry 1",
        "b2 lived from the one pass to the other and had that duty ever since the close",
    )
    assert "availability: 1 entry there and not readable" in verdict.headline


def both(entry, bookie=2):
    return [shown(entry, bookie, 1), shown(entry, bookie, 2)]


UNDECIDED = {
    "only later": [denied(1), shown(1, 2, 2)],
    "denied at first": [denied(1), shown(1, 2, 1, holding=Holding.ABSENT), shown(1, 2, 2)],
    "damaged at first": [denied(1), shown(1, 2, 1, holding=Holding.DAMAGED), shown(1, 2, 2)],
    "read before the first pass": [denied(1, at_ns=40), both(1)],
    "read as the first pass ended": [denied(1, at_ns=60), both(1)],
    "read during the last pass": [denied(1, at_ns=145), both(1)],
    "read until the last pass began": [denied(1, at_ns=141), both(1)],
    "a time-out": [denied(1, error=TIMEOUT), both(1)],
    "a bookie that does not know": [denied(1, error=DATA_UNKNOWN), both(1)],
    "no outcome": [denied(1, error=0, outcome=Outcome.PENDING, completed_ns=NEVER), both(1)],
}


@pytest.mark.parametrize("case", UNDECIDED)
def test_an_entry_that_may_have_come_later_or_was_not_denied_by_all(case):
    judgement = availability(THERE, UNDECIDED[case])
    assert not judgement.findings
    assert judgement.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("stopped", [51, 105, 159])
def test_a_restart_in_between_leaves_it_open(stopped):
    boots = (*boot(1), *boot(2, stopped=stopped), *boot(2, 2, began=stopped + 1), *boot(3))
    judgement = availability(THERE, denied(1), both(1), servers=boots)
    assert not judgement.findings and judgement.verdict is Verdict.UNKNOWN


def test_nobody_looks_for_an_entry_where_it_has_no_duty():
    striped = {"ensemble": 3, "write_quorum": 2, "ack_quorum": 2}
    history = [created(**striped), closed(1, **striped), opened(1), kept(0), denied(1)]
    assert availability(history, both(1, bookie=3)).findings
    judgement = availability(history, both(1, bookie=1))
    assert not judgement.findings and judgement.verdict is Verdict.VALID
    moved = [closed(1, 2, **striped, fragments={0: ("b1", "b2", "b9")})]
    assert not availability(history, moved, both(1, bookie=3)).findings
    before = [closed(1, 1, **striped, fragments={0: ("b1", "b2", "b9")}), closed(1, 2, **striped)]
    judgement = availability(created(**striped), before, opened(1), kept(0), denied(1), both(1, bookie=3))
    assert not judgement.findings


@pytest.mark.parametrize("more", [[kept(1)], [deleted()], [vanished()]])
def test_what_was_read_after_all_or_is_gone(more):
    assert not availability(THERE, denied(1), both(1), more).findings


def test_an_entry_of_a_ledger_that_was_removed_and_put_back_can_be_read():
    back = [vanished(zxid=100, put_back=True), closed(1, zxid=101, put_back=True)]
    assert [one.kind for one in availability(THERE, back, denied(1), both(1)).findings] == ["unreadable"]
    assert availability(THERE, back, denied(1, error=TIMEOUT)).verdict is Verdict.UNKNOWN
    assert availability(THERE, back[0], denied(1, error=TIMEOUT)).verdict is Verdict.VALID


def test_an_entry_that_nobody_has_is_no_matter_of_availability():
    lost_meanwhile = [shown(1, 2, 1), shown(1, 2, 2, holding=Holding.ABSENT)]
    assert availability(THERE, denied(1), lost_meanwhile).verdict is Verdict.VALID
    judgement = availability(THERE, denied(1), lost_meanwhile[1:])
    assert judgement.verdict is Verdict.VALID
    assert judgement.seen["denied"] == 1


def test_neighbours_are_one_finding():
    history = [created(), closed(9), opened(9), [denied(entry) for entry in range(2, 8)]]
    copies = [both(entry, bookie) for entry in range(2, 8) for bookie in (1, 3)]
    (finding,) = availability(history, copies).findings
    assert (finding.first_entry, finding.last_entry, finding.count) == (2, 7, 6)
    assert finding.text.endswith("entries 2..7 denied to the final read, yet there on b1, b3")


def test_neighbours_that_no_one_bookie_has_all_of_name_those_that_have_some():
    history = [created(), closed(9), opened(9), denied(2), denied(3), both(2, bookie=1), both(3, bookie=3)]
    (finding,) = availability(history).findings
    assert finding.text.endswith("entries 2..3 denied to the final read, yet there on b1, b3")
