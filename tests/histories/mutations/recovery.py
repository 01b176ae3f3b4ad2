"""Recovery's answers and denials, doctored on the wire."""

from dataclasses import replace
from functools import partial
from itertools import chain

from evidence.codes import NEVER, Direction, Flag, FrameFlag, Kind, Message, Outcome, Status
from protocol.faults import Loses
from tests.histories.asking import add, exchange
from tests.histories.boots import boot
from tests.histories.lawful import lawful
from tests.histories.mutations.edits import edited, is_answer, without
from tests.histories.mutations.registry import Sign, operator, span
from tests.histories.story import OBSERVER, WRITER, deleted
from tests.histories.twins_recovery import answered_at_once

TOO_FEW = {Sign("recovery/fenced_too_few")}


def too_soon(case):
    return span("recovery/ended_too_soon", case.end + 1, case.end + 1)


def recovered(case):
    return any(row["kind"] == Message.FENCING_LAC_READ for row in case.rows("frames"))


def nobody_elses(case):
    """Whether only a recoverer can have set the end: above the acknowledged entries, or nothing failed."""
    everywhere = answered_at_once(case.history, 1, WRITER) >= 3 * case.acked
    return recovered(case) and (case.end >= case.acked or (case.tried == case.acked and everywhere))


def lac_of_fencing(case):
    """The highest LAC that an answer to fencing brought, -1 for none."""
    return max((row["lac"] for row in answers(case, Message.FENCING_LAC_READ)), default=-1)


KEPT_FROM_READER = {"delivered": int(Status.NONE), "forwarded_ns": NEVER, "flags": int(FrameFlag.DROPPED)}
of_recovery = partial(operator, of=lawful, only=("recovery", "answers"))
ONLY_A_RECOVERER = "only a recoverer can have set the end"


def by_recoverer(case, signs):
    """What must be found where only a recoverer can have set the end."""
    return signs if nobody_elses(case) else set()


def negative(dice):
    status = int(dice.choice([Status.ENOENTRY, Status.ENOLEDGER]))
    return {"status": status, "delivered": status}


def answers(case, kind, **of):
    """The answers to a client's reads or adds of one kind."""
    return [row for row in case.rows("frames") if is_answer(row, kind, **of)]


def edited_answers(case, kind, *, entry=None, but=(), **columns):
    """The history with these answers changed, those of the bookies ``but`` left as they are."""
    return edited(
        case.history, lambda row: is_answer(row, kind, entry=entry) and row["bookie"] not in but, **columns
    )


def edited_denials(case, **columns):
    """The same of the answers about the entry after the end."""
    return edited_answers(case, Message.RECOVERY_READ, entry=case.end + 1, **columns)


def found_by_recovery(case):
    """The entries that recovery reads returned."""
    found = answers(case, Message.RECOVERY_READ)
    return [row["entry"] for row in found if row["delivered"] == Status.EOK]


@of_recovery(ONLY_A_RECOVERER)
def denials_left_of_one_bookie(case, dice):
    denials = answers(case, Message.RECOVERY_READ, entry=case.end + 1)
    if not denials:
        return case.history, set()
    left = dice.choice(denials)["bookie"]
    return edited_denials(case, but=(left,), **KEPT_FROM_READER), by_recoverer(case, too_soon(case))


@of_recovery("never")
def surplus_denial_dropped(case, dice):
    """Of three denials any may go."""
    denials = answers(case, Message.RECOVERY_READ, entry=case.end + 1)
    if len(denials) < 3:
        return case.history, set()
    gone = dice.choice(denials)
    return edited(case.history, lambda row: row["seq"] == gone["seq"], **KEPT_FROM_READER), set()


@of_recovery(ONLY_A_RECOVERER)
def denials_become_errors(case, dice):
    status = int(dice.choice([Status.EIO, Status.EUNKNOWNLEDGERSTATE, Status.ETOOMANYREQUESTS]))
    return edited_denials(case, status=status, delivered=status), by_recoverer(case, too_soon(case))


@of_recovery("never")
def denials_forged(case, dice):
    """The bookies had answered otherwise; the recoverer cannot know."""
    status = int(dice.choice([Status.EOK, Status.EIO, Status.NONE]))
    return edited_denials(case, status=status, flags=int(FrameFlag.FORGED)), set()


@of_recovery("the close has a date, only a recoverer can have set it")
def denials_after_close(case, dice):
    closes = [row for row in case.rows("ledgers") if row["state"] == 3]
    dated = closes[0]["latest_ns"] != NEVER
    history = edited_denials(case, forwarded_ns=NEVER - 1)
    return history, by_recoverer(case, too_soon(case)) if dated else set()


@of_recovery(ONLY_A_RECOVERER)
def fence_answered_by_one(case, dice):
    fenced = [row["bookie"] for row in answers(case, Message.FENCING_LAC_READ)]
    if not fenced:
        return case.history, set()
    left = dice.choice(fenced)
    history = edited_answers(case, Message.FENCING_LAC_READ, but=(left,), **KEPT_FROM_READER)
    return history, by_recoverer(case, TOO_FEW)


