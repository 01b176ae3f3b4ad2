"""Acknowledgements, deaths and disks: what explains a loss, and what a bookie that came back must know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from checkers.judging.contract import RunFacts
from evidence.codes import Holding, Message, Status
from evidence.findings import Verdict
from protocol.faults import Loses
from tests.histories.boots import boot, copied, fault, on_disk, said, server, took
from tests.histories.mutations.edits import lost
from tests.histories.mutations.registry import Sign, operator, span
from tests.histories.story import (
    READER,
    Fact,
    acked,
    answered,
    closed,
    created,
    facts,
    found,
    kept,
    opened,
    run_facts,
)

DIED, REBORN, ASKED = 500, 600, 800
HOLDERS = (1, 3)


@dataclass(frozen=True)
class Deaths:
    """Entries from 1 on were acknowledged by b1 and b3, which were then killed and came back without them."""

    history: list[Fact]
    run: RunFacts
    lost: range


def two_deaths(dice: Random) -> Deaths:
    """Every loss is explained, and the plan allows for it."""
    lost = range(1, 1 + dice.randint(1, 3))
    census = {"asked_ns": 10_000, "answered_ns": 10_010}
    last = lost[-1]
    history = facts(
        [acked(entry, invoked_ns=70, completed_ns=REBORN + 200) for entry in range(last + 1)],
        created(earliest_ns=50, latest_ns=60),
        [took(0, bookie, 100) for bookie in HOLDERS],
        [took(entry, bookie, 100 + 10 * entry) for entry in lost for bookie in HOLDERS],
        [closed(last), opened(last, invoked_ns=9_000, completed_ns=9_001), kept(0), found(0)],
        [answered(entry, bookie, Holding.ABSENT, **census) for entry in lost for bookie in (1, 2, 3)],
    )
    servers = [*boot(2)]
    for bookie in HOLDERS:
        at = DIED + bookie
        servers += [*boot(bookie, killed=at), copied(bookie, at=at + 10), *boot(bookie, 2, began=REBORN)]
    kills = tuple(killed(number, bookie) for number, bookie in enumerate(HOLDERS, start=1))
    run = run_facts(wire=True, servers=tuple(servers), faults=kills, allowance={1: len(lost)})
    return Deaths(history, run, lost)


def losses(case: Deaths, loss: str = "explained", *, of: dict[int, str] | None = None) -> set[Sign]:
    """The losses, all of one class but those of ``of``."""
    return lost({**dict.fromkeys(case.lost, loss), **(of or {})})


def allowed(case: Deaths) -> set[Sign | Verdict]:
    """All of them are explained, and the plan allows for them."""
    return {Verdict.VALID, *losses(case)}


def killed(number: int, bookie: int) -> dict[str, Any]:
    at = DIED + bookie
    times = {"planned_ns": at - 2, "injected_ns": at + 20, "confirmed_ns": at + 21, "healed_ns": at + 90}
    return fault(number, "kill", f"b{bookie}", **times)


WIPE = fault(9, "wipe", "b1", planned_ns=540, injected_ns=541, confirmed_ns=542, healed_ns=543)


def moved_ack(case: Deaths, entry: int, at_ns: int, number: int) -> list[Fact]:
    """The history in which b1 acknowledged the entry at another time, in that boot."""
    kept_rows = [
        (table, row)
        for table, row in case.history
        if table != "frames" or (row["entry"], row["bookie"]) != (entry, 1)
    ]
    return [*kept_rows, took(entry, 1, at_ns, boot=number)]


@operator("the boot after the crash gave it: that one never lost it", of=two_deaths)
def ack_moved_past_a_crash(case, dice):
    """An acknowledgement moves past the crash that explained its loss, or only nearer to it."""
    entry, past = dice.choice(case.lost), dice.random() < 0.7
    at_ns, number = (REBORN + 20, 2) if past else (DIED - 20, 1)
    must = losses(case, of={entry: "unexplained"}) if past else allowed(case)
    return moved_ack(case, entry, at_ns, number), must


@operator("it was given before the denied read was passed on", of=two_deaths)
def ack_moved_past_a_crash_and_denied(case, dice):
    """An acknowledgement moves past a crash; the boot that gave it then denies the entry."""
    entry, past = dice.choice(case.lost), dice.random() < 0.7
    at_ns, number = (REBORN + 20, 2) if past else (DIED - 20, 1)
    denial = said(Message.READ, 1, ASKED, entry=entry, status=Status.ENOENTRY, boot=2, source=READER)
    broken = span("answers/denied_own_ack", entry, entry) | losses(case, of={entry: "unexplained"})
    return [*moved_ack(case, entry, at_ns, number), denial], broken if past else allowed(case)


@operator("the disk of a holder, or of any bookie, had an entry that is lost", of=two_deaths)
def disk_held_lost_entry(case, dice):
    """A disk that was read at a death held one entry more."""
    entry = dice.randint(0, case.lost[-1])
    held = on_disk(dice.choice(HOLDERS), entry)
    must = losses(case, of={entry: "unexplained"}) if entry in case.lost else allowed(case)
    return [*case.history, held], must


@operator("always", of=two_deaths)
def death_not_explained(case, dice):
    """The kill is no fault of the run, or the disk was not read: then the allowance excuses nothing."""
    run, loss = dice.choice(
        [
            (replace(case.run, faults=case.run.faults[1:]), "undetermined"),
            (
                replace(case.run, servers=tuple(r for r in case.run.servers if r["event"] != "disk_read")),
                "undetermined",
            ),
            (replace(case.run, allowance={1: len(case.lost) - 1}), "explained"),
        ]
    )
    return case.history, losses(case, loss), run


@operator("some setting or fault was such that the kill cannot have taken the entry", of=two_deaths)
def killed_bookie_had_journaled(case, dice):
    """One or both of the bookies had journaled what they acknowledged; or only others had."""
    who = dice.choice([("b1", "b3"), ("b1",), ("b3",), ("b2", "b9")])
    least = dice.choice((Loses.UNSYNCED, Loses.STORED))
    run = replace(case.run, least_loss={**case.run.least_loss, **dict.fromkeys(who, least)})
    return case.history, allowed(case) if "b2" in who else losses(case, "unexplained"), run


@operator("always: all deny what b1 never lost, or may have collected", of=two_deaths)
def holder_replaced_by_replication(case, dice):
    """b1 was not killed; b4 replaced it, permanently or for a while, or replaced another bookie."""
    away, other = ("b4", "b2", "b3"), ("b1", "b4", "b3")
    ensembles = dice.choice([(away,), (away, ("b1", "b2", "b3")), (other,)])
    denials = [row for table, row in case.history if (table, row.get("bookie")) == ("census", 3)]
    moved = [
        closed(
            case.lost[-1], number, fragments={0: names}, earliest_ns=7_000 + number, latest_ns=7_000 + number
        )
        for number, names in enumerate(ensembles, start=2)
    ]
    history = [*case.history, *moved, *(("census", {**row, "bookie": 4}) for row in denials)]
    servers = [row for row in case.run.servers if row["server"] != "b1"]
    faults = tuple(row for row in case.run.faults if row["target"] != "b1")
    run = replace(case.run, servers=(*servers, *boot(1), *boot(4)), faults=faults)
    return history, losses(case, "undetermined" if away in ensembles else "unexplained"), run


@operator("the disk had held the entry, and no fault changed it since", of=two_deaths)
def bookie_denies_entry_on_its_disk(case, dice):
    """A bookie that was killed denies an entry that its disk held, or did not hold."""
    held, wiped = dice.randint(0, case.lost[-1]), dice.random() < 0.3
    denial = said(Message.READ, 1, ASKED, entry=0, status=Status.ENOENTRY, boot=2, source=READER)
    run = replace(case.run, faults=(*case.run.faults, WIPE)) if wiped else case.run
    if held in case.lost:
        broken = losses(case, of={held: "undetermined" if wiped else "unexplained"})
    else:
        broken = allowed(case) if wiped else span("answers/denied_held", 0, 0) | losses(case)
    return [*case.history, on_disk(1, held), denial], broken, run


@operator("the bookie is protected, and the ledger was not closed", of=two_deaths)
def bookie_denies_after_unclean_end(case, dice):
    """A bookie back from an unclean end denies an entry where "unknown" was due; a wipe takes the marks."""
    guarded, open_still = dice.random() < 0.6, dice.random() < 0.7
    status = Status.ENOENTRY if dice.random() < 0.7 else Status.EUNKNOWNLEDGERSTATE
    said_so = said(Message.READ, 1, ASKED, entry=1, status=status, boot=2, source=READER)
    history = [
        fact for fact in case.history if not (open_still and fact[0] == "ledgers" and fact[1]["state"] == 3)
    ]
    served = server(1, 1, "answering", 70, 70)
    names = frozenset({"b1"}) if guarded else frozenset()
    wiped = dice.random() < 0.2
    faults = (*case.run.faults, WIPE) if wiped else case.run.faults
    run = replace(case.run, servers=(*case.run.servers, served), guarded=names, faults=faults)
    owed = guarded and open_still and status is Status.ENOENTRY and not wiped
    broken = losses(case, "undetermined") if guarded else losses(case) if open_still else allowed(case)
    broken |= span("answers/limbo_not_shown", 1, 1) if owed else set()
    broken |= {Sign("closing/closed_unwritten")} if open_still else set()
    return [*history, said_so], broken, run
