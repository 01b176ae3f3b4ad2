"""Judging a run: every checker over every chunk, in this process or spread over tasks.

``judge`` does it all here. A pipeline calls ``scan_all`` for each task's chunk, joins the
results with ``merge_all`` in any grouping, and ends with ``conclude_all``: the verdict is the
same. This is the one place that survives a checker's error: its property becomes ``unknown``
and says what was raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

from checkers.contract import Checker, Chunk, Doubting, RunFacts
from checkers.registry import CHECKERS
from checkers.verdict import run_verdict
from evidence.findings import Judgement, RunVerdict, Verdict

Summaries = Mapping[str, Any]
"""A checker's name -> its summary, or a :class:`Crashed` in its place; picklable."""


@dataclass(frozen=True, slots=True)
class Crashed:
    """Stands for the summary of a checker that raised; ``text`` is its error."""

    text: str


def judge(
    chunks: Iterable[Chunk], run: RunFacts, *, checkers: tuple[Checker[Any], ...] = CHECKERS
) -> RunVerdict:
    """The verdict over all chunks, in this process; no chunk at all is judged as no evidence."""
    nothing = scan_all(Chunk({}), run, checkers=checkers)
    scanned = (scan_all(chunk, run, checkers=checkers) for chunk in chunks)
    total = reduce(lambda left, right: merge_all(left, right, checkers=checkers), scanned, nothing)
    return conclude_all(total, run, checkers=checkers)


def scan_all(chunk: Chunk, run: RunFacts, *, checkers: tuple[Checker[Any], ...] = CHECKERS) -> Summaries:
    """Every checker's summary of one chunk; an empty chunk is the neutral element of merging."""
    return {checker.name: _guarded("scan", partial(checker.scan, chunk, run)) for checker in checkers}


def merge_all(
    left: Summaries, right: Summaries, *, checkers: tuple[Checker[Any], ...] = CHECKERS
) -> Summaries:
    """Two sets of summaries as one; associative."""
    return {checker.name: _merged(checker, left[checker.name], right[checker.name]) for checker in checkers}


def conclude_all(
    summaries: Summaries, run: RunFacts, *, checkers: tuple[Checker[Any], ...] = CHECKERS
) -> RunVerdict:
    """The verdict of the run from the summaries of all its chunks."""
    found = tuple(damage for checker in checkers for damage in _damage(checker, summaries[checker.name], run))
    run = replace(run, damage=(*run.damage, *found)) if found else run
    judgements = {checker.name: _concluded(checker, summaries[checker.name], run) for checker in checkers}
    return run_verdict(judgements, run)


def _merged(checker: Checker[Any], left: Any, right: Any) -> Any:
    crashed = [side for side in (left, right) if isinstance(side, Crashed)]
    if crashed:
        return min(crashed, key=lambda side: side.text)
    return _guarded("merge", partial(checker.merge, left, right))


def _damage(checker: Checker[Any], summary: Any, run: RunFacts) -> tuple[str, ...]:
    """Where evidence contradicts itself, by a checker that can say so; it concerns all of them."""
    if isinstance(summary, Crashed) or not isinstance(checker, Doubting):
        return ()
    found = _guarded("damage", partial(checker.damage, summary, run))
    return () if isinstance(found, Crashed) else tuple(found)


def _concluded(checker: Checker[Any], summary: Any, run: RunFacts) -> Judgement:
    result = summary
    if not isinstance(summary, Crashed):
        result = _guarded("conclude", partial(checker.conclude, summary, run))
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
