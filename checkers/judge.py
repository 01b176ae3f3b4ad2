"""Judging a run: every checker over every batch of blocks, in this process or spread over tasks.

``judge`` does it all here. A pipeline does the same in two rounds of tasks: ``facts_of`` each batch, joined
by ``combined_facts``; then ``check_all`` of each batch, joined by ``merge_all`` in any grouping;
``conclude_all`` ends it, and the verdict is the same. This is the one place that survives a checker's
error: its property becomes ``unknown`` and says what was raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import pyarrow as pa

from checkers.contract import AnyChecker, Batch, Doubting, Found, LedgerFact, LedgerFacts, RunFacts
from checkers.registry import CHECKERS
from checkers.verdict import run_verdict
from evidence.findings import Judgement, RunVerdict, Verdict
from evidence.schemas import LEDGERS

Checkers = tuple[AnyChecker, ...]
Summaries = Mapping[str, Any]
"""A checker's name -> what it found, or a :class:`Crashed` in its place; picklable."""
_NO_FACTS = LedgerFacts()


@dataclass(frozen=True, slots=True)
class Crashed:
    """Stands for what a checker that raised would have given; ``text`` is its error."""

    text: str


def judge(batches: Iterable[Batch], run: RunFacts, *, checkers: Checkers = CHECKERS) -> RunVerdict:
    """The verdict over all batches, in this process; no batch at all is judged as no evidence.

    Batches are gone through twice: they may be read again each time, an iterator's are kept.
    """
    batches = tuple(batches) if isinstance(batches, Iterator) else batches
    facts = combined_facts((facts_of(batch, checkers=checkers) for batch in batches), checkers=checkers)
    merge = partial(merge_all, checkers=checkers)
    checked = (check_all(batch, run, facts, checkers=checkers) for batch in batches)
    total = reduce(merge, checked, None) or check_all(Batch({}), run, facts, checkers=checkers)
    return conclude_all(total, run, facts, checkers=checkers)


def facts_of(batch: Batch, *, checkers: Checkers = CHECKERS) -> LedgerFacts:
    """What one batch contributes to the facts of ledgers."""
    tables = {
        name: _guarded(f"fact {name}", partial(fact.of, batch)) for name, fact in _facts(checkers).items()
    }
    texts = {name: found.text if isinstance(found, Crashed) else found for name, found in tables.items()}
    return LedgerFacts(texts, batch.table("ledgers"))


def combined_facts(parts: Iterable[LedgerFacts], *, checkers: Checkers = CHECKERS) -> LedgerFacts:
    """The facts of several batches, in any grouping; of none at all those of an empty batch."""
    parts = tuple(parts) or (facts_of(Batch({}), checkers=checkers),)
    tables = {
        name: _combined(fact, [part.tables[name] for part in parts])
        for name, fact in _facts(checkers).items()
    }
    return LedgerFacts(tables, pa.concat_tables([LEDGERS.empty_table(), *(part.ledgers for part in parts)]))


def check_all(
    batch: Batch, run: RunFacts, facts: LedgerFacts = _NO_FACTS, *, checkers: Checkers = CHECKERS
) -> Summaries:
    """What every checker finds in one batch; an empty batch is the neutral element of merging.

    A checker that asks for a fact which is not among ``facts`` is one that raised.
    """
    return {checker.name: _checked(checker, batch, run, facts) for checker in checkers}


def merge_all(left: Summaries | None, right: Summaries, *, checkers: Checkers = CHECKERS) -> Summaries:
    """What was found in two sets of batches as one; associative. The left one may be that of no batch."""
    if left is None:
        return right
    return {checker.name: _merged(checker, left[checker.name], right[checker.name]) for checker in checkers}


def conclude_all(
    summaries: Summaries, run: RunFacts, facts: LedgerFacts = _NO_FACTS, *, checkers: Checkers = CHECKERS
) -> RunVerdict:
    """The verdict of the run from what was found in all its batches."""
    doubts = {
        checker.name: _concluded(checker, "damage", summaries[checker.name], run, facts)
        for checker in checkers
        if isinstance(checker, Doubting)
    }
    damage = tuple(text for texts in doubts.values() if not isinstance(texts, Crashed) for text in texts)
    run = replace(run, damage=(*run.damage, *damage)) if damage else run
    return run_verdict(
        {checker.name: _judgement(checker, summaries[checker.name], run, facts) for checker in checkers}, run
    )


def _facts(checkers: Checkers) -> dict[str, LedgerFact]:
    """The facts that these checkers ask for, each once."""
    return {fact.name: fact for checker in checkers for fact in getattr(checker, "facts", ())}


FACTS = _facts(CHECKERS)
"""All facts of ledgers by name."""


def _combined(fact: LedgerFact, parts: list[pa.Table | str]) -> pa.Table | str:
    failed = [part for part in parts if isinstance(part, str)]
    if failed:
        return min(failed)
    found = _guarded(f"fact {fact.name}", partial(fact.combined, parts))
    return found.text if isinstance(found, Crashed) else found


def _checked(checker: AnyChecker, batch: Batch, run: RunFacts, facts: LedgerFacts) -> Any:
    if hasattr(checker, "scan"):
        return _guarded("scan", partial(checker.scan, batch, run))
    return _guarded("check", partial(checker.check, batch, facts, run))


def _merged(checker: AnyChecker, left: Any, right: Any) -> Any:
    crashed = [side for side in (left, right) if isinstance(side, Crashed)]
    if crashed:
        return min(crashed, key=lambda side: side.text)
    if hasattr(checker, "merge"):
        return _guarded("merge", partial(checker.merge, left, right))
    return Found.joined((left, right))


def _concluded(checker: AnyChecker, what: str, summary: Any, run: RunFacts, facts: LedgerFacts) -> Any:
    """``conclude`` or ``damage`` of a checker; a checker on the former contract knows no facts of ledgers."""
    if isinstance(summary, Crashed):
        return summary
    given = (summary, run) if hasattr(checker, "scan") else (summary, facts, run)
    return _guarded(what, partial(getattr(checker, what), *given))


def _judgement(checker: AnyChecker, summary: Any, run: RunFacts, facts: LedgerFacts) -> Judgement:
    result = _concluded(checker, "conclude", summary, run, facts)
    if isinstance(result, Crashed):
        return Judgement(
            property=checker.name,
            verdict=Verdict.UNKNOWN,
            needed="a checker that runs to its end",
            notes=(f"the checker failed: {result.text}",),
        )
    assert isinstance(result, Judgement)  # noqa: S101  # narrows the type, the protocol promises it
    return result


def _guarded(what: str, act: Callable[[], Any]) -> Any:
    try:
        return act()
    except Exception as error:  # noqa: BLE001  # a crashed checker is ``unknown``, never the end of judging
        return Crashed(f"{what} raised {type(error).__name__}: {error}")
