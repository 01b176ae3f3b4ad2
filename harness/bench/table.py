"""The table of a series in Markdown: what was tried how often, and what that excludes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.bench.units import V2
from harness.reports.series import bound, rate
from harness.trials import Tally, Trial, tallies
from protocol.errors import UsageError

BEGIN, END = "<!-- series: begin -->", "<!-- series: end -->"
_HEADINGS = ("scenario", "mode", "protocol", "release", "tried", "as stated", "bound or rate", "median s")


def series_table(trials: Iterable[Trial]) -> list[str]:
    """The lines of the table, then what went wrong, a line for each run that was not as stated."""
    counted = tallies(trials)
    lines = [f"| {' | '.join(_HEADINGS)} |", "|---|---|---|---|---|---|---|---:|"]
    lines += [f"| {' | '.join(_cells(tally))} |" for tally in counted]
    wrong = [f"- {text}" for tally in counted for text in _wrong(tally)]
    return [*lines, "", "Not as stated:", "", *wrong] if wrong else lines


def write_table(document: Path, lines: Iterable[str]) -> None:
    """Put the table between the marks of a document; ``UsageError`` when it has none."""
    text = document.read_text(encoding="utf-8") if document.is_file() else ""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UsageError(
            f"{document} has no place for the table",
            remedy=f"write the lines `{BEGIN}` and `{END}` where it shall stand",
        )
    document.write_text("\n".join([before + begin, "", *lines, "", end + after]), encoding="utf-8")


def _cells(tally: Tally) -> tuple[str, ...]:
    first = tally.first
    protocol = "V2" if f"{V2}=true" in first.settings.split() else "V3"
    unknown = f" ({tally.unknown} unknown)" if tally.unknown else ""
    took = [one.took_s for one in tally.trials if one.took_s]
    told = "; ".join([bound(tally), *(rate(shown) for shown in tally.sometimes())])
    return (
        f"`{first.scenario}`",
        first.mode,
        protocol,
        first.releases,
        f"{tally.of} {tally.unit}",
        f"{tally.as_stated}{unknown}",
        told.removeprefix("bound: ").replace(" with 95 % confidence", ""),
        f"{statistics.median(took):.0f}" if took else "-",
    )


def _wrong(tally: Tally) -> Iterator[str]:
    for one in tally.trials:
        if one.as_stated < one.rounds:
            rounds = f", {one.as_stated} of {one.rounds} rounds as stated" if one.rounds > 1 else ""
            settings = f" ({one.settings})" if one.settings else ""
            yield f"`{one.scenario}` {one.mode}{settings}: {one.verdict}{rounds}: {one.why}"
