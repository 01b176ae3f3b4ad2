"""Every checker beside its naive twin: what both say of one history, in one form.

``SIDES`` has one entry for each property: how to put what the checker concludes, and what the twin says,
so that the two can be compared with ``==``. Findings over entries are counted entry by entry, others by
ledger. ``disagreements`` holds a whole verdict against all twins; a checker without a twin is one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from checkers.judging.contract import RunFacts
from checkers.log.models import CLASSES
from evidence.codes import Kind, Outcome
from evidence.findings import Finding, Judgement, RunVerdict
from tests.histories import (
    twins,
    twins_acks,
    twins_chain,
    twins_evidence,
    twins_fencing,
    twins_holdings,
    twins_placement,
    twins_recovery,
    twins_replicas,
    twins_servers,
)
from tests.histories.story import Fact

CYCLES = frozenset(each.name for each in CLASSES)
Things = Counter[tuple[Any, ...]]
TwinResult = tuple[Things, str | None]
"""The anomalies and the verdict; None where a twin gives no verdict."""
BY_LEDGER = frozenset(
    {"two_ends", "closed_unwritten", "malformed", "illegal_move", "two_versions", "went_back"}
    | {"added_out_of_order", "read_out_of_order", "vanished", "wrong_length"}
    | {"impossible_length", "wrong_own_length"}
)
"""Kinds that are compared as (kind, ledger) and a number of rows; all others entry by entry."""
RULINGS = ("legal", "by_writer", "by_bookie", "unseen")
"""What a recovery may be beside an anomaly."""


@dataclass(frozen=True)
class Side:
    """One property from both sides: of the checker's judgement, and of the rows themselves."""

    checker: Callable[[Judgement], Things]
    twin: Callable[[list[Fact], RunFacts], TwinResult]


def entries(finding: Finding) -> range:
    return range(finding.first_entry, finding.last_entry + 1)


def by_entry(judgement: Judgement) -> Things:
    """(kind, ledger, entry) once for each finding that covers it; (kind, ledger) for kinds by rows."""
    found: Things = Counter()
    for one in judgement.findings:
        if one.kind in BY_LEDGER:
            found[one.kind, one.ledger] += one.count
        else:
            found.update((one.kind, one.ledger, entry) for entry in entries(one))
    return found


def by_place(judgement: Judgement) -> Things:
    """(kind, ledger, entry), each once."""
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


def by_boot(judgement: Judgement) -> Things:
    """(kind, ledger): what a bookie did in one of its boots."""
    return Counter((one.kind, one.ledger) for one in judgement.findings)


def by_fragment(judgement: Judgement) -> Things:
    return Counter({(one.ledger, one.first_entry) for one in judgement.findings})


def losses(judgement: Judgement) -> Things:
    """As ``by_entry``, each lost entry with its class."""
    found: Things = Counter()
    for one in judgement.findings:
        if one.kind == "lost":
            found.update(("lost", one.ledger, entry, one.loss) for entry in entries(one))
        elif one.kind == "vanished":
            found["vanished", one.ledger] += one.count
        else:
            found.update((one.kind, one.ledger, entry) for entry in entries(one))
    return found


def plain(name: str) -> Callable[[list[Fact], RunFacts], TwinResult]:
    """The twin of a property that needs nothing of the run."""

    def twin(history: list[Fact], run: RunFacts) -> TwinResult:  # by contract
        result = twins.TWINS[name](history)
        found: Things = Counter()
        for kind, ledger, number in result.things:
            found[(kind, ledger) if kind in BY_LEDGER else (kind, ledger, number)] += (
                number if kind in BY_LEDGER else 1
            )
        return found, result.verdict

    return twin


