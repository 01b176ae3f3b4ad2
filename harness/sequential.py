"""Whether something fails often or rarely, decided after as few tries as a stated confidence allows.

Source: A. Wald, "Sequential Tests of Statistical Hypotheses", Annals of Mathematical Statistics 16
(1945). Two rates are told apart: ``often`` and ``rarely``. After each try the ratio of how likely the
outcomes are under both is held against two bounds; either error is at most ``1 - confidence`` (up to
the little that Wald's bounds overshoot). Between the rates either answer is right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_APART = 9.0
"""``often`` is so many times ``rarely``."""
SUREST = 0.9
"""The highest rate that is called often: what fails always is held against 9 of 10."""


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """Tells the rate ``often`` from ``rarely`` with ``confidence``, each above 0 and below 1."""

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


def sequential_test(rate: float, confidence: float) -> SequentialTest:
    """The test for smaller forms of something that fails at ``rate`` (0 to 1, above 0)."""
    often = min(rate, SUREST)
    return SequentialTest(often, often / _APART, confidence)
