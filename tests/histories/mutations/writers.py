"""What a writer received, changed: outcomes, ids, LACs."""

from evidence.codes import NEVER, Kind, Outcome
from tests.histories.lawful import lawful
from tests.histories.mutations.edits import Row, acknowledgements, denied_by_all, lost_of, replaced
from tests.histories.mutations.registry import UNKNOWN, Sign, operator, span
from tests.histories.story import OBSERVER, lac_read, refused

LATER = 1_000_000  # after all that a lawful history tells


def acknowledged(case) -> list[Row]:
    return [row for row in case.operations(Kind.ADD) if row["outcome"] == Outcome.OK]


@operator("the close cut the entry off, or fewer than AQ bookies had acknowledged it", of=lawful)
def unknown_add_reported_ok(case, dice):
    """Illegal only if the close cut the entry off, or the writer cannot know it."""
    unknown = [r for r in case.operations(Kind.ADD) if r["outcome"] in (Outcome.UNKNOWN, Outcome.PENDING)]
    if not unknown:
        return case.history, set()
    row = dice.choice(unknown)
    ok = {"outcome": int(Outcome.OK), "result": row["entry"], "expected": row["entry"]}
    history = replaced(case.history, row, **ok)
    entry = row["entry"]
    cut_off = span("closing/closed_below", entry, entry) | lost_of(history, case.run, entry)
    too_few = len(acknowledgements(case.history, entry)) < 2
    early = span("lac/acked_too_soon", entry, entry) if too_few else set()
    return history, early | (cut_off if entry > case.end else set())


@operator("never", of=lawful)
def ok_add_reported_unknown(case, dice):
    """The outcome of an ok add never came; a run in which no add was acknowledged proves nothing."""
    row = dice.choice(acknowledged(case))
    never = {"outcome": int(Outcome.PENDING), "result": -1, "expected": -1, "lac": -1}
    return replaced(case.history, row, **never), {UNKNOWN} if case.acked == 1 else set()


@operator("two adds were acknowledged", of=lawful)
def acknowledgements_swapped(case, dice):
    adds = acknowledged(case)
    if len(adds) < 2:
        return case.history, set()
    one, two = adds[0], adds[-1]
    history = replaced(case.history, one, result=two["result"])
    return replaced(history, two, result=one["result"]), {
        Sign("order/added_out_of_order", one["entry"], two["entry"], 2)
    }


@operator("always", of=lawful)
def entry_id_acknowledged_twice(case, dice):
    row = acknowledged(case)[0]
    again = ("operations", {**row, "seq": 77})
    return [*case.history, again], span("order/acked_twice", row["entry"], row["entry"])


@operator("a LAC above 0 was received", of=lawful)
def lac_goes_back(case, dice):
    adds = [row for row in acknowledged(case) if row["lac"] > 0]
    if not adds:
        return case.history, set()
    row = dice.choice(adds)
    return replaced(case.history, row, lac=0, lac_before=1), span("lac/went_back", 0, 0)


@operator("always", of=lawful)
def acknowledged_add_removed(case, dice):
    """An acknowledged add is dropped: no bookie holds it, no client reads it."""
    row = dice.choice([row for row in acknowledged(case) if row["entry"] < case.promised])
    history = denied_by_all(case.history, row["entry"])
    return history, lost_of(history, case.run, row["entry"])


def unrecovered(case, received_ns=NEVER) -> bool:
    """Whether no recovery can have begun by then."""
    return all(row["earliest_ns"] > received_ns for row in case.rows("ledgers") if row["state"] == 2)


def promised_too_much(case, lac, received_ns=NEVER):
    """What a LAC beyond the end breaks; received before any recovery also if an id was never sent."""
    beyond = range(case.end + 1, lac + 1)
    broken = span("closing/closed_below", case.end + 1, lac) | lost_of(case.history, case.run, *beyond)
    unsent = span("lac/covers_unsent", case.tried, lac) if unrecovered(case, received_ns) else set()
    return broken | unsent


def unacked(case, lac):
    """What a LAC breaks that is received before any bookie has acknowledged anything."""
    return span("lac/covers_unacked", 0, min(lac, case.tried - 1))


@operator("always", of=lawful)
def lac_beyond_end(case, dice):
    """A LAC is forged: a reader received a LAC beyond the end before the close."""
    lac = case.end + dice.randint(1, 3)
    forged = lac_read(lac, seq=70, handle=70, invoked_ns=1, completed_ns=2)
    return [*case.history, forged], unacked(case, lac) | promised_too_much(case, lac, 2)


@operator("the close has a date", of=lawful)
def lac_forged_after_close(case, dice):
    """A LAC is forged: a client that asks after the close receives a LAC beyond the end."""
    dated = any(row["state"] == 3 and row["latest_ns"] < LATER for row in case.rows("ledgers"))
    forged = lac_read(
        case.end + 1, seq=70, handle=70, client=OBSERVER, invoked_ns=LATER, completed_ns=LATER + 1
    )
    lac = case.end + 1
    broken = promised_too_much(case, lac) | (span("lac/beyond_close", lac, lac) if dated else set())
    if lac < case.tried and len(acknowledgements(case.history, lac)) < 2 and unrecovered(case):
        broken = broken | span("lac/covers_unacked", lac, lac)
    return [*case.history, forged], broken


@operator("always", of=lawful)
def lac_covers_add_never_sent(case, dice):
    """A LAC is forged early: perhaps it covers an id of which the only add failed before it was sent."""
    entry = dice.choice([case.tried, case.tried + 1])
    covers = dice.random() < 0.5
    lac = entry if covers else 0
    forged = lac_read(lac, seq=70, handle=70, invoked_ns=1, completed_ns=2)
    history = [*case.history, refused(entry, seq=71, handle=71), forged]
    return history, unacked(case, lac) | (promised_too_much(case, lac, 2) if covers else set())
