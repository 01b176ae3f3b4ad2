"""The checkers, and judging a run: each over every batch of blocks, in this process or spread over tasks.

``judge`` does it all here. A pipeline does the same in two rounds of tasks: ``facts_of`` each batch, joined
by ``combined_facts``; then ``check_all`` of each batch, joined by ``join_all`` in any grouping;
``conclude_all`` ends it, and the verdict is the same. This is the one place that survives a checker's
error: its property becomes ``unknown`` and says what was raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import ParamSpec, TypeVar

import pyarrow as pa

from checkers.answers import Answers
from checkers.availability import Availability
from checkers.closing import Closing
from checkers.content import Content
from checkers.durability.checker import Durability
from checkers.fencing import Fencing
from checkers.judging.checker import Checker, ReportsDamage
from checkers.judging.contract import Batch, LedgerFact, LedgerFacts, RunFacts
from checkers.judging.found import Found
from checkers.judging.sufficiency import Sufficiency
from checkers.judging.verdict import FAILED, run_verdict
from checkers.lac.checker import Lac
from checkers.log.checker import Log
from checkers.metadata import Metadata
from checkers.order import Order
from checkers.placement import Placement
from checkers.recovery.checker import Recovery
from checkers.replicas.checker import Replicas
from checkers.servers.checker import Servers
from evidence.findings import Judgement, RunVerdict, Verdict
from evidence.schemas import LEDGERS

Checkers = tuple[Checker, ...]
CHECKERS: Checkers = (
    Sufficiency(),
    Durability(),
    Closing(),
    Fencing(),
    Order(),
    Lac(),
    Content(),
    Metadata(),
    Recovery(),
    Answers(),
    Availability(),
    Servers(),
    Replicas(),
    Placement(),
    Log(),
)
"""In the order in which a verdict lists them: one property, one file or folder, one line here."""
Answer = TypeVar("Answer")
P = ParamSpec("P")


class Crashed(str):
    """The error of a checker that raised, instead of what it would have given."""

    __slots__ = ()


AllFound = Mapping[str, Found | Crashed]
"""By checker what it found; picklable."""


def judge(batches: Iterable[Batch], run: RunFacts, *, checkers: Checkers = CHECKERS) -> RunVerdict:
    """The verdict over all batches, in this process; no batch at all is judged as no evidence.

    Batches are gone through twice: they may be read again each time, an iterator's are kept.
    """
    batches = tuple(batches) if isinstance(batches, Iterator) else batches
    facts = combined_facts((facts_of(batch, checkers=checkers) for batch in batches), checkers=checkers)
    checked = (check_all(batch, run, facts, checkers=checkers) for batch in batches)
    return conclude_all(join_all(checked, checkers=checkers), run, facts, checkers=checkers)


def facts_of(batch: Batch, *, checkers: Checkers = CHECKERS) -> LedgerFacts:
    """What one batch contributes to the facts of ledgers that its tables have."""
    tables = {
        name: _guarded(f"fact {name}", fact.aggregate, batch)
        for name, fact in _facts(checkers).items()
        if fact.table in batch.tables
    }
    return LedgerFacts(tables, batch.table("ledgers"))


def combined_facts(parts: Iterable[LedgerFacts], *, checkers: Checkers = CHECKERS) -> LedgerFacts:
    """The facts of several batches, in any grouping; of none at all those of an empty batch."""
    parts = tuple(parts)
    tables = {
        name: _combined(fact, [part.tables[name] for part in parts if name in part.tables])
        for name, fact in _facts(checkers).items()
    }
    return LedgerFacts(tables, pa.concat_tables([LEDGERS.empty_table(), *(part.ledgers for part in parts)]))


def check_all(batch: Batch, run: RunFacts, facts: LedgerFacts, *, checkers: Checkers = CHECKERS) -> AllFound:
    """What every checker finds in one batch.

    A checker that asks for a fact which is not among ``facts`` counts as a checker that raised.
    """
    return {checker.name: _guarded("check", checker.check, batch, facts, run) for checker in checkers}


def join_all(parts: Iterable[AllFound], *, checkers: Checkers = CHECKERS) -> AllFound:
    """What was found in several batches, in any grouping and order."""
    parts = tuple(parts)
    return {checker.name: _joined([part[checker.name] for part in parts]) for checker in checkers}


def conclude_all(
    found: AllFound, run: RunFacts, facts: LedgerFacts, *, checkers: Checkers = CHECKERS
) -> RunVerdict:
    """The verdict of the run from what was found in all its batches."""
    doubts = {
        checker.name: _concluded("damage", checker.damage, found[checker.name], facts, run)
        for checker in checkers
        if isinstance(checker, ReportsDamage)
    }
    damage = tuple(text for texts in doubts.values() if not isinstance(texts, Crashed) for text in texts)
    run = replace(run, damage=(*run.damage, *damage)) if damage else run
    found = {**found, **{name: texts for name, texts in doubts.items() if isinstance(texts, Crashed)}}
    return run_verdict(
        {checker.name: _judgement(checker, found[checker.name], facts, run) for checker in checkers}, run
    )


def _facts(checkers: Checkers) -> dict[str, LedgerFact]:
    """The facts that these checkers ask for, each once."""
    return {fact.name: fact for checker in checkers for fact in checker.facts}


def _combined(fact: LedgerFact, parts: list[pa.Table | str]) -> pa.Table | str:
    failed = [part for part in parts if isinstance(part, str)]
    if failed:
        return min(failed)
    return _guarded(f"fact {fact.name}", lambda: fact.combined(parts or [fact.aggregate(Batch({}))]))


def _joined(parts: list[Found | Crashed]) -> Found | Crashed:
    crashed = [part for part in parts if isinstance(part, Crashed)]
    return min(crashed) if crashed else Found.joined(part for part in parts if isinstance(part, Found))


def _concluded(
    what: str, conclude: Callable[..., Answer], found: Found | Crashed, facts: LedgerFacts, run: RunFacts
) -> Answer | Crashed:
    """``conclude`` or ``damage`` of a checker."""
    return found if isinstance(found, Crashed) else _guarded(what, conclude, found, facts, run)


def _judgement(checker: Checker, found: Found | Crashed, facts: LedgerFacts, run: RunFacts) -> Judgement:
    result = _concluded("conclude", checker.conclude, found, facts, run)
    if isinstance(result, Judgement):
        return result
    return Judgement(
        property=checker.name,
        verdict=Verdict.UNKNOWN,
        needed=FAILED,
        notes=(f"the checker failed: {result}",),
    )


def _guarded(what: str, act: Callable[P, Answer], *given: P.args, **named: P.kwargs) -> Answer | Crashed:
    try:
        return act(*given, **named)
    except Exception as error:  # noqa: BLE001  # a crashed checker is ``unknown``, never the end of judging
        return Crashed(f"{what} raised {type(error).__name__}: {error}")
