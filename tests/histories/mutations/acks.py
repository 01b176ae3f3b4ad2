"""Acknowledgements on the wire: taken away, late, swallowed or forged, of an add that was acknowledged."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from evidence.codes import NEVER, FrameFlag, Kind, Message, Outcome, Status
from tests.histories.boots import took
from tests.histories.lawful import Lawful, lawful
from tests.histories.mutations.boots import Boots
from tests.histories.mutations.edits import Row, acknowledgements, is_answer, replaced, spans, without
from tests.histories.mutations.registry import Sign, operator, span
from tests.histories.rows import write_set
from tests.histories.story import WRITER, Fact, acked, created, lac_read, metadata, run_facts
from tests.histories.twins_acks import acked_by_replaced, covers_unacked

OURS = ("lac",)
ACK_QUORUM = 2  # of every lawful history


def an_add(case: Lawful, dice: Random) -> tuple[Row, list[Row]]:
    """An acknowledged add, and the answers EOK that its writer had received by then."""
    add = dice.choice([row for row in case.operations(Kind.ADD) if row["outcome"] == Outcome.OK])
    answers = acknowledgements(case.history, add["entry"])
    assert all(row["forwarded_ns"] <= add["completed_ns"] for row in answers)
    return add, answers


def dropped(history: list[Fact], rows: list[Row]) -> list[Fact]:
    return without(history, lambda _, row: any(row is one for one in rows))


def edited(history: list[Fact], rows: list[Row], **columns: Any) -> list[Fact]:
    for row in rows:
        history = replaced(history, row, **columns)
    return history


def some(answers: list[Row], dice: Random) -> tuple[list[Row], bool]:
    """Some of the answers, and whether the others are fewer than AQ."""
    chosen = dice.sample(answers, dice.randint(1, len(answers)))
    return chosen, len(answers) - len(chosen) < ACK_QUORUM


def too_soon(case: Lawful, history: list[Fact], add: Row) -> set[Sign]:
    """The add was acknowledged too soon; and by the naive twin, a LAC that covers it came too soon."""
    covered = {entry for _, entry in covers_unacked(history, case.run)}
    return span("lac/acked_too_soon", add["entry"], add["entry"]) | spans("lac/covers_unacked", covered)


@operator("fewer than AQ bookies are left", of=lawful, only=OURS)
def acks_removed(case, dice):
    """Some bookies' acknowledgements of an acknowledged add were never on the wire."""
    add, answers = an_add(case, dice)
    chosen, few = some(answers, dice)
    history = dropped(case.history, chosen)
    return history, too_soon(case, history, add) if few else set()


@operator("fewer than AQ bookies are left, and it was late", of=lawful, only=OURS)
def acks_delayed(case, dice):
    """Some bookies' acknowledgements were passed on at the end of the add, or after it."""
    add, answers = an_add(case, dice)
    chosen, few = some(answers, dice)
    late = dice.choice([0, 0, 1, 1, 100])
    times = {"forwarded_ns": add["completed_ns"] + late}
    history = edited(case.history, chosen, **times)
    return history, too_soon(case, history, add) if few and late else set()


@operator("fewer than AQ bookies are left", of=lawful, only=OURS)
def acks_dropped_by_a_rule(case, dice):
    """A fault rule dropped some bookies' acknowledgements, or made refusals of them."""
    add, answers = an_add(case, dice)
    chosen, few = some(answers, dice)
    swallowed = {"delivered": Status.NONE, "forwarded_ns": NEVER, "flags": int(FrameFlag.DROPPED), "rule": 1}
    refused = {"delivered": Status.EFENCED, "flags": int(FrameFlag.FORGED), "rule": 1}
    history = edited(case.history, chosen, **dice.choice([swallowed, refused]))
    return history, too_soon(case, history, add) if few else set()


@operator("never", of=lawful, only=OURS)
def acks_forged(case, dice):
    """A fault rule sent EOK to the writer, whatever bookies had said; or what they said is unknown."""
    _, answers = an_add(case, dice)
    forged = {"flags": int(FrameFlag.FORGED), "rule": 1, "status": dice.choice([Status.NONE, Status.EFENCED])}
    unknown = {"status": 100_042, "delivered": 100_042}
    flag = (FrameFlag.AMBIGUOUS, FrameFlag.UNCORRELATED, FrameFlag.GARBLED, FrameFlag.DUPLICATED)
    odd = {"flags": int(dice.choice(flag)), "boot": 0, "asked_ns": NEVER}
    again = {"kind": int(Message.RECOVERY_ADD)}
    return edited(case.history, answers, **dice.choice([forged, unknown, odd, again])), set()