@of_recovery(ONLY_A_RECOVERER)
def fence_answered_by_one_before_the_first_read(case, dice):
    """The others answer while the recoverer reads; it asks for the entry after the end later than that."""
    fenced = [row["bookie"] for row in answers(case, Message.FENCING_LAC_READ)]
    reads = [row for row in case.rows("frames") if row["kind"] == Message.RECOVERY_READ]
    if not fenced or not reads:
        return case.history, set()
    left = dice.choice(fenced)
    since_ns = min(row["received_ns"] for row in reads) + 1
    history = edited_answers(case, Message.FENCING_LAC_READ, but=(left,), forwarded_ns=since_ns)
    return history, by_recoverer(case, TOO_FEW)


@of_recovery("never")
def fence_read_denied(case, dice):
    """A ledger without entries cannot give any: the answer counts."""
    return edited_answers(case, Message.FENCING_LAC_READ, **negative(dice)), set()


@of_recovery("recovery wrote an entry back")
def recovery_read_dropped(case, dice):
    found = found_by_recovery(case)
    if not found:
        return case.history, set()
    entry = dice.choice(found)
    history = edited(
        case.history,
        lambda row: (
            is_answer(row, Message.RECOVERY_READ, entry=entry)
            or is_answer(row, Message.READ, entry=entry)  # the reader may have read it before
        ),
        **KEPT_FROM_READER,
    )
    unread = span("recovery/wrote_back_unread", entry, entry)
    skipped = span("recovery/not_read", entry, entry)
    counts = lac_of_fencing(case) >= 0 and entry <= case.end and nobody_elses(case)
    return history, unread | skipped if counts else unread


@of_recovery(ONLY_A_RECOVERER)
def recovery_add_acks_removed(case, dice):
    closes = [row for row in case.rows("ledgers") if row["state"] == 3]
    given = [entry for entry in found_by_recovery(case) if entry <= case.end]
    if not given:
        return case.history, set()
    entry, left = dice.choice(given), closes[0]["ack_quorum"] - 1
    acks = answers(case, Message.RECOVERY_ADD, entry=entry)
    kept = set(sorted({row["bookie"] for row in acks})[:left])
    history = edited_answers(case, Message.RECOVERY_ADD, entry=entry, but=kept, **KEPT_FROM_READER)
    return history, by_recoverer(case, span("recovery/not_written_back", entry, entry))


@of_recovery(ONLY_A_RECOVERER)
def recovery_begins_late(case, dice):
    """As if the LAC had been one entry higher: that entry is neither read nor written back."""
    lac = lac_of_fencing(case)
    first = min(found_by_recovery(case), default=-1)
    if lac < 0 or first != lac + 1 or first > case.end:
        return case.history, set()
    kinds = (Message.RECOVERY_READ, Message.RECOVERY_ADD)
    history = without(
        case.history,
        lambda table, row: table == "frames" and row["kind"] in kinds and row["entry"] == first,
    )
    return history, by_recoverer(case, span("recovery/not_read", first, first))


def reads_of_ones_own(case):
    """Answers EOK to reads, by boots that had acknowledged the entry."""
    given = [row for row in case.rows("frames") if row["way"] == Direction.ANSWER]
    given = [row for row in given if row["status"] == Status.EOK]
    adds = [row for row in given if row["kind"] in (Message.ADD, Message.RECOVERY_ADD)]
    acks = {(row["bookie"], row["boot"], row["entry"]) for row in adds}
    reads = [row for row in given if row["kind"] == Message.READ]
    return [row for row in reads if (row["bookie"], row["boot"], row["entry"]) in acks]


def forgotten(case, bookie):
    """Whether a closed version names the bookie no more: then it may have dropped the ledger."""
    closes = [row for row in case.rows("ledgers") if row["state"] == 3]
    named = [{name for part in row["fragments"] for name in part["bookies"]} for row in closes]
    return any(f"b{bookie}:3181" not in names for names in named)


def denied(case, dice, **columns):
    """One of these answers becomes a denial; and what that breaks."""
    own = [row for row in reads_of_ones_own(case) if not forgotten(case, row["bookie"])]
    if not own:
        return case.history, set()
    row = dice.choice(own)
    history = edited(case.history, lambda other: other["seq"] == row["seq"], **{**negative(dice), **columns})
    return history, span("answers/denied_own_ack", row["entry"], row["entry"])


@of_recovery("the same boot had taken it")
def bookie_denies_acked_entry(case, dice):
    return denied(case, dice)


def boots_until_the_ninth(**end):
    """Boots of all bookies that ended like this, before the ninth boot."""
    ended = [boot(bookie, number, **end) for bookie in range(1, 10) for number in range(1, 5)]
    return tuple(chain(*ended, *(boot(bookie, 9) for bookie in range(1, 10))))


@operator("all boots before were shut down cleanly", of=lawful, only=("answers",))
def later_boot_denies_acked_entry(case, dice):
    """A boot after shutdowns, or after crashes, denies an entry that an earlier one had taken."""
    history, broken = denied(case, dice, boot=9)
    end = "stopped" if dice.random() < 0.7 else "killed"
    signs = {sign._replace(name="answers/denied_flushed") for sign in broken if end == "stopped"}
    return history, signs, replace(case.run, servers=boots_until_the_ninth(**{end: 1}))


