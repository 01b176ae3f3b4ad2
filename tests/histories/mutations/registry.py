"""The mutation operators: each does one wrong thing to a lawful record, and states what must be found.

An operator is one function, registered by name. It takes a case (a lawful record of the kind that its
``of`` makes) and dice, and returns a :class:`Mutant`. Where its precondition does not hold the change is
legal, and nothing may be found: a legal mutant with an anomaly is as wrong as an illegal one without.
Tests and ``scripts/bench mutation`` take them from here; ``made(name, seed)`` makes the same mutant again.

What must be found is a set of :class:`Sign`: property, kind, ledger, entries, count and class of each
finding. A bare name (``recovery/ended_too_soon``) states the kind alone, ``recovery/*`` allows anything of
a property; a mutant with either is not exact. The set may hold the verdict of the run; without one it is an
anomaly if anything must be found, else valid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from checkers.judging.contract import RunFacts
from checkers.judging.judge import CHECKERS, judge
from checkers.judging.verdict import EVIDENCE, merged, undecided
from evidence.findings import Judgement, Verdict
from tests.histories.story import Fact, chunk

OPERATORS: dict[str, Operator] = {}
UNKNOWN = Verdict.UNKNOWN
_UNKNOWN = "/unknown"


class Sign(NamedTuple):
    """One finding: ``property/kind``, its entries (-1: none), their number, a loss's class, the ledger."""

    name: str
    first: int = -1
    last: int = -1
    count: int = 1
    loss: str = ""
    ledger: int = 1

    def __str__(self) -> str:
        where = f" {self.first}..{self.last} ({self.count})" if self.first >= 0 else f" ({self.count})"
        return f"{self.name} of ledger {self.ledger}{where}{' ' * bool(self.loss)}{self.loss}"


def span(name: str, first: int, last: int, loss: str = "", *, ledger: int = 1) -> set[Sign]:
    """One finding that stands for each of these entries; none of an empty span."""
    return {Sign(name, first, last, last - first + 1, loss, ledger)} if first <= last else set()


def unknown(name: str, *, ledger: int = 1) -> Sign:
    """The property is unknown for the ledger (-1: for the run), and no other is if this is stated."""
    return Sign(name + _UNKNOWN, count=0, ledger=ledger)


Must = Iterable[Sign | str | Verdict]


@dataclass(frozen=True)
class Mutant:
    """A doctored record: what was found in it, and what must be; the run's verdict, and what it must be."""

    found: tuple[Sign, ...]
    verdict: Verdict
    must: tuple[Sign | str, ...]
    ends: Verdict

    @property
    def illegal(self) -> bool:
        """Whether the run's verdict has to be an anomaly."""
        return self.ends is Verdict.ANOMALY

    @property
    def exact(self) -> bool:
        """Whether everything that must be found is stated with its ledger, entries, count and class."""
        return not any(isinstance(one, str) for one in self.must)

    @property
    def right(self) -> bool:
        """Whether exactly that was found, no less and no more, and the verdict is that."""
        signs = Counter(one for one in self.must if isinstance(one, Sign))
        names = {one for one in self.must if isinstance(one, str)}
        found = Counter(self.found)
        if not any(_is_unknown(one) for one in signs):
            found = Counter({one: number for one, number in found.items() if not _is_unknown(one)})
        rest = {one.name for one in found - signs}
        allowed = {name for name in rest if name in names or f"{name.split('/')[0]}/*" in names}
        missing = {name for name in names if not name.endswith("/*")} - rest
        return not (signs - found or missing or rest - allowed) and self.verdict is self.ends

    @property
    def shape(self) -> tuple[object, ...]:
        """What must be found without its numbers: kinds, classes, the run's verdict."""
        return (
            self.ends,
            frozenset((one.name, one.loss) if isinstance(one, Sign) else one for one in self.must),
        )


def _is_unknown(sign: Sign) -> bool:
    return sign.name.endswith(_UNKNOWN)


def mutant(found: Iterable[Sign], verdict: Verdict, must: Must) -> Mutant:
    """What was found beside what must be; a verdict among the latter is the verdict of the run."""
    stated = [one for one in must if isinstance(one, Verdict)]
    signs = sorted((one for one in must if not isinstance(one, Verdict)), key=str)
    broken = any(not name_of(one).endswith(("/*", _UNKNOWN)) for one in signs)
    ends = stated[0] if stated else Verdict.ANOMALY if broken else Verdict.VALID
    return Mutant(tuple(sorted(found)), verdict, tuple(signs), ends)


def name_of(one: Sign | str) -> str:
    """``property/kind``."""
    return one.name if isinstance(one, Sign) else one


@dataclass(frozen=True)
class Operator:
    """One operator: what it does, when that is illegal, of which lawful cases, judged how."""

    name: str
    does: str
    illegal: str
    make: Callable[[Random], Mutant]


def judged(
    history: list[Fact], run: RunFacts, *, only: Iterable[str] = ()
) -> tuple[tuple[Sign, ...], Verdict]:
    """What the checkers find and leave unknown, and the verdict.

    Where some properties only are judged, the evidence is taken to be whole.
    """
    wanted = set(only)
    checkers = tuple(one for one in CHECKERS if not wanted or one.name in wanted)
    whole = {EVIDENCE: Judgement(EVIDENCE, Verdict.VALID, needed="")}
    judgements = {**whole, **judge([chunk(history)], run, checkers=checkers).judgements}
    found = [
        Sign(f"{name}/{one.kind}", one.first_entry, one.last_entry, one.count, one.loss, one.ledger)
        for name, judgement in judgements.items()
        for one in judgement.findings
    ]
    found += [unknown(name, ledger=ledger) for name, ledger in undecided(run.required, judgements)]
    return tuple(found), merged(judgements, run)


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
            return mutant(*judged(history, run[0] if run else case.run, only=only), must)

        entered(act, illegal, make)
        return act

    return register


def entered(act: Callable[..., Any], illegal: str, make: Callable[[Random], Mutant]) -> None:
    """Register an operator under its function's name; the docstring's first line says what it does."""
    assert act.__name__ not in OPERATORS, act.__name__
    title = (act.__doc__ or act.__name__.replace("_", " ")).splitlines()[0].rstrip(".")
    OPERATORS[act.__name__] = Operator(act.__name__, title, illegal, make)


def made(name: str, seed: int) -> Mutant:
    """The mutant of one operator and one seed; the same each time."""
    return OPERATORS[name].make(Random(f"{name} {seed}"))
