"""Exact bounds of a rate from a number of trials after Clopper and Pearson, at 95 % confidence.

Source: C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the
case of the binomial", Biometrika 26 (1934). Independent of runs.
"""

from __future__ import annotations

import math

CONFIDENCE = 0.95


def below(seen: int, of: int) -> float:
    """The rate that stays below this bound, one-sided, when ``seen`` of ``of`` trials showed it.

    For none of n it is ``1 - 0.05 ** (1 / n)``. Without trials it is 1.
    """
    return _highest(seen, of, CONFIDENCE)


def interval(seen: int, of: int) -> tuple[float, float]:
    """The two-sided interval of the rate, lowest and highest; (0, 1) without trials."""
    rest = (1 - CONFIDENCE) / 2
    return 1 - _highest(of - seen, of, 1 - rest), _highest(seen, of, 1 - rest)


def percent(rate: float, *, up: bool) -> str:
    """A rate with two digits, rounded away from what it bounds: up for an upper bound, else down."""
    if rate <= 0:
        return "0 %"
    value = round(100 * rate, 9)
    digits = max(0, 1 - math.floor(math.log10(value)))
    scaled = value * 10**digits
    whole = math.ceil(scaled) if up else math.floor(scaled)
    return f"{whole / 10**digits:.{digits}f} %"


def _highest(seen: int, of: int, confidence: float) -> float:
    """The rate at which ``seen`` or fewer have the chance that is left: a quantile of a beta distribution."""
    from scipy.special import betaincinv

    return float(betaincinv(seen + 1, of - seen, confidence)) if seen < of else 1.0
