"""Logs made of ledgers, doctored: what leaders and bookies may do wrong, and what only looks like it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from checkers.judging.contract import RunFacts
from evidence.codes import NEVER, Kind, Outcome
from evidence.exchange.chains import Chain
from tests.histories.mutations.registry import Sign, operator
from tests.histories.story import Fact, facts
from tests.histories.story_chain import BORN, Entry, chain_facts, last, put, seen

_STEP_NS = 10


def ours(*kinds: str) -> set[Sign]:
    return {Sign(f"log/{kind}", ledger=-1) for kind in kinds}


@dataclass(frozen=True)
class Case:
    """A log of ledgers, filled one after the other by one leader each, and read at the end."""

    chain: Chain
    entries: list[Entry]
    history: list[Fact]
    run: RunFacts

    def add(self, entry: Entry) -> int:
        """Where the add of an entry stands."""
        return next(
            at
            for at, (_, row) in enumerate(self.history)
            if row["kind"] == Kind.ADD and (row["ledger"], row["entry"]) == entry
        )

    def with_add(self, entry: Entry, **columns: int) -> list[Fact]:
        """The same history with other columns in an add."""
        at = self.add(entry)
        table, row = self.history[at]
        return [*self.history[:at], (table, {**row, **columns}), *self.history[at + 1 :]]


def filled(dice: Random) -> Case:
    """Two to four ledgers of two to four entries each; every add acknowledged before the next began."""
    now, since, ends = _STEP_NS, [], []
    ids = tuple(range(7, 7 + dice.randint(2, 4)))
    entries: list[Entry] = []
    history: list[Fact] = []
    for ledger in ids:
        since.append(now - 1)
        number = dice.randint(2, 4)
        for entry in range(number):
            entries.append((ledger, entry))
            history.append(put(ledger, entry, (now, now + 3)))
            now += _STEP_NS
        ends.append((ledger, number - 1))
    history += last(*ends, at=(now, now + 5))
    chain = Chain("events", BORN, ids, tuple(since))
    return Case(chain, entries, facts(history), chain_facts(chain))


@operator("its add was acknowledged", of=filled, only=("log",))
def last_append_of_a_log_removed(case, dice):
    """The last entry of a log is not there at the end."""
    entry = case.entries[-1]
    acked = dice.random() < 0.7
    history = case.history if acked else case.with_add(entry, outcome=Outcome.UNKNOWN, completed_ns=NEVER)
    gone = [
        fact
        for fact in history
        if (fact[1]["kind"], fact[1]["ledger"], fact[1]["entry"]) != (Kind.ENTRY, *entry)
    ]
    shorter = [
        (table, {**row, "result": entry[1] - 1})
        if (row["kind"], row["ledger"]) == (Kind.OPEN, entry[0])
        else (table, row)
        for table, row in gone
    ]
    return shorter, ours("G-single-realtime") if acked else set()


@operator("it was invoked when one behind it was acknowledged", of=filled, only=("log",))
def append_to_a_replaced_ledger(case, dice):
    """The last add of a ledger comes after the first one of the next ledger."""
    before = dice.randrange(1, len(case.chain.ledgers))
    old = max(entry for entry in case.entries if entry[0] == case.chain.ledgers[before - 1])
    new_ns = case.history[case.add((case.chain.ledgers[before], 0))][1]["completed_ns"]
    late = dice.random() < 0.7
    times = {"invoked_ns": new_ns + 1 if late else new_ns, "completed_ns": new_ns + 2}
    return case.with_add(old, **times), ours("G0-realtime") if late else set()


@operator("it ended before the append began", of=filled, only=("log",))
def append_read_before_it_began(case, dice):
    """A pass shows an entry and has ended about when its add began."""
    end = dice.randrange(1, len(case.entries))
    begun_ns = case.history[case.add(case.entries[end])][1]["invoked_ns"]
    early = dice.random() < 0.7
    at = (begun_ns - 2, begun_ns - 1 if early else begun_ns)
    history = facts([case.history, seen(*case.entries[: end + 1], at=at)])
    return history, ours("G1c-realtime") if early else set()


@operator("its outcome is fail, not unknown", of=filled, only=("log",))
def append_below_others_fails(case, dice):
    """An add with others behind it was not ok, and is read all the same."""
    entry = dice.choice(case.entries[:-1])
    failed = dice.random() < 0.7
    outcome = Outcome.FAIL if failed else Outcome.UNKNOWN
    must = ours("G1a", "dirty-update") if failed else set()
    return case.with_add(entry, outcome=outcome, completed_ns=NEVER if not failed else _of(case, entry)), must


def _of(case: Case, entry: Entry) -> int:
    return int(case.history[case.add(entry)][1]["completed_ns"])


@operator("the ledger before it had more", of=filled, only=("log",))
def pass_omits_end_of_a_ledger(case, dice):
    """A pass goes on to the next ledger before the end of one."""
    ledger = dice.choice(case.chain.ledgers[:-1])
    left = max(entry for entry in case.entries if entry[0] == ledger)
    leaves = dice.random() < 0.7
    shown = [entry for entry in case.entries if not leaves or entry != left]
    at = case.history[-1][1]["completed_ns"]
    history = facts([case.history, seen(*shown, at=(at, at + 1))])
    return history, ours("incompatible-order") if leaves else set()
