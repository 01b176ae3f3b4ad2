"""What was got at the end, and where copies lie: ``availability``, ``replicas`` and ``placement``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from checkers.judging.contract import RunFacts
from evidence.codes import Flag, Holding, Kind, Outcome
from tests.histories.boots import boot, server
from tests.histories.mutations.edits import Row, replaced, without
from tests.histories.mutations.registry import UNKNOWN, Sign, operator, span
from tests.histories.repairs import CENSUS_NS, audit, event, marked, quiet, shown, tried, unmarked
from tests.histories.story import OBSERVER, Fact, closed, created, facts, kept, opened, operation, run_facts

BOOKIES = {f"b{number}": number for number in range(1, 5)}
RACKS = {"b1": "r1", "b2": "r1", "b3": "r2", "b4": "r3"}
ENSEMBLES = (("b1", "b2", "b3"), ("b2", "b3", "b1"), ("b3", "b1", "b2"))


@dataclass(frozen=True)
class Ending:
    """A closed ledger on b1, b2 and b3; b4 perhaps has copies too. Both passes, an auditor at rest."""

    history: list[Fact]
    run: RunFacts
    last: int

    def census(self) -> list[Row]:
        return [row for table, row in self.history if table == "census"]


def repaired(dice: Random) -> Ending:
    """Every copy is where it belongs, every entry was read between the passes."""
    last = dice.randint(0, 4)
    entries = range(last + 1)
    spare = [entry for entry in entries if dice.random() < 0.5]
    fragments = {0: dice.choice(ENSEMBLES)}
    begun, done = CENSUS_NS + 200, CENSUS_NS + 210
    history = facts(
        created(earliest_ns=10, latest_ns=12, fragments=fragments),
        closed(last, earliest_ns=20, latest_ns=22, fragments=fragments),
        shown({1: entries, 2: entries, 3: entries, 4: spare}, last=last),
        opened(last, invoked_ns=begun, completed_ns=done),
        [kept(entry, invoked_ns=begun, completed_ns=done) for entry in entries],
    )
    servers = (*quiet(), *(row for number in range(1, 5) for row in boot(number)))
    run = run_facts(bookies=BOOKIES, servers=servers, racks=RACKS, min_racks=2)
    return Ending(history, run, last)


OF_COPIES = ("replicas",)


@operator("the bookie is named by the metadata", of=repaired, only=OF_COPIES)
def copy_removed(case, dice):
    """A copy is taken away: from a bookie that owes it, or from another bookie."""
    row = dice.choice([row for row in case.census() if row["pass_number"] == 1])
    history = replaced(case.history, row, holding=int(Holding.ABSENT), size_bytes=0, origin=0)
    return history, set() if row["bookie"] == 4 else span(
        "replicas/under_replicated", row["entry"], row["entry"]
    )


@operator("no bookie holds the entry any more", of=repaired, only=OF_COPIES)
def every_copy_removed(case, dice):
    """All copies of an entry are taken away, or all but one on some other bookie."""
    entry = dice.randint(0, case.last)
    gone = {"holding": int(Holding.ABSENT), "size_bytes": 0, "origin": 0}
    history = [
        (table, {**row, **gone} if table == "census" and row["entry"] == entry else row)
        for table, row in case.history
    ]
    return history, span("replicas/hole", entry, entry)


@operator("the bookie is named by the metadata", of=repaired, only=OF_COPIES)
def copy_of_another_size(case, dice):
    """A copy has another size than the others."""
    row = dice.choice([r for r in case.census() if r["pass_number"] == 1 and r["holding"] == Holding.PRESENT])
    differing = span("replicas/differing", row["entry"], row["entry"])
    return replaced(case.history, row, size_bytes=77), set() if row["bookie"] == 4 else differing


@operator("never", of=repaired, only=OF_COPIES)
def copy_removed_during_repair(case, dice):
    """A copy is missing, but no audit had ended before the census."""
    row = dice.choice([row for row in case.census() if row["pass_number"] == 1])
    rows = tuple(one for one in case.run.servers if one["event"] != "audit_ended")
    history = replaced(case.history, row, holding=int(Holding.ABSENT), size_bytes=0, origin=0)
    return history, set(), replace(case.run, servers=rows)


@operator("five tries in a row fail, nothing changes, repair has all it needs", of=repaired, only=OF_COPIES)
def repair_fails_repeatedly(case, dice):
    """A worker tries a marked ledger four to six times; perhaps something changes or is not there."""
    tries = dice.choice([4, 5, 6])
    missing = dice.choice([("b1",), ("b4",), ("b4",), ("b1", "b2")])
    racks = RACKS if dice.random() < 0.2 else {}
    changes = (server(4, 1, "znode_created", 350, 350), marked(350, *missing), unmarked(350))
    change = [dice.choice(changes)] if dice.random() < 0.3 else []
    mark = [marked(100, *missing), *change]
    rows = (*case.run.servers, *mark, *tried(*range(200, 200 + 100 * tries, 100)))
    rows += (unmarked(850),) if dice.random() < 0.7 else ()
    illegal = tries >= 5 and len(missing) == 1 and not racks and not change
    run = replace(case.run, servers=rows, racks=racks)
    return case.history, {Sign("replicas/never_repaired")} if illegal else set(), run


@operator("a repair names a bookie that lacks a copy and has lost nothing", of=repaired, only=OF_COPIES)
def bookie_named_before_it_has_the_copies(case, dice):
    """Repair names b4 in b3's place, which lacks one copy; perhaps b4 has died, or there is no repair."""
    entries, gone = range(case.last + 1), dice.randint(0, case.last)
    names = next(row["fragments"] for table, row in case.history if table == "ledgers")[0]["bookies"]
    changed = tuple(name.removesuffix(":3181").replace("b3", "b4") for name in names)
    history = facts(
        without(case.history, lambda table, _: table == "census"),
        closed(case.last, 2, earliest_ns=700, latest_ns=702, fragments={0: changed}),
        shown({1: entries, 2: entries, 4: {*entries} - {gone}}, last=case.last),
    )
    dead, nobody = dice.random() < 0.2, dice.random() < 0.2
    rows = [row for row in case.run.servers if not (nobody and row["event"] == "auditor_elected")]
    rows += boot(4, 2, began=400, killed=500) if dead else []
    run = replace(case.run, servers=(*rows, marked(100, "b3")))
    return history, set() if dead or nobody else span("replicas/not_copied", gone, gone), run


