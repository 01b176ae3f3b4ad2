"""Decides whether something fails often or rarely, with as few tries as a given confidence allows.

Source: A. Wald, "Sequential Tests of Statistical Hypotheses", Annals of Mathematical Statistics 16
(1945). The test distinguishes two rates: ``often`` and ``rarely``. After each try the likelihood ratio of
the outcomes under both is compared with two bounds; either error is at most ``1 - confidence`` (except
for the small overshoot of Wald's bounds). Between the rates either answer is right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_APART = 9.0
"""The ratio of ``often`` to ``rarely``."""
SUREST = 0.9
"""The highest rate that is called often: what fails always is held against 9 of 10."""


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """Distinguishes the rates ``often`` and ``rarely`` with ``confidence``, each above 0 and below 1."""

    often: float
    rarely: float
    confidence: float

    def decide(self, failed: int, passed: int) -> bool | None:
        """True: it fails often; False: rarely; None: one more try is needed."""
        bound = math.log(self.confidence / (1 - self.confidence))
        ratio = failed * math.log(self.often / self.rarely)
        ratio += passed * math.log((1 - self.often) / (1 - self.rarely))
        if ratio >= bound - 1e-9:
            return True
        return False if ratio <= -bound + 1e-9 else None

    def fewest(self, failed: int, passed: int) -> int:
        """The least number of further tries after which it may decide: these are needed in any case."""
        more = 1
        while self.decide(failed + more, passed) is None and self.decide(failed, passed + more) is None:
            more += 1
        return more

    @property
    def enough_passes(self) -> int:
        """The number of runs without a failure that what fails often has at most by chance."""
        return math.ceil(math.log(1 - self.confidence) / math.log(1 - self.often))


def sequential_test(rate: float, confidence: float) -> SequentialTest:
    """The test for smaller forms of something that fails at ``rate`` (0 to 1, above 0)."""
    often = min(rate, SUREST)
    return SequentialTest(often, often / _APART, confidence)
