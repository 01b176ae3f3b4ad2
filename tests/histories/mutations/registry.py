"""The mutation operators: each does one wrong thing to a lawful record, and says itself what must be found.

An operator is one function, registered by name. It takes a case (a lawful record of the kind that its
``of`` makes) and dice, and returns a :class:`Mutant`. Where its precondition does not hold the change is
legal, and nothing may be found: a mutant that accuses somebody then is as wrong as one that survives.
Tests and ``scripts/bench mutation`` take them from here; ``made(name, seed)`` makes the same mutant again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

from checkers.contract import RunFacts
from checkers.judge import judge
from checkers.registry import CHECKERS
from checkers.verdict import within_allowance
from tests.histories.story import Fact, chunk

OPERATORS: dict[str, Operator] = {}


@dataclass(frozen=True)
class Mutant:
    """A doctored record and what must be found in it: ``property/kind``; ``property/*`` allows any kind."""

    found: frozenset[str]
    must: frozenset[str]

    @property
    def illegal(self) -> bool:
        """Whether something has to be found."""
        return any(not name.endswith("/*") for name in self.must)

    @property
    def right(self) -> bool:
        """Whether exactly that was found, no less and no more."""
        anything = {name.split("/")[0] for name in self.must if name.endswith("/*")}
        exact = {name for name in self.must if not name.endswith("/*")}
        return exact == {name for name in self.found if name in exact or name.split("/")[0] not in anything}


@dataclass(frozen=True)
class Operator:
    """One operator: what it does, when that is illegal, of which lawful cases, judged how."""

    name: str
    does: str
    illegal: str
    make: Callable[[Random], Mutant]


def judged(history: list[Fact], run: RunFacts, *, only: Iterable[str] = ()) -> frozenset[str]:
    """What the checkers find; losses that the plan's allowance covers are none."""
    wanted = set(only)
    checkers = tuple(one for one in CHECKERS if not wanted or one.name in wanted)
    verdict = judge([chunk(history)], run, checkers=checkers)
    return frozenset(
        f"{name}/{finding.kind}"
        for name, judgement in verdict.judgements.items()
        if not within_allowance(judgement)
        for finding in judgement.findings
    )


def operator(
    illegal: str, *, of: Callable[[Random], Any], only: Iterable[str] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register ``act(case, dice) -> (history, what must be found)``, or with a run as a third.

    ``of`` makes the lawful case, which has its ``history`` and its ``run``; ``only`` names the properties
    that are judged, all of them when nothing is said.
    """

    def register(act: Callable[..., Any]) -> Callable[..., Any]:
        def make(dice: Random) -> Mutant:
            case = of(dice)
            history, must, *run = act(case, dice)
            return Mutant(judged(history, run[0] if run else case.run, only=only), frozenset(must))

        entered(act, illegal, make)
        return act

    return register


def entered(act: Callable[..., Any], illegal: str, make: Callable[[Random], Mutant]) -> None:
    """Register an operator under its function's name; the docstring's first line says what it does."""
    assert act.__name__ not in OPERATORS, act.__name__
    said = (act.__doc__ or act.__name__.replace("_", " ")).splitlines()[0].rstrip(".")
    OPERATORS[act.__name__] = Operator(act.__name__, said, illegal, make)


def made(name: str, seed: int) -> Mutant:
    """The mutant of one operator and one seed; the same each time."""
    return OPERATORS[name].make(Random(f"{name} {seed}"))
