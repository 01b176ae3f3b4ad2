"""Every checker beside its naive twin: what both say of one history, in one form.

``SIDES`` has one entry for each property: the twin, and how to put what the checker concludes so that the
two can be compared with ``==``. ``disagreements`` holds a whole verdict against all twins; a checker without
a twin is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from checkers.judging.contract import RunFacts
from checkers.log.models import CLASSES
from evidence.codes import Kind, Outcome
from evidence.findings import Judgement, RunVerdict
from tests.histories import (
    twins,
    twins_acks,
    twins_answers,
    twins_chain,
    twins_evidence,
    twins_fencing,
    twins_holdings,
    twins_metadata,
    twins_placement,
    twins_recovery,
    twins_replicas,
    twins_servers,
)
from tests.histories.story import Fact
from tests.histories.twins import Things, TwinResult

CYCLES = frozenset(each.name for each in CLASSES)
BY_LEDGER = frozenset(
    {"two_ends", "closed_unwritten", "malformed", "illegal_move", "two_versions", "went_back"}
    | {"added_out_of_order", "read_out_of_order", "vanished", "wrong_length"}
    | {"impossible_length", "wrong_own_length"}
)
"""Kinds that are compared as (kind, ledger) and a number of rows although they name entries."""
RULINGS = ("legal", "by_writer", "by_bookie", "unseen")
"""What a recovery may be beside an anomaly."""


@dataclass(frozen=True)
class Side:
    """One property from both sides: of the checker's judgement, and of the rows themselves."""

    twin: Callable[[list[Fact], RunFacts], TwinResult]
    checker: Callable[[Judgement], Things]


def by_entry(judgement: Judgement) -> Things:
    """(kind, ledger, entry) for each finding that covers it (-1: of none), a loss with its class."""
    found: Things = Counter()
    for one in judgement.findings:
        if one.kind in BY_LEDGER:
            found[one.kind, one.ledger] += one.count
        else:
            entries = range(one.first_entry, one.last_entry + 1)
            found.update((one.kind, one.ledger, entry, *one.loss.split()) for entry in entries)
    return found


def by_place(judgement: Judgement) -> Things:
    """As ``by_entry``, each once."""
    return Counter(set(by_entry(judgement)))


def by_row(judgement: Judgement) -> Things:
    """As ``by_place``, and of each (kind, ledger) the number of rows."""
    found = by_place(judgement)
    for one in judgement.findings:
        found[one.kind, one.ledger] += one.count
    return found


def by_ruling(judgement: Judgement) -> Things:
    """As ``by_entry``, and how many recoveries were ruled to be what."""
    return by_entry(judgement) + Counter({(name,): judgement.seen[name] for name in RULINGS})


def by_fragment(judgement: Judgement) -> Things:
    return Counter((one.kind, one.ledger, one.first_entry) for one in judgement.findings)


def plain(twin: Callable[[list[Fact]], TwinResult]) -> Callable[[list[Fact], RunFacts], TwinResult]:
    """The twin of a property that needs nothing of the run."""
    return lambda history, _: twin(history)


def lac(history: list[Fact], run: RunFacts) -> TwinResult:
    """The LACs that clients received, and by the wire log whether they came too soon."""
    found, verdict = twins.lac(history)
    if not twins_acks.is_whole(run, "operations", "ledgers"):
        found = Counter({thing: number for thing, number in found.items() if thing[0] != "covers_unsent"})
        verdict = "anomaly" if found else "unknown"
    early = twins_acks.acked_too_soon(history, run)
    found.update(("acked_too_soon", ledger, entry) for ledger, entry, _ in early)
    replaced = twins_acks.acked_by_replaced(history, run)
    former = twins_acks.acked_by_former(history, run)
    found.update(("acked_by_replaced", ledger, entry) for ledger, entry, _ in replaced - former)
    found.update(("acked_by_former", ledger, entry) for ledger, entry, _ in former)
    unacked = twins_acks.covers_unacked(history, run)
    found.update(("covers_unacked", ledger, entry) for ledger, entry in unacked)
    outside = twins_acks.acked_outside(history, run)
    found.update(("acked_outside", ledger, entry) for ledger, entry, _ in outside)
    forces = twins_acks.forced_too_soon(history, run)
    found.update(("forced_too_soon", ledger, entry) for ledger, entry in forces)
    return found, "anomaly" if early or replaced or unacked or outside or forces else verdict