def synced(case, entry, bookies):
    """Whether these bookies confirmed a force that was passed on after their EOK to an add of the entry."""
    given = [
        row for row in case.rows("frames") if row["way"] == Direction.ANSWER and row["bookie"] in bookies
    ]
    given = [row for row in given if row["status"] == Status.EOK]
    forces = [row["asked_ns"] for row in given if row["kind"] == Message.FORCE]
    adds = [row for row in given if row["kind"] in (Message.ADD, Message.RECOVERY_ADD)]
    return any(row["received_ns"] < max(forces, default=-1) for row in adds if row["entry"] == entry)


@operator("a crash takes nothing that the bookie had acknowledged", of=lawful, only=("answers",))
def boot_after_crashes_denies_acked_entry(case, dice):
    """A boot after crashes denies an entry that an earlier one had taken, and had journaled or not."""
    history, broken = denied(case, dice, boot=9)
    loss = dice.choice((Loses.MEMORY, Loses.UNSYNCED, Loses.STORED))
    late = {row["entry"] for row in case.operations(Kind.ADD) if row["flags"] & Flag.DEFERRED_SYNC}
    by = {row["bookie"] for table, row in history if table == "frames" and row["boot"] == 9}
    signs = {
        sign._replace(name="answers/denied_durable")
        for sign in broken
        if loss > Loses.MEMORY and (sign.first not in late or synced(case, sign.first, by))
    }
    least = dict.fromkeys(case.run.bookies, loss)
    return history, signs, replace(case.run, servers=boots_until_the_ninth(killed=1), least_loss=least)


@of_recovery("never")
def replaced_bookie_denies_acked_entry(case, dice):
    own = [row for row in reads_of_ones_own(case) if forgotten(case, row["bookie"])]
    gone = {row["seq"] for row in own if row["source"] == OBSERVER}  # it reads after the close
    return edited(case.history, lambda row: row["seq"] in gone, status=int(Status.ENOLEDGER)), set()


@of_recovery("never")
def denial_forged(case, dice):
    return denied(case, dice, status=int(Status.EOK), flags=int(FrameFlag.FORGED))[0], set()


@of_recovery("never")
def denial_by_another_boot(case, dice):
    return denied(case, dice, boot=7)[0], set()


@of_recovery("never")
def denial_of_read_sent_before_ack(case, dice):
    return denied(case, dice, asked_ns=1)[0], set()


@of_recovery("the delete failed before it was sent")
def denial_after_delete(case, dice):
    outcome = dice.choice(list(Outcome))
    history, broken = denied(case, dice)
    failed = outcome is Outcome.FAIL
    return [*history, deleted(outcome=outcome, invoked_ns=1)], broken if failed else set()


@of_recovery(ONLY_A_RECOVERER)
def fencing_gave_a_lac_beyond_the_end(case, dice):
    """The recovery should have begun there, and closed no lower."""
    lac = case.end + dice.randint(0, 3)
    history = edited_answers(case, Message.FENCING_LAC_READ, lac=lac)
    return history, by_recoverer(case, span("recovery/closed_below_lac", case.end + 1, lac))


@of_recovery("it had shown the entry before it was asked again")
def bookie_denies_shown_entry(case, dice):
    """A boot that had acknowledged nothing shows an entry, and denies it to a read."""
    shown = [row for row in reads_of_ones_own(case) if not forgotten(case, row["bookie"])]
    if not shown:
        return case.history, set()
    row, denial = dice.choice(shown), negative(dice)
    asked_ns = row["received_ns"] + dice.randint(0, 1)
    times = {"asked_ns": asked_ns, "received_ns": asked_ns + 1, "forwarded_ns": asked_ns + 1}
    again = {**row, **times, **denial, "boot": 9, "seq": 10**6}
    history = edited(case.history, lambda other: other["seq"] == row["seq"], boot=9)
    late = asked_ns > row["received_ns"]
    entry = row["entry"]
    return [*history, ("frames", again)], span("answers/denied_own_show", entry, entry) if late else set()


@operator("every add was ok, and answered by all bookies", of=lawful, only=("recovery",))
def recovery_state_removed(case, dice):
    """IN_RECOVERY was never written: CLOSED follows the last OPEN version."""
    versions = iter(range(len(case.rows("ledgers"))))
    kept = without(case.history, lambda table, row: table == "ledgers" and row["state"] == 2)
    kept = without(kept, lambda table, row: row.get("kind") == Message.ADD and table == "frames")
    history = [
        (table, {**row, "version": next(versions)} if table == "ledgers" else row) for table, row in kept
    ]
    adds = [
        fact
        for entry in range(case.tried)
        for name in ("b1", "b2", "b3")
        for fact in exchange("writer", name, add(entry))
    ]
    left_out = dice.choice([0, 0, 1])
    quiet = case.tried == case.acked and not left_out
    signs = {Sign("recovery/not_in_recovery")} if recovered(case) and quiet else set()
    return [*history, *adds[: len(adds) - left_out]], signs
