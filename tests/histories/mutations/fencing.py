"""Fencing and availability: adds that come too late, boots that forget their fence, recoveries refused."""

from dataclasses import replace
from random import Random

from evidence.codes import NEVER, Direction, Flag, Kind, Message, Outcome, Status
from tests.histories.boots import UNPROVEN, fenced, said, server, took
from tests.histories.lawful import Lawful, lawful
from tests.histories.mutations.edits import spans
from tests.histories.mutations.registry import UNKNOWN, Sign, operator, span
from tests.histories.story import Fact, acked, operation, unsure

OURS = ("fencing", "availability")
ACCEPTED = "fencing/accepted_when_fenced"
LATER = 1_000_000  # after all that a lawful history tells


def five_bookies(dice: Random) -> Lawful:
    """A lawful history, of whose run the five bookies are all."""
    case = lawful(dice)
    return replace(case, run=replace(case.run, bookies={f"b{number}": number for number in range(1, 6)}))


def answers(case, *kinds):
    """The answers on the wire that prove what one boot said."""
    return [row for row in case.rows("frames") if row["way"] == Direction.ANSWER and row["kind"] in kinds]


def late_add(entry, **columns):
    return acked(entry, invoked_ns=LATER, completed_ns=LATER + 9, seq=77, **columns)


@operator("the id lies beyond the end", of=five_bookies, only=OURS)
def add_acknowledged_after_close(case, dice):
    """The observer's recovery has dated the close; within the end an id is no matter of fencing."""
    entry = dice.randint(0, case.tried + 3)
    return [*case.history, late_add(entry)], span(
        "fencing/added_after_close", entry, entry
    ) if entry > case.end else set()


@operator("never", of=five_bookies, only=OURS)
def add_without_outcome_after_close(case, dice):
    outcome = dice.choice([Outcome.UNKNOWN, Outcome.PENDING, Outcome.FAIL])
    return [*case.history, unsure(case.end + 1, invoked_ns=LATER, outcome=outcome)], set()


@operator("never", of=five_bookies, only=OURS)
def add_acknowledged_after_undated_close(case, dice):
    """Illegal all the same, but it cannot be shown that the close came first."""
    undated = []
    for table, row in case.history:
        new = dict(row)
        if table == "ledgers":
            new["latest_ns"] = NEVER
        if table == "operations" and row["kind"] == Kind.OPEN:
            new["outcome"] = int(Outcome.UNKNOWN)
        undated.append((table, new))
    return [*undated, late_add(case.end + 1)], {UNKNOWN}


@operator("it is a normal add, asked for after the fence", of=five_bookies, only=OURS)
def fenced_boot_acknowledges_add(case, dice):
    """Who fenced it, and by which read, plays no part; recovery's adds are taken by right."""
    fences = [
        row for row in answers(case, Message.FENCING_LAC_READ, Message.RECOVERY_READ) if row["status"] == 0
    ]
    if not fences:
        return case.history, set()
    fence = dice.choice(fences)
    kind = dice.choice([Message.ADD, Message.RECOVERY_ADD])
    after = dice.choice([0, 1, 50])
    at_ns = fence["received_ns"] + after
    add = said(kind, fence["bookie"], at_ns, entry=case.end, boot=fence["boot"])
    own = [row for row in fences if (row["bookie"], row["boot"]) == (fence["bookie"], fence["boot"])]
    illegal = kind == Message.ADD and any(row["received_ns"] < at_ns for row in own)
    return [*case.history, add], span(ACCEPTED, case.end, case.end) if illegal else set()


@operator("never", of=five_bookies, only=OURS)
def fenced_boot_acknowledges_lawful_add(case, dice):
    fences = [row for row in answers(case, Message.FENCING_LAC_READ) if row["status"] == 0]
    if not fences:
        return case.history, set()
    fence = dice.choice(fences)
    flags = [{"flags": flag} for flag in UNPROVEN]
    doubt = dice.choice([*flags, {"boot": 0}, {"boot": fence["boot"] + 1}, {"asked_ns": NEVER}])
    doubt = {"boot": fence["boot"], **doubt}
    return [*case.history, took(case.end, fence["bookie"], LATER, **doubt)], set()


@operator("it was asked for after the fence", of=five_bookies, only=OURS)
def earlier_add_acknowledged_by_fenced_boot(case, dice):
    """A fence says nothing of what came before it, whatever it answered; a denial is no anomaly."""
    adds = [row for row in answers(case, Message.ADD) if row["status"] == 0]
    add = dice.choice(adds)
    status = dice.choice([Status.EOK, Status.ENOENTRY, Status.ENOLEDGER, Status.EUNKNOWNLEDGERSTATE])
    after = dice.choice([-1, 0, 9])
    received_ns = add["asked_ns"] + after
    fence = fenced(add["bookie"], received_ns - 1, boot=add["boot"], status=status)
    same = [row for row in adds if (row["bookie"], row["boot"]) == (add["bookie"], add["boot"])]
    taken = {row["entry"] for row in same if row["asked_ns"] > received_ns}
    return [*case.history, fence], spans(ACCEPTED, taken) if status is Status.EOK else set()


@operator("never", of=five_bookies, only=OURS)
def recovery_of_closed_ledger_refused(case, dice):
    """The ledger is CLOSED, which takes no recovery: the fate of promised entries is unknown."""
    refused = {"outcome": int(Outcome.UNKNOWN), "error": -10}
    last = [row for row in case.operations(Kind.OPEN) if row["flags"] & Flag.FINAL]
    return [(table, {**row, **refused} if row in last else row) for table, row in case.history], {UNKNOWN}


@operator("always", of=five_bookies, only=OURS)
def recovery_of_open_ledger_refused(case, dice):
    """One bookie may have been killed; that is fewer than the two of AQ."""
    return without_recovery(case), {Sign("availability/stuck")}


def without_recovery(case: Lawful) -> list[Fact]:
    """The history without its close; the only final open, with recovery, is refused."""
    refused = {"outcome": int(Outcome.UNKNOWN), "error": -10, "invoked_ns": LATER, "completed_ns": LATER + 1}
    open_still = [("ledgers", row) for row in case.rows("ledgers") if row["state"] != 3]
    history = [*(fact for fact in case.history if fact[0] not in ("ledgers", "census")), *open_still]
    history = [fact for fact in history if fact[0] != "operations" or not fact[1]["flags"] & Flag.FINAL]
    opens = operation(Kind.OPEN, client=250, flags=Flag.FINAL | Flag.RECOVERY, seq=1, **refused)
    return [*history, opens]


@operator("no final open recovers the ledger", of=five_bookies, only=OURS)
def bookie_refuses_master_key(case, dice):
    """A bookie logs another key; it explains a refused recovery only if it has that duty, in this boot."""
    refused = dice.random() < 0.8
    bookie = dice.randint(1, 5)
    boots = [row["boot"] for row in case.run.servers if row["server"] == f"b{bookie}"]
    number, ledger = dice.choice(boots), dice.choice([1, 1, 1, 2])
    log = server(bookie, number, "key_refused", LATER - 1, LATER - 1, ledgerId=ledger)
    history = without_recovery(case) if refused else case.history
    last = max((row for table, row in history if table == "ledgers"), key=lambda row: row["version"])
    on_duty = f"b{bookie}:3181" in last["fragments"][-1]["bookies"]
    kind = "key_lost" if ledger == 1 and on_duty and number == max(boots) else "stuck"
    run = replace(case.run, servers=(*case.run.servers, log))
    return history, {Sign(f"availability/{kind}")} if refused else set(), run