@operator("fewer than AQ bookies are left, or one is outside the write set", of=lawful, only=OURS)
def acks_from_other_bookies(case, dice):
    """Bookies are counted, not frames; and no bookie that the metadata does not name may acknowledge."""
    add, answers = an_add(case, dice)
    bookies = dice.sample(range(1, 10), len(answers))
    if dice.random() < 0.5:
        bookies = [bookies[0]] * len(answers)
    history = case.history
    for row, bookie in zip(answers, bookies, strict=True):
        history = replaced(history, row, bookie=bookie)
    few = too_soon(case, history, add) if len(set(bookies)) < ACK_QUORUM else set()
    versions, entry = case.rows("ledgers"), add["entry"]
    given = {case.run.bookies.get(name) for version in versions for name in write_set(version, entry)}
    outside = Counter(bookie for bookie in bookies if bookie not in given)
    where = {"first": entry, "last": entry, "ledger": add["ledger"]}
    strays = (Sign("lac/acked_outside", count=number, **where) for number in outside.values())
    return history, [*few, *strays, *by_replaced(case, history)]


def by_replaced(case: Lawful, history: list[Fact]) -> set[Sign]:
    """By the naive twin, what was acknowledged by bookies that no version then in force gave it to."""
    return spans("lac/acked_by_replaced", {entry for _, entry, _ in acked_by_replaced(history, case.run)})


AFTER_CHANGE_NS = 41
REPLACED = [created(), metadata(1, 1, fragments={0: ("b1", "b4", "b3")}, earliest_ns=30, latest_ns=40)]


def one_replaced(dice: Random) -> Boots:  # by contract
    add = acked(0, invoked_ns=AFTER_CHANGE_NS, completed_ns=AFTER_CHANGE_NS + 8)
    return Boots([*REPLACED, took(0, 1, 10), took(0, 4, 20), add], run_facts(wire=True))


@operator("the bookie had been replaced", of=one_replaced, only=OURS)
def ack_from_a_bookie_that_went(case, dice):
    """A bookie acknowledged an add that is long under way or new, and another one was in its place."""
    gone, late = dice.random() < 0.6, dice.random() < 0.5
    at_ns = AFTER_CHANGE_NS + (10 * 10**9 if late else 0)
    add = acked(0, invoked_ns=at_ns, completed_ns=at_ns + 8)
    history = [*REPLACED, took(0, 1, 10), took(0, 2 if gone else 4, 20), add]
    return history, span(f"lac/acked_by_{'former' if late else 'replaced'}", 0, 0) if gone else set()


@operator("fewer than AQ of them are in a write set that may have been in force then", of=lawful, only=OURS)
def acks_from_the_first_ensemble(case, dice):
    """Only bookies of the ledger's first ensemble acknowledged an add, whatever was written since."""
    add, answers = an_add(case, dice)
    [first] = [row for row in case.rows("ledgers") if row["version"] == 0]
    bookies = sorted(case.run.bookies[name] for name in write_set(first, add["entry"]))
    history = case.history
    for row, bookie in zip(answers, dice.sample(bookies, len(answers)), strict=True):
        history = replaced(history, row, bookie=bookie)
    return history, by_replaced(case, history)


@operator("fewer than AQ bookies had answered by then", of=lawful, only=OURS)
def add_acknowledged_earlier(case, dice):
    """The add ends with ok earlier than it did."""
    add, answers = an_add(case, dice)
    at_ns = dice.randint(add["invoked_ns"], add["completed_ns"])
    history = replaced(case.history, add, completed_ns=at_ns)
    by_then = sum(row["forwarded_ns"] <= at_ns for row in answers)
    early = span("lac/acked_too_soon", add["entry"], add["entry"])
    return history, early if by_then < ACK_QUORUM else set()


@operator("never", of=lawful, only=OURS)
def add_acknowledged_earlier_without_wire_log(case, dice):
    """Its links were not logged, so nothing follows from what the log lacks."""
    mine = [row for row in case.rows("frames") if row["source"] == WRITER]
    return dropped(case.history, mine), set()


@operator("an entry that it covers had fewer than AQ acknowledgements by then", of=lawful, only=OURS)
def reader_receives_lac_at_any_time(case, dice):
    """A reader receives the LAC of an acknowledged add, at any time before or after."""
    frames = case.rows("frames")
    lac, at_ns = dice.randint(0, case.acked - 1), dice.randint(1, max(row["received_ns"] for row in frames))
    history = [*case.history, lac_read(lac, seq=70, handle=70, invoked_ns=at_ns, completed_ns=at_ns)]
    recovered = any(row["state"] == 2 and row["earliest_ns"] <= at_ns for row in case.rows("ledgers"))
    by_then = [
        sum(row["forwarded_ns"] <= at_ns for row in acknowledgements(case.history, entry))
        for entry in range(lac + 1)
    ]
    early = [entry for entry, number in enumerate(by_then) if number < ACK_QUORUM]
    return history, set() if recovered else spans("lac/covers_unacked", early)


@operator("fewer than AQ bookies confirmed it", of=lawful, only=OURS)
def force_acks_removed(case, dice):
    """Some bookies' confirmations of a force that ended ok were never on the wire."""
    given = [row for row in case.rows("frames") if is_answer(row, Message.FORCE, source=WRITER)]
    if not given:
        return case.history, set()
    [entry] = [row["entry"] for row in case.operations(Kind.FORCE)]
    chosen = dice.sample(given, dice.randint(1, len(given)))
    few = len(given) - len(chosen) < ACK_QUORUM
    return dropped(case.history, chosen), span("lac/forced_too_soon", entry, entry) if few else set()
