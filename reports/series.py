"""The result of a series as text: the fraction that was as expected, with the bound for that number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from plans.comparison import Shown
from reports.bounds import below, interval, percent
from reports.trials import Tally

Line = tuple[str, str]
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
    """``20 of 20 rounds as expected; bound: below 14 % with 95 % confidence``."""
    unknown = f" ({tally.unknown} unknown)" if tally.unknown else ""
    otherwise = bound(tally.as_stated, tally.of)
    return f"{tally.as_stated} of {tally.of} {tally.unit} as expected{unknown}; {otherwise} {_SURE}"


def bound(as_stated: int, of: int) -> str:
    """The bound of the rate of other results; unknown counts as another result."""
    other = of - as_stated
    return f"{'bound: ' if not other else 'otherwise: '}below {percent(below(other, of), up=True)}"


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
