"""The result of a series as text: the fraction that was as expected, with the bound for that number.

Bounds are exact, after Clopper and Pearson, at 95 % confidence. Source: C. J. Clopper, E. S. Pearson, "The
use of confidence or fiducial limits illustrated in the case of the binomial", Biometrika 26 (1934).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from plans.expected.comparison import Shown
from reports.trials import Tally

Line = tuple[str, str]
CONFIDENCE = 0.95
_SURE = "with 95 % confidence"


def series_lines(counted: Iterable[Tally]) -> Iterator[Line]:
    """Lines of (text, style) for each scenario and mode that was tried more than once."""
    for tally in counted:
        if tally.of < 2:
            continue
        first = tally.first
        named = f"{first.scenario}{f' ({first.settings})' if first.settings else ''}"
        style = "" if tally.as_stated == tally.of else "red"
        yield f"{named}, {first.mode}, BookKeeper {first.releases}: {quoted(tally)}", style
        for shown in tally.sometimes():
            yield f"  {rate(shown)}", ""


def quoted(tally: Tally) -> str:
    """``20 of 20 rounds as expected; other results: below 14 % with 95 % confidence``."""
    unknown = f" ({tally.unknown} unknown)" if tally.unknown else ""
    otherwise = bound(tally.as_stated, tally.of)
    return f"{tally.as_stated} of {tally.of} {tally.unit} as expected{unknown}; {otherwise} {_SURE}"


def bound(as_stated: int, of: int) -> str:
    """The bound of the rate of other results; unknown counts as another result."""
    return f"other results: below {percent(below(of - as_stated, of), up=True)}"


def rate(shown: Shown) -> str:
    """How often a defect shows that shows sometimes; none at all is perhaps its end."""
    if not shown.shown:
        most = percent(below(0, shown.of), up=True)
        return f"perhaps fixed: {shown.text} in none of {shown.of}; below {most} {_SURE}"
    lowest, highest = interval(shown.shown, shown.of)
    return (
        f"{shown.text} in {shown.shown} of {shown.of}; between {percent(lowest, up=False)} "
        f"and {percent(highest, up=True)} {_SURE}"
    )


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
