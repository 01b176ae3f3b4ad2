"""Lawful histories doctored against fencing and availability: convicted where, and only where, illegal."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from checkers.judge import judge
from evidence.codes import NEVER, Direction, Flag, FrameFlag, Kind, Message, Outcome, Status
from evidence.findings import Verdict
from tests.histories.lawful import Lawful, lawful
from tests.histories.lives import fenced, said, took
from tests.histories.story import acked, chunk, convicted, operation, unsure
from tests.histories.strategies import steady

OURS = ("fencing", "availability")
LATER = 1_000_000  # after all that a lawful history tells
MUTATIONS = {}


def mutation(act):
    """Register ``act(lawful, draw) -> (history, kinds of ours that must be found)``."""
    MUTATIONS[act.__name__] = act
    return act


def answers(case, *kinds):
    """The answers on the wire that prove what one boot said."""
    return [row for row in case.rows("frames") if row["way"] == Direction.ANSWER and row["kind"] in kinds]


def late_add(entry, **columns):
    return acked(entry, invoked_ns=LATER, completed_ns=LATER + 9, seq=77, **columns)


@mutation
def an_add_is_acknowledged_after_everything(case: Lawful, draw):
    """The observer's recovery has dated the close; within the end an id is no matter of fencing."""
    entry = draw(st.integers(0, case.tried + 3))
    return [*case.history, late_add(entry)], {"fencing/added_after_close"} if entry > case.end else set()


@mutation
def an_add_after_everything_has_no_outcome(case: Lawful, draw):
    outcome = draw(st.sampled_from([Outcome.UNKNOWN, Outcome.PENDING, Outcome.FAIL]))
    return [*case.history, unsure(case.end + 1, invoked_ns=LATER, outcome=outcome)], set()


@mutation
def an_add_is_acknowledged_and_no_close_has_a_date(case: Lawful, draw):
    """Illegal all the same, but nobody can say that the close came first."""
    undated = []
    for table, row in case.history:
        new = dict(row)
        if table == "ledgers":
            new["latest_ns"] = NEVER
        if table == "operations" and row["kind"] == Kind.OPEN:
            new["outcome"] = int(Outcome.UNKNOWN)
        undated.append((table, new))
    return [*undated, late_add(case.end + 1)], set()


@mutation
def a_fenced_boot_takes_another_add(case: Lawful, draw):
    """Who fenced it, and by which read, plays no part; recovery's adds are taken by right."""
    fences = [
        row for row in answers(case, Message.FENCING_LAC_READ, Message.RECOVERY_READ) if row["status"] == 0
    ]
    if not fences:
        return case.history, set()
    fence = draw(st.sampled_from(fences))
    kind = draw(st.sampled_from([Message.ADD, Message.RECOVERY_ADD]))
    after = draw(st.sampled_from([0, 1, 50]))
    at_ns = fence["received_ns"] + after
    add = said(kind, fence["bookie"], at_ns, entry=case.end, boot=fence["boot"])
    illegal = after > 0 and kind == Message.ADD
    return [*case.history, add], {"fencing/accepted_when_fenced"} if illegal else set()


@mutation
def a_fenced_boot_takes_an_add_that_proves_nothing(case: Lawful, draw):
    fences = [row for row in answers(case, Message.FENCING_LAC_READ) if row["status"] == 0]
    if not fences:
        return case.history, set()
    fence = draw(st.sampled_from(fences))
    flag = (FrameFlag.FORGED, FrameFlag.AMBIGUOUS, FrameFlag.UNCORRELATED, FrameFlag.UNPARSED)
    doubts = [
        *({"flags": one} for one in flag),
        {"boot": 0},
        {"boot": fence["boot"] + 1},
        {"asked_ns": NEVER},
    ]
    doubt = {"boot": fence["boot"], **draw(st.sampled_from(doubts))}
    return [*case.history, took(case.end, fence["bookie"], LATER, **doubt)], set()


@mutation
def an_earlier_add_was_taken_by_a_boot_that_is_fenced_now(case: Lawful, draw):
    """A fence says nothing of what came before it, whatever it answered; a denial convicts nobody."""
    adds = [row for row in answers(case, Message.ADD) if row["status"] == 0]
    add = draw(st.sampled_from(adds))
    status = draw(
        st.sampled_from([Status.EOK, Status.ENOENTRY, Status.ENOLEDGER, Status.EUNKNOWNLEDGERSTATE])
    )
    after = draw(st.sampled_from([-1, 0, 9]))
    received_ns = add["asked_ns"] + after
    fence = fenced(add["bookie"], received_ns - 1, boot=add["boot"], status=status)
    same = [row for row in adds if (row["bookie"], row["boot"]) == (add["bookie"], add["boot"])]
    illegal = status is Status.EOK and any(row["asked_ns"] > received_ns for row in same)
    return [*case.history, fence], {"fencing/accepted_when_fenced"} if illegal else set()


@mutation
def the_last_recovery_is_refused(case: Lawful, draw):
    """The ledger is CLOSED, which takes no recovery: nobody can say what was promised."""
    refused = {"outcome": int(Outcome.UNKNOWN), "error": -10}
    last = [row for row in case.operations(Kind.OPEN) if row["flags"] & Flag.FINAL]
    return [(table, {**row, **refused} if row in last else row) for table, row in case.history], set()


@mutation
def a_recovery_that_never_ended_is_refused(case: Lawful, draw):
    """One bookie may have been killed; that is fewer than the two of AQ."""
    refused = {"outcome": int(Outcome.UNKNOWN), "error": -10, "invoked_ns": LATER, "completed_ns": LATER + 1}
    open_still = [("ledgers", row) for row in case.rows("ledgers") if row["state"] != 3]
    history = [*(fact for fact in case.history if fact[0] not in ("ledgers", "census")), *open_still]
    history = [fact for fact in history if fact[0] != "operations" or not fact[1]["flags"] & Flag.FINAL]
    opens = operation(Kind.OPEN, client=250, flags=Flag.FINAL | Flag.RECOVERY, seq=1, **refused)
    return [*history, opens], {"availability/stuck"}


def pytest_generate_tests(metafunc):
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", sorted(MUTATIONS))


@steady(40)
@given(data=st.data())
def test_a_mutation_convicts_exactly_when_it_is_illegal(name, data):
    case = data.draw(lawful())
    history, expected = MUTATIONS[name](case, data.draw)
    found = convicted(judge([chunk(history)], run_of(case)))
    assert {one for one in found if one.split("/")[0] in OURS} == expected


@steady(60)
@given(lawful())
def test_lawful_histories_are_fenced_and_available(case):
    judgements = judge([chunk(case.history)], run_of(case)).judgements
    assert {name: judgements[name].verdict for name in OURS} == dict.fromkeys(OURS, Verdict.VALID)


def run_of(case):
    """The run of a lawful history, of its five bookies."""
    return replace(case.run, bookies={f"b{number}": number for number in range(1, 6)})
