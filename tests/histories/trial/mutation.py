"""The mutation score: every operator's illegal mutants must be caught, its legal ones must accuse nobody.

A mutant that was not caught by exactly the findings that its operator demands survives, and is shown with
the seed that makes it again. An operator of which no mutant was ever illegal, though it claims that some
are, has proved nothing: that is no full score either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from checkers.registry import CHECKERS
from tests.histories.mutations.every import OPERATORS, Mutant, Operator, made

NEVER = "never"
TRIES = 12
"""At most so many seeds are tried for one illegal mutant that is wanted."""


@dataclass
class Tally:
    """What became of one operator's mutants; ``wrong`` are (seed, mutant) that came out otherwise."""

    operator: Operator
    illegal: int = 0
    legal: int = 0
    caught_by: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, Mutant]] = field(default_factory=list)

    def add(self, seed: int, mutant: Mutant) -> None:
        """Count one mutant."""
        self.illegal += mutant.illegal
        self.legal += not mutant.illegal
        if not mutant.right:
            self.wrong.append((seed, mutant))
        elif mutant.illegal:
            self.caught_by.update(name for name in mutant.must if not name.endswith("/*"))

    @property
    def survivors(self) -> int:
        return sum(mutant.illegal for _, mutant in self.wrong)

    @property
    def accused(self) -> int:
        return len(self.wrong) - self.survivors

    @property
    def idle(self) -> bool:
        """Whether it claims to break something and never did."""
        return not self.illegal and self.operator.illegal != NEVER


def tallies(mutants: int, names: Iterable[str] = (), seeds: Iterable[int] | None = None) -> Iterator[Tally]:
    """Each operator's tally: so many illegal mutants (legal ones where it never is), or these seeds."""
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
    yield "| operator | what it does | illegal when | illegal | caught by | legal | accused |"
    yield "|---|---|---|---:|---|---:|---:|"
    for tally in tried:
        one = tally.operator
        caught = ", ".join(f"{name} {number}" for name, number in sorted(tally.caught_by.items())) or "-"
        yield (
            f"| `{one.name}` | {one.does} | {one.illegal} | {tally.illegal} | {caught} | "
            f"{tally.legal} | {tally.accused} |"
        )
    yield ""
    for tally in tried:
        for seed, mutant in tally.wrong:
            fate = "survived" if mutant.illegal else "was accused"
            yield (
                f"{fate}: --operator {tally.operator.name} --seed {seed}: found {told(mutant.found)}, "
                f"had to be {told(mutant.must)}"
            )
        if tally.idle:
            yield f"idle: {tally.operator.name} made no illegal mutant ({tally.operator.illegal})"
    yield score(tried)


def told(names: frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def score(tried: list[Tally]) -> str:
    """``mutation score 100 %: 1,840 of 1,840 illegal mutants caught; 0 of 912 legal ones accused``."""
    illegal, legal = sum(one.illegal for one in tried), sum(one.legal for one in tried)
    caught = illegal - sum(one.survivors for one in tried)
    share = f"{int(1000 * caught / illegal) / 10:g} %" if illegal else "undefined"
    accused = sum(one.accused for one in tried)
    return (
        f"mutation score {share}: {caught:,} of {illegal:,} illegal mutants of {len(tried)} operators "
        f"caught; {accused:,} of {legal:,} legal ones accused"
    )


def full(tried: list[Tally]) -> bool:
    """Whether every operator did what it claims, and no mutant came out otherwise."""
    return bool(tried) and not any(tally.wrong or tally.idle for tally in tried)