def lac(history: list[Fact], run: RunFacts) -> TwinResult:
    """The LACs that clients received, and by the wire log whether they came too soon."""
    found, verdict = plain("lac")(history, run)
    if not twins_acks.is_whole(run, "operations", "ledgers"):
        found = Counter({thing: number for thing, number in found.items() if thing[0] != "covers_unsent"})
        verdict = "anomaly" if found else "unknown"
    early = twins_acks.acked_too_soon(history, run)
    found.update(("acked_too_soon", ledger, entry) for ledger, entry, _ in early)
    replaced = twins_acks.acked_by_replaced(history, run)
    found.update(("acked_by_replaced", ledger, entry) for ledger, entry, _ in replaced)
    unacked = twins_acks.covers_unacked(history, run)
    found.update(("covers_unacked", ledger, entry) for ledger, entry in unacked)
    outside = twins_acks.acked_outside(history, run)
    found.update(("acked_outside", ledger, entry) for ledger, entry, _ in outside)
    forces = twins_acks.forced_too_soon(history, run)
    found.update(("forced_too_soon", ledger, entry) for ledger, entry in forces)
    return found, "anomaly" if early or replaced or unacked or outside or forces else verdict


def durability(history: list[Fact], run: RunFacts) -> TwinResult:
    """The fates, and of lost entries the class by the wire log and the disks."""
    result = twins.TWINS["durability"](history)
    found: Things = Counter()
    for kind, ledger, number in result.things:
        if kind == "lost":
            found["lost", ledger, number, twins_holdings.loss_class(history, run, ledger, number)] += 1
        elif kind == "vanished":
            found[kind, ledger] += number
        else:
            found[kind, ledger, number] += 1
    return found, result.verdict


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
    found: Things = Counter(twins_recovery.answered(history, run, held))
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


def rows_of(twin: Callable[[list[Fact], RunFacts], tuple[Things, str]]) -> Callable[..., TwinResult]:
    """A twin that counts the rows of each (kind, ledger, entry), as ``by_row``."""

    def side(history: list[Fact], run: RunFacts) -> TwinResult:
        things, verdict = twin(history, run)
        found: Things = Counter(set(things))
        for (kind, ledger, _), number in things.items():
            found[kind, ledger] += number
        return found, verdict

    return side


def of_run(twin: Callable[[list[Fact], RunFacts], tuple[Any, str]]) -> Callable[..., TwinResult]:
    """A twin that says a set or a count of things, and a verdict."""

    def side(history: list[Fact], run: RunFacts) -> TwinResult:
        things, verdict = twin(history, run)
        return Counter(things), verdict

    return side


def by_class(judgement: Judgement) -> Things:
    """(class, how often) of what needs no cycle, and whether there is any cycle."""
    results = {one.kind for one in judgement.findings}
    cycles = {kind for kind in results if kind in CYCLES}
    found: Things = Counter({(kind, judgement.counts[kind]): 1 for kind in results - cycles})
    return found + Counter({("cycle",): 1} if cycles else {})


SIDES: Mapping[str, Side] = {
    "evidence": Side(by_entry, of_run(twins_evidence.evidence)),
    "durability": Side(losses, durability),
    **{name: Side(by_entry, plain(name)) for name in ("closing", "order", "content", "metadata")},
    "lac": Side(by_entry, lac),
    "fencing": Side(by_row, rows_of(twins_fencing.fencing)),
    "recovery": Side(by_ruling, recovery),
    "answers": Side(by_entry, answers),
    "availability": Side(by_row, rows_of(twins_fencing.availability)),
    "servers": Side(by_boot, of_run(twins_servers.servers)),
    "replicas": Side(by_place, of_run(twins_replicas.replicas)),
    "log": Side(by_class, twins_chain.log),
    "placement": Side(by_fragment, of_run(twins_placement.placement)),
}


def disagreements(verdict: RunVerdict, history: list[Fact], run: RunFacts) -> list[str]:
    """A sentence for each property of which checker and twin do not say the same."""
    wrong = []
    for name, judgement in verdict.judgements.items():
        if name not in SIDES:
            wrong.append(f"{name} has no naive twin")
            continue
        things, expected = SIDES[name].twin(history, run)
        mine = SIDES[name].checker(judgement)
        if mine != things:
            wrong.append(f"{name}: only the checker {mine - things}, only the twin {things - mine}")
        if expected is not None and judgement.verdict.value != expected:
            wrong.append(f"{name}: the checker says {judgement.verdict.value}, the twin {expected}")
    return wrong
