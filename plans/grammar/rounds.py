"""Rounds: the steps of a plan, repeated in one cluster, on fresh ledgers.

Defines the names of ledgers in a round, and what no plan with rounds may do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from plans.grammar.sequence import Step, StepSpec, Together
from plans.grammar.steps import StartsServers

_BACKGROUND = ("chaos", "load")
_TOLD = 8
_OF_ROUND = re.compile(r"(.+)\.(\d+)")


def ledger_in_round(name: str, number: int, rounds: int) -> str:
    """What ledger ``name`` of the plan is called in round ``number`` (from 1): ``main.3``, or ``main``."""
    return f"{name}.{number}" if rounds > 1 else name


def ledger_and_round(name: str, rounds: int) -> tuple[str, int | None]:
    """The inverse of :func:`ledger_in_round`; no round for a name that belongs to none."""
    if rounds == 1:
        return name, 1
    matched = _OF_ROUND.fullmatch(name)
    return (matched[1], int(matched[2])) if matched else (name, None)


def in_rounds(numbers: Collection[int], rounds: int) -> str:
    """`` in 2 of 20 rounds (3, 7)``; empty where there is one round, or all are meant."""
    if rounds == 1 or len(numbers) == rounds:
        return ""
    listed = ", ".join(map(str, sorted(numbers)[:_TOLD]))
    more = ", ..." if len(numbers) > _TOLD else ""
    return f" in {len(numbers)} of {rounds} rounds ({listed}{more})"


def unrepeatable(steps: Sequence[Step]) -> Iterator[str]:
    """Why a plan with these steps cannot go through rounds, a sentence each."""
    for step in every(steps):
        if step.name in _BACKGROUND:
            yield f"`{step.name}` does not end with a round"
        elif isinstance(step.params, StartsServers):
            changed = [start.target for start in step.params.starts() if start.conf or start.version]
            if changed:
                yield (
                    f"`{step.name}` gives {', '.join(changed)} other settings or another release, "
                    "which the next round would begin with"
                )


def every(steps: Sequence[Step]) -> Iterator[StepSpec]:
    """Every single step, those of blocks included, in the order of the plan."""
    for step in steps:
        if isinstance(step, Together):
            for branch in step.branches:
                yield from every(branch)
        else:
            yield step