@operator(
    "five audits pass over it while its bookie is gone and nothing changes", of=repaired, only=OF_COPIES
)
def audits_skip_a_ledger(case, dice):
    """A bookie is gone during three to five audits and the last; perhaps there is a mark, or a change."""
    audits, bookie = dice.choice([3, 4, 5]), dice.choice(["b3", "b4"])
    marks = [marked(105, bookie)] if dice.random() < 0.2 else []
    change = [server(1, 1, "znode_created", 340, 350)] if dice.random() < 0.2 else []
    dead = [*boot(int(bookie[1]), 2, began=40, killed=50), event(60, bookie, "znode_gone")]
    rows = [row for at in range(100, 100 * audits + 100, 100) for row in audit(at, at + 5)]
    run = replace(case.run, servers=(*case.run.servers, *dead, *rows, *marks, *change))
    illegal = audits >= 4 and bookie == "b3" and not marks and not change
    return case.history, {Sign("replicas/not_marked")} if illegal else set(), run


@operator("the mark goes while its bookie is gone and still named", of=repaired, only=OF_COPIES)
def mark_removed_without_repair(case, dice):
    """A mark for a bookie that is gone is removed; perhaps the bookie came back, or was not named."""
    bookie, back = dice.choice(["b3", "b3", "b4"]), dice.random() < 0.3
    number = int(bookie[1])
    dead = [*boot(number, 2, began=40, killed=50), event(60, bookie, "znode_gone")]
    dead += boot(number, 3, began=150) if back else []
    run = replace(case.run, servers=(*case.run.servers, *dead, marked(100, bookie), unmarked(200)))
    illegal = bookie == "b3" and not back
    return case.history, {Sign("replicas/unmarked_unrepaired")} if illegal else set(), run


@operator("a bookie showed it before and after, in one life", of=repaired, only=("availability",))
def stored_entry_not_read(case, dice):
    """The final read of an entry that bookies show ends with "no such entry"."""
    entry, before = dice.randint(0, case.last), dice.random() < 0.7
    asked = {"entry": entry, "last": entry, "client": OBSERVER, "flags": Flag.FINAL, "error": -13}
    times = {"outcome": Outcome.UNKNOWN, "invoked_ns": CENSUS_NS + 205, "completed_ns": CENSUS_NS + 215}
    history = without(
        case.history,
        lambda table, row: (
            (table == "operations" and row["kind"] == Kind.ENTRY and row["entry"] == entry)
            or (table == "census" and row["pass_number"] == 1 and not before)
        ),
    )
    denied = operation(Kind.READ, **asked, **times)
    return [*history, denied], span("availability/unreadable", entry, entry) if before else {UNKNOWN}


@operator("the plan wants two racks, and the metadata names bookies of one", of=repaired, only=("placement",))
def bookies_moved_into_one_rack(case, dice):
    """The bookies of a ledger are all in one rack, or the rack of a bookie without a share changes."""
    all_of_them, wanted = dice.random() < 0.6, dice.choice([1, 2, 2, 3])
    racks = {**RACKS, "b3": "r1"} if all_of_them else {**RACKS, "b4": "r1"}
    needed = min(wanted, 3) > (1 if all_of_them else 2)
    run = replace(case.run, racks=racks, min_racks=wanted)
    return case.history, {Sign("placement/too_few_racks", 0, case.last)} if needed else set(), run
