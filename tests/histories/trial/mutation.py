"""The mutation score: every operator's illegal mutants must be caught, its legal ones must have no anomaly.

A mutant that was not caught by exactly the findings that its operator states survives, and is shown with
the seed that makes it again. So does one whose run has another verdict. The score counts those
alone that state everything: ledger, entries, count, class. Mutants repeat each other, so their shapes are
counted too. An operator of which no mutant was ever illegal, though it claims that some are, has proved
nothing: that is no full score either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from checkers.judging.judge import CHECKERS
from tests.histories.mutations.every import OPERATORS, Mutant, Operator, made
from tests.histories.mutations.registry import Sign, name_of

NEVER = "never"
NO_KINDS = ("/*", "/unknown")
TRIES = 12
"""The number of seeds that are tried at most for one illegal mutant."""


@dataclass
class Tally:
    """What became of one operator's mutants.

    ``exact`` are the illegal ones that state ledger, entries, count and class of all that must be found;
    ``shapes`` what the illegal ones state without its numbers; ``wrong`` are (seed, mutant) with another
    result.
    """

    operator: Operator
    illegal: int = 0
    exact: int = 0
    legal: int = 0
    shapes: set[object] = field(default_factory=set)
    caught_by: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, Mutant]] = field(default_factory=list)

    def add(self, seed: int, mutant: Mutant) -> None:
        self.illegal += mutant.illegal
        self.exact += mutant.illegal and mutant.exact
        self.legal += not mutant.illegal
        if mutant.illegal:
            self.shapes.add(mutant.shape)
        if not mutant.right:
            self.wrong.append((seed, mutant))
        elif mutant.illegal:
            self.caught_by.update({name for name in map(name_of, mutant.must) if not name.endswith(NO_KINDS)})

    @property
    def survivors(self) -> int:
        return sum(mutant.illegal for _, mutant in self.wrong)

    @property
    def flagged(self) -> int:
        return len(self.wrong) - self.survivors

    @property
    def caught_exactly(self) -> int:
        """Illegal mutants that state everything and were judged as expected."""
        return self.exact - sum(mutant.illegal and mutant.exact for _, mutant in self.wrong)

    @property
    def idle(self) -> bool:
        """Whether it claims to break something and never did."""
        return not self.illegal and self.operator.illegal != NEVER


def tallies(mutants: int, names: Iterable[str] = (), seeds: Iterable[int] | None = None) -> Iterator[Tally]:
    """Each operator's tally: of ``mutants`` illegal mutants (legal where it never is), or these seeds."""
    for name in names or OPERATORS:
        tally = Tally(OPERATORS[name])
        for seed in seeds if seeds is not None else range(TRIES * mutants):
            tally.add(seed, made(name, seed))
            done = tally.legal if tally.operator.illegal == NEVER else tally.illegal
            if seeds is None and done >= mutants:
                break
        yield tally


def unreached(tried: Iterable[Tally]) -> list[str]:
    """Findings of the checkers of a run that no illegal mutant was caught by."""
    reached = {name for tally in tried for name in tally.caught_by}
    return sorted({f"{checker.name}/{kind}" for checker in CHECKERS for kind in checker.kinds} - reached)


def lines(tried: list[Tally]) -> Iterator[str]:
    """The table, then the survivors, then the score."""
    heads = ("operator", "what it does", "illegal when", "illegal", "shapes", "exact", "caught by", "legal")
    yield f"| {' | '.join((*heads, 'flagged'))} |"
    yield "|---|---|---|---:|---:|---:|---|---:|---:|"
    for tally in tried:
        one = tally.operator
        caught = ", ".join(f"{name} {number}" for name, number in sorted(tally.caught_by.items())) or "-"
        yield (
            f"| `{one.name}` | {one.does} | {one.illegal} | {tally.illegal} | {len(tally.shapes)} | "
            f"{tally.exact} | {caught} | "
            f"{tally.legal} | {tally.flagged} |"
        )
    yield ""
    for tally in tried:
        for seed, mutant in tally.wrong:
            fate = "survived" if mutant.illegal else "was flagged"
            yield (
                f"{fate}: --operator {tally.operator.name} --seed {seed}: found {joined(mutant.found)} "
                f"({mutant.verdict}), had to be {joined(mutant.must)} ({mutant.ends})"
            )
        if tally.idle:
            yield f"idle: {tally.operator.name} made no illegal mutant ({tally.operator.illegal})"
    yield from score(tried)


def joined(found: Iterable[Sign | str]) -> str:
    return ", ".join(map(str, found)) or "nothing"


def score(tried: list[Tally]) -> Iterator[str]:
    """The share of illegal mutants that were caught with every number right, then what it is made of."""
    illegal, legal = sum(one.illegal for one in tried), sum(one.legal for one in tried)
    exact, survived = sum(one.caught_exactly for one in tried), sum(one.survivors for one in tried)
    flagged, shapes = sum(one.flagged for one in tried), sum(len(one.shapes) for one in tried)
    share = f"{int(1000 * exact / illegal) / 10:g} %" if illegal else "undefined"
    yield (
        f"mutation score {share}: {exact:,} of {illegal:,} illegal mutants caught with ledger, entries, "
        f"count, class and verdict; {illegal - exact - survived:,} caught by kind and verdict only, "
        f"{survived:,} survived; {flagged:,} of {legal:,} legal ones flagged"
    )
    yield f"the illegal mutants have {shapes:,} shapes (kinds, classes, verdict), of {len(tried)} operators"


def full(tried: list[Tally]) -> bool:
    """Whether every operator did what it claims, and no mutant was judged otherwise."""
    return bool(tried) and not any(tally.wrong or tally.idle for tally in tried)
