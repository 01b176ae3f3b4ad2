"""The table of a series in Markdown: what was tried how often, and what that excludes."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.reports.marks import between, put
from harness.reports.series import bound, rate
from harness.trials import Tally, Trial, tallies
from harness.units import protocol_of

PART = "series"
_HEADINGS = ("scenario", "mode", "protocol", "release", "tried", "as stated", "bound or rate", "median s")
_ROW = re.compile(r"\| `(?P<scenario>.+?)` \| (?P<mode>.+?) \| (?P<protocol>.+?) \| (?P<release>.+?) \|")
_WRONG = re.compile(r"- `(?P<scenario>.+?)` (?P<mode>\S+) (?P<protocol>\S+) (?P<release>[^\s:]+)")


def series_table(trials: Iterable[Trial]) -> list[str]:
    """The lines of the table, then what went wrong, a line for each run that was not as stated."""
    counted = tallies(trials)
    rows = [f"| {' | '.join(_cells(tally))} |" for tally in counted]
    return _table(rows, [f"- {text}" for tally in counted for text in _wrong(tally)])


def write_table(document: Path, lines: Iterable[str]) -> None:
    """Put the table between the marks of a document; ``UsageError`` when it has none.

    A row takes the place of the one that was there of the same scenario, mode, protocol and release.
    The others stay: a series is measured in parts, in more than one folder.
    """
    put(document, PART, _merged(between(document, PART), list(lines)))


def _table(rows: list[str], wrong: list[str]) -> list[str]:
    head = [f"| {' | '.join(_HEADINGS)} |", "|---|---|---|---|---|---|---|---:|"]
    return [*head, *rows, *(["", "Not as stated:", "", *wrong] if wrong else [])]


def _merged(old: list[str], new: list[str]) -> list[str]:
    """Scenarios by name; the rows of one keep their order."""
    measured = dict(_keyed(_ROW, new))
    rows = {**dict(_keyed(_ROW, old)), **measured}
    wrong = _keyed(_WRONG, new) + [one for one in _keyed(_WRONG, old) if one[0] not in measured]
    return _table(_by_scenario(rows.items()), _by_scenario(wrong))


def _by_scenario(keyed: Iterable[tuple[tuple[str, ...], str]]) -> list[str]:
    return [line for _, line in sorted(keyed, key=lambda one: one[0][0])]


def _keyed(shape: re.Pattern[str], lines: list[str]) -> list[tuple[tuple[str, ...], str]]:
    return [(found.groups(), line) for line in lines if (found := shape.match(line))]


def _protocol(trial: Trial) -> str:
    return protocol_of(trial.settings.split())


def _cells(tally: Tally) -> tuple[str, ...]:
    first = tally.first
    unknown = f" ({tally.unknown} unknown)" if tally.unknown else ""
    took = [one.took_s for one in tally.trials if one.took_s]
    told = "; ".join([bound(tally), *(rate(shown) for shown in tally.sometimes())])
    return (
        f"`{first.scenario}`",
        first.mode,
        _protocol(first),
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
            tried = f"`{one.scenario}` {one.mode} {_protocol(one)} {one.releases}"
            yield f"{tried}: {one.verdict}{rounds}: {one.why}"
