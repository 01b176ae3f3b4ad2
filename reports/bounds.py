"""Exact bounds of a rate from a number of trials after Clopper and Pearson, at 95 % confidence.

Source: C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the
case of the binomial", Biometrika 26 (1934). Plain arithmetic, independent of runs.
"""

from __future__ import annotations

import math

CONFIDENCE = 0.95
_STEPS = 60


def below(seen: int, of: int) -> float:
    """The rate that stays below this bound, one-sided, when ``seen`` of ``of`` trials showed it.

    For none of n it is ``1 - 0.05 ** (1 / n)``. Without trials it is 1.
    """
    if seen >= of:
        return 1.0
    return _rate_at(seen, of, 1 - CONFIDENCE)


def interval(seen: int, of: int) -> tuple[float, float]:
    """The two-sided interval of the rate, lowest and highest; (0, 1) without trials."""
    rest = (1 - CONFIDENCE) / 2
    lowest = 0.0 if seen == 0 else _rate_at(seen - 1, of, 1 - rest)
    return lowest, 1.0 if seen >= of else _rate_at(seen, of, rest)


def percent(rate: float, *, up: bool) -> str:
    """A rate with two digits, rounded away from what it bounds: up for an upper bound, else down."""
    if rate <= 0:
        return "0 %"
    value = round(100 * rate, 9)
    digits = max(0, 1 - math.floor(math.log10(value)))
    scaled = value * 10**digits
    whole = math.ceil(scaled) if up else math.floor(scaled)
    return f"{whole / 10**digits:.{digits}f} %"


def _rate_at(most: int, of: int, chance: float) -> float:
    """The rate at which ``most`` successes or fewer have this chance; the chance falls as the rate grows."""
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _at_most(most, of, middle) > chance:
            low = middle
        else:
            high = middle
    return high


def _at_most(most: int, of: int, rate: float) -> float:
    """The chance of at most ``most`` successes in ``of`` trials, in logarithms so that nothing overflows."""
    return math.fsum(
        math.exp(
            math.lgamma(of + 1)
            - math.lgamma(count + 1)
            - math.lgamma(of - count + 1)
            + count * math.log(rate)
            + (of - count) * math.log1p(-rate)
        )
        for count in range(most + 1)
    )