def durability(history: list[Fact], run: RunFacts) -> TwinResult:
    """The fates, and of lost entries the class by the wire log and the disks."""
    things, verdict = twins.durability(history)
    found = {
        (*one, twins_holdings.loss_class(history, run, *one[1:])) if one[0] == "lost" else one: number
        for one, number in things.items()
    }
    return Counter(found), verdict


def answers(history: list[Fact], run: RunFacts) -> TwinResult:
    """What boots denied of the entries that they had taken, and what their disks had held."""
    if not run.wire:
        return Counter(), None
    released: dict[int, int] = {}
    for row in twins.operations(history, Kind.DELETE):
        if row["outcome"] != Outcome.FAIL:
            at_ns = min(row["invoked_ns"], released.get(row["ledger"], row["invoked_ns"]))
            released[row["ledger"]] = at_ns
    held = twins_holdings.denied_though_held(history, run, released)
    found: Things = Counter(twins_answers.answered(history, run, held))
    found.update(("denied_held", ledger, entry) for _, _, ledger, entry in held)
    return found, None


def recovery(history: list[Fact], run: RunFacts) -> TwinResult:
    """A verdict only of evidence that is whole."""
    wrong, rulings = twins_recovery.recovery(history, run)
    found: Things = Counter(wrong if run.wire else ())
    found.update({(name,): number for name, number in rulings.items() if name in RULINGS})
    if not run.wire or run.damage or not run.complete or run.required:
        return found, None
    verdict = "unknown" if rulings["unseen"] else "valid" if rulings["legal"] else "not judged"
    return found, "anomaly" if wrong else verdict


def by_class(judgement: Judgement) -> Things:
    """(class, how often) of what needs no cycle, and whether there is any cycle."""
    results = {one.kind for one in judgement.findings}
    cycles = {kind for kind in results if kind in CYCLES}
    found: Things = Counter({(kind, judgement.counts[kind]): 1 for kind in results - cycles})
    return found + Counter({("cycle",): 1} if cycles else {})


SIDES: Mapping[str, Side] = {
    "evidence": Side(twins_evidence.evidence, by_entry),
    "durability": Side(durability, by_entry),
    "closing": Side(plain(twins.closing), by_entry),
    "order": Side(plain(twins.order), by_entry),
    "content": Side(plain(twins.content), by_entry),
    "metadata": Side(plain(twins_metadata.metadata), by_entry),
    "lac": Side(lac, by_entry),
    "fencing": Side(twins_fencing.fencing, by_row),
    "recovery": Side(recovery, by_ruling),
    "answers": Side(answers, by_entry),
    "availability": Side(twins_fencing.availability, by_entry),
    "servers": Side(twins_servers.servers, by_entry),
    "replicas": Side(twins_replicas.replicas, by_place),
    "log": Side(twins_chain.log, by_class),
    "placement": Side(twins_placement.placement, by_fragment),
}


def of_twins(names: Iterable[str], history: list[Fact], run: RunFacts) -> dict[str, TwinResult]:
    """What the twin of each of these properties says; a property without a twin is left out."""
    return {name: SIDES[name].twin(history, run) for name in names if name in SIDES}


def disagreements(verdict: RunVerdict, history: list[Fact], run: RunFacts) -> list[str]:
    """A sentence for each property of which checker and twin do not say the same."""
    return differences(verdict, of_twins(verdict.judgements, history, run))


def differences(verdict: RunVerdict, said: Mapping[str, TwinResult]) -> list[str]:
    """The same, given what the twins said."""
    wrong = []
    for name, judgement in verdict.judgements.items():
        if name not in said:
            wrong.append(f"{name} has no naive twin")
            continue
        things, expected = said[name]
        mine = SIDES[name].checker(judgement)
        if mine != things:
            wrong.append(f"{name}: only the checker {mine - things}, only the twin {things - mine}")
        if expected is not None and judgement.verdict.value != expected:
            wrong.append(f"{name}: the checker says {judgement.verdict.value}, the twin {expected}")
    return wrong
