"""Ledgers that are judged beside each other, and two ledgers that had one id, one after the other."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from random import Random

from checkers.judging.contract import RunFacts
from evidence.codes import Kind
from tests.histories.boots import fault
from tests.histories.lawful import lawful
from tests.histories.mutations.edits import denied_by_all, is_final_entry, lost, lost_of, without
from tests.histories.mutations.registry import UNKNOWN, Sign, operator, span, unknown
from tests.histories.story import (
    READER,
    Fact,
    acked,
    closed,
    created,
    facts,
    found,
    kept,
    opened,
    operation,
    run_facts,
    vanished,
)

OTHER = 2
_APART = 10_000


def renamed(history: list[Fact]) -> list[Fact]:
    """The same of ledger 2: other operations, handles and frames."""
    apart = ("seq", "handle")
    return [
        (table, {**row, "ledger": OTHER, **{name: row[name] + _APART for name in apart if name in row}})
        for table, row in history
    ]


@operator("the other ledger has lost an entry", of=lawful)
def ledger_unknown_beside_a_loss(case, dice):
    """Of one ledger an entry is not read at the end; the other is lawful, or every bookie denies an entry."""
    loses, entry, unread = dice.random() < 0.7, dice.randint(0, case.promised - 1), dice.randint(0, case.end)
    history = denied_by_all(case.history, entry) if loses else case.history
    beside = without(case.history, is_final_entry(unread))
    delivered = any(table == "operations" and row["kind"] == Kind.ENTRY for table, row in [*history, *beside])
    must = {unknown("durability", ledger=OTHER)}
    must |= set() if delivered else {unknown("content", ledger=ledger) for ledger in (1, OTHER)}
    must |= lost_of(history, case.run, entry) if loses else {UNKNOWN}
    return [*history, *renamed(beside)], must


@dataclass(frozen=True)
class Again:
    """The metadata of a ledger was removed by a fault, and its id is used again: both were acknowledged."""

    history: list[Fact]
    run: RunFacts
    last: int


def used_again(dice: Random) -> Again:
    """Each of the two has the entries 0 to ``last``; the bookies have those of the second."""
    last = dice.randint(0, 3)
    entries = range(last + 1)
    second = {"client": READER, "size_bytes": 77}
    times = {"invoked_ns": 80, "completed_ns": 90}
    history = facts(
        operation(Kind.CREATE, invoked_ns=1, completed_ns=5),
        created(zxid=10, earliest_ns=4, latest_ns=4),
        [acked(entry, invoked_ns=6, completed_ns=9) for entry in entries],
        closed(last, 1, zxid=11, earliest_ns=20, latest_ns=20),
        operation(Kind.CLOSE, result=last, seq=90, invoked_ns=19, completed_ns=21),
        vanished(2, zxid=100, put_back=True, earliest_ns=50, latest_ns=50),
        operation(Kind.CREATE, client=READER, invoked_ns=60, completed_ns=62),
        created(zxid=101, earliest_ns=61, latest_ns=61),
        [acked(entry, **second, invoked_ns=63, completed_ns=65) for entry in entries],
        closed(last, 1, zxid=102, earliest_ns=70, latest_ns=70),
        operation(Kind.CLOSE, client=READER, result=last, seq=90, invoked_ns=69, completed_ns=71),
        opened(last, **times),
        [kept(entry, origin=READER, size_bytes=77, **times) for entry in entries],
        [found(entry, number=number) for entry in entries for number in (1, 2)],
    )
    shown = {"origin": READER, "size_bytes": 77, "asked_ns": 100, "answered_ns": 101}
    history = [(table, {**row, **shown} if table == "census" else row) for table, row in history]
    wipe = fault(1, "wipe_metadata", "zk1", injected_ns=49, confirmed_ns=51, healed_ns=52)
    wipe["proof"] = json.dumps({"injected": {"zxid": hex(100)}})
    return Again(history, run_facts(faults=(wipe,)), last)


OURS = ("durability", "closing", "order", "content", "metadata")


@operator("no fault of the run removed the metadata", of=used_again, only=OURS)
def ledger_id_reused(case, dice):
    """Ids of a ledger are acknowledged again, to another writer; a fault had removed the metadata, or not."""
    if dice.random() < 0.4:
        return case.history, {UNKNOWN, unknown("durability")}  # of which of the two a promise was
    history = [(t, {**row, "put_back": False} if t == "ledgers" else row) for t, row in case.history]
    twice = span("order/acked_twice", 0, case.last) | span("content/two_writings", 0, case.last)
    gone = Sign("durability/vanished", count=0)  # entries are there, of the other ledger
    return history, {*twice, gone}, replace(case.run, faults=())


@operator("always", of=used_again, only=OURS)
def entry_lost_with_reused_ledger_id(case, dice):
    """Every bookie denies an entry of the second ledger: lost, and its class is the fault's."""
    entry = dice.randint(0, case.last)
    return denied_by_all(case.history, entry), lost({entry: "put_back"})
