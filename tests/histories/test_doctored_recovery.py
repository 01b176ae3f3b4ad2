"""Lawful histories, doctored on the wire: ``recovery`` and ``answers`` convict where that is illegal.

A doctoring says itself what must be found: nothing, when its precondition does not hold.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.answers import Answers
from checkers.judge import judge
from checkers.recovery import Recovery
from evidence.codes import NEVER, Direction, FrameFlag, Message, Outcome, Status
from tests.histories.lawful import lawful
from tests.histories.story import OBSERVER, READER, chunk, convicted, deleted
from tests.histories.strategies import steady

DOCTORINGS = {}
TOO_SOON, TOO_FEW = {"recovery/ended_too_soon"}, {"recovery/fenced_too_few"}
UNREAD, OWN_ACK = {"recovery/wrote_back_unread"}, {"answers/denied_own_ack"}


def doctoring(act):
    """Register ``act(case, draw) -> (history, kinds that must be found)``."""
    DOCTORINGS[act.__name__] = act
    return act


def is_answer(row, kind, *, entry=None, source=READER):
    same = row.get("way") == Direction.ANSWER and (row["kind"], row["source"]) == (kind, source)
    return same and (entry is None or row["entry"] == entry)


def edited(history, pick, **columns):
    """Every row of ``frames`` that ``pick`` accepts, changed."""
    return [(table, {**row, **columns} if table == "frames" and pick(row) else row) for table, row in history]


def recovered(case):
    return any(row["kind"] == Message.FENCING_LAC_READ for row in case.rows("frames"))


def nobody_elses(case):
    """Whether only a recoverer can have set the end: above what the writer was told, or nothing failed."""
    return recovered(case) and (case.end >= case.acked or case.tried == case.acked)


def kept_from_reader():
    return {"delivered": int(Status.NONE), "forwarded_ns": NEVER, "flags": int(FrameFlag.DROPPED)}


@doctoring
def all_denials_but_one_bookies_are_swallowed(case, draw):
    denials = [
        row for row in case.rows("frames") if is_answer(row, Message.RECOVERY_READ, entry=case.end + 1)
    ]
    if not denials:
        return case.history, set()
    left = draw(st.sampled_from(denials))["bookie"]
    history = edited(
        case.history,
        lambda row: is_answer(row, Message.RECOVERY_READ, entry=case.end + 1) and row["bookie"] != left,
        **kept_from_reader(),
    )
    return history, TOO_SOON if nobody_elses(case) else set()


@doctoring
def one_denial_too_many_is_swallowed(case, draw):
    """Of three denials any may go."""
    denials = [
        row for row in case.rows("frames") if is_answer(row, Message.RECOVERY_READ, entry=case.end + 1)
    ]
    if len(denials) < 3:
        return case.history, set()
    gone = draw(st.sampled_from(denials))
    return edited(case.history, lambda row: row["seq"] == gone["seq"], **kept_from_reader()), set()


@doctoring
def denials_become_errors(case, draw):
    status = int(draw(st.sampled_from([Status.EIO, Status.EUNKNOWNLEDGERSTATE, Status.ETOOMANYREQUESTS])))
    history = edited(
        case.history,
        lambda row: is_answer(row, Message.RECOVERY_READ, entry=case.end + 1),
        status=status,
        delivered=status,
    )
    return history, TOO_SOON if nobody_elses(case) else set()


@doctoring
def denials_are_forged(case, draw):
    """The bookies had answered otherwise; the recoverer cannot know."""
    history = edited(
        case.history,
        lambda row: is_answer(row, Message.RECOVERY_READ, entry=case.end + 1),
        status=int(draw(st.sampled_from([Status.EOK, Status.EIO, Status.NONE]))),
        flags=int(FrameFlag.FORGED),
    )
    return history, set()


@doctoring
def denials_come_after_the_close(case, draw):
    closes = [row for row in case.rows("ledgers") if row["state"] == 3]
    late = closes[0]["latest_ns"]
    history = edited(
        case.history,
        lambda row: is_answer(row, Message.RECOVERY_READ, entry=case.end + 1),
        forwarded_ns=NEVER - 1,
    )
    return history, TOO_SOON if nobody_elses(case) and late != NEVER else set()


@doctoring
def fencing_is_answered_by_one(case, draw):
    fenced = [row["bookie"] for row in case.rows("frames") if is_answer(row, Message.FENCING_LAC_READ)]
    if not fenced:
        return case.history, set()
    left = draw(st.sampled_from(fenced))
    history = edited(
        case.history,
        lambda row: is_answer(row, Message.FENCING_LAC_READ) and row["bookie"] != left,
        **kept_from_reader(),
    )
    return history, TOO_FEW if nobody_elses(case) else set()


@doctoring
def fencing_is_denied(case, draw):
    """A ledger without entries has none to give: the answer counts."""
    negative = int(draw(st.sampled_from([Status.ENOENTRY, Status.ENOLEDGER])))
    picked = edited(
        case.history,
        lambda row: is_answer(row, Message.FENCING_LAC_READ),
        status=negative,
        delivered=negative,
    )
    return picked, set()


@doctoring
def what_was_read_is_swallowed(case, draw):
    found = [
        row["entry"]
        for row in case.rows("frames")
        if is_answer(row, Message.RECOVERY_READ) and row["delivered"] == Status.EOK
    ]
    if not found:
        return case.history, set()
    entry = draw(st.sampled_from(found))
    history = edited(
        case.history,
        lambda row: (
            is_answer(row, Message.RECOVERY_READ, entry=entry)
            or is_answer(row, Message.READ, entry=entry)  # the reader may have read it before
        ),
        **kept_from_reader(),
    )
    return history, UNREAD


def reads_of_ones_own(case):
    """Answers EOK to reads, by boots that had acknowledged the entry."""
    acks = {
        (row["bookie"], row["boot"], row["entry"])
        for row in case.rows("frames")
        if row["way"] == Direction.ANSWER
        and row["kind"] in (Message.ADD, Message.RECOVERY_ADD)
        and row["status"] == Status.EOK
    }
    return [
        row
        for row in case.rows("frames")
        if row["way"] == Direction.ANSWER
        and row["kind"] == Message.READ
        and row["status"] == Status.EOK
        and (row["bookie"], row["boot"], row["entry"]) in acks
    ]


def forgotten(case, bookie):
    """Whether a closed version names the bookie no more: then it may have dropped the ledger."""
    closes = [row for row in case.rows("ledgers") if row["state"] == 3]
    named = [{name for part in row["fragments"] for name in part["bookies"]} for row in closes]
    return any(f"b{bookie}:3181" not in names for names in named)


def denied(case, draw, **columns):
    """One of these answers becomes a denial; whether it is a wrong one."""
    own = [row for row in reads_of_ones_own(case) if not forgotten(case, row["bookie"])]
    if not own:
        return case.history, False
    row = draw(st.sampled_from(own))
    negative = int(draw(st.sampled_from([Status.ENOENTRY, Status.ENOLEDGER])))
    said = {"status": negative, "delivered": negative, **columns}
    return edited(case.history, lambda other: other["seq"] == row["seq"], **said), True


@doctoring
def a_bookie_denies_what_it_took(case, draw):
    history, done = denied(case, draw)
    return history, OWN_ACK if done else set()


@doctoring
def a_bookie_that_is_named_no_more_denies_what_it_took(case, draw):
    own = [row for row in reads_of_ones_own(case) if forgotten(case, row["bookie"])]
    gone = {row["seq"] for row in own if row["source"] == OBSERVER}  # it reads after the close
    return edited(case.history, lambda row: row["seq"] in gone, status=int(Status.ENOLEDGER)), set()


@doctoring
def a_denial_is_forged(case, draw):
    return denied(case, draw, status=int(Status.EOK), flags=int(FrameFlag.FORGED))[0], set()


@doctoring
def a_denial_is_given_by_another_boot(case, draw):
    return denied(case, draw, boot=7)[0], set()


@doctoring
def a_denial_was_asked_for_before_the_bookie_took_the_entry(case, draw):
    return denied(case, draw, asked_ns=1)[0], set()


@doctoring
def a_denial_follows_a_delete(case, draw):
    outcome = draw(st.sampled_from(list(Outcome)))
    history, done = denied(case, draw)
    failed = outcome is Outcome.FAIL
    return [*history, deleted(outcome=outcome, invoked_ns=1)], OWN_ACK if done and failed else set()


@pytest.mark.parametrize("name", sorted(DOCTORINGS))
@steady(40)
@given(data=st.data())
def test_a_doctoring_convicts_exactly_when_it_is_illegal(name, data):
    case = data.draw(lawful())
    history, expected = DOCTORINGS[name](case, data.draw)
    verdict = judge([chunk(history)], case.run, checkers=(Recovery(), Answers()))
    assert convicted(verdict) == expected


@pytest.mark.parametrize("kind", [TOO_SOON, TOO_FEW, UNREAD, OWN_ACK])
def test_every_kind_is_reached(kind):
    """A doctoring whose precondition never held would prove nothing."""
    reached = []

    @steady(60)
    @given(data=st.data())
    def look(data):
        case = data.draw(lawful())
        for act in DOCTORINGS.values():
            reached.append(act(case, data.draw)[1] == kind)

    look()
    assert sum(reached) > 5
