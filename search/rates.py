"""How often runs fail, with exact bounds: one way to count, for ``replay`` and for ``shrink``.

A run that fails says so whatever else it lacks, one that does not fail only when its evidence is whole.
Leaving out the others would raise the rate, so the lower bound counts them as runs that did not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from reports.series import CONFIDENCE, interval, percent
from search.running import Ended


@dataclass(frozen=True, slots=True)
class Rate:
    """``seen`` failures in ``decided`` runs that say whether they failed, ``of`` all runs."""

    seen: int
    decided: int
    of: int

    @property
    def silent(self) -> int:
        """The number of runs that say nothing."""
        return self.of - self.decided

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest rate (Clopper and Pearson)."""
        return interval(self.seen, self.of)[0], interval(self.seen, self.decided)[1]

    def __str__(self) -> str:
        """``in 3 of 5 runs, between 14 % and 95 % with 95 % confidence``."""
        if not self.decided:
            return "in no run that says something"
        lowest, highest = self.bounds
        return (
            f"in {self.seen} of {self.decided} runs, between {percent(lowest, up=False)} and "
            f"{percent(highest, up=True)} with {CONFIDENCE:.0%} confidence".replace("95%", "95 %")
        )


def rate(ended: Sequence[Ended], fails: Callable[[Ended], bool], kinds: Collection[str]) -> Rate:
    """How often runs fail; ``kinds`` are the kinds of failure that one without a failure must exclude."""
    properties = {kind.partition("/")[0] for kind in kinds}
    failed = [one for one in ended if fails(one)]
    passed = [one for one in ended if not fails(one) and one.conclusive and one.decides(properties)]
    return Rate(len(failed), len(failed) + len(passed), len(ended))


def rate_of(kind: str, ended: Sequence[Ended]) -> Rate:
    """How often runs show this kind."""
    return rate(ended, lambda one: kind in one.kinds, {kind})
