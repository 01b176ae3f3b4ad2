"""The table of a series in Markdown: what was tried how often, and what that excludes."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from bench.rows import Key, Row, key_of
from harness.experiments.experiment import Experiment
from reports.marks import wrapped
from reports.series import bound, rate

PART = "series"
_HEADINGS = ("scenario", "mode", "protocol", "release", "tried", "as expected", "bound or rate", "median s")
EARLIER = "earlier plan"


def series_table(rows: Iterable[Row], stated: Iterable[Experiment]) -> list[str]:
    """The lines of the table, then what went wrong, then what of the ``stated`` units has no row.

    A row is marked where its plan has changed since: another plan was measured.
    """
    rows = sorted(rows, key=lambda row: row.scenario)
    wanted = {key_of(unit): unit.digest for unit in stated}
    plans = {_of_any_release(key): digest for key, digest in wanted.items()}
    lines = [f"| {' | '.join(_HEADINGS)} |", "|---|---|---|---|---|---|---|---:|"]
    lines += [f"| {' | '.join(_cells(row, plans))} |" for row in rows]
    wrong = _items(f"`{row.scenario}` {_of(row)}: {text}" for row in rows for text in row.wrong)
    missing = _missing(key for key in wanted if key not in {row.key for row in rows})
    return [
        *lines,
        *(["", "Not as expected:", "", *wrong] if wrong else []),
        *(["", "Not measured yet:", "", *missing] if missing else []),
    ]


def _of_any_release(key: Key) -> tuple[str, ...]:
    """What the plan depends on: it is the same on each release."""
    scenario, _, protocol, _, settings = key
    return scenario, protocol, settings


def _cells(row: Row, plans: dict[tuple[str, ...], str]) -> tuple[str, ...]:
    limits = "; ".join([bound(row.as_stated, row.of), *map(rate, row.sometimes)])
    unit = row.unit.removesuffix("s") if row.of == 1 else row.unit
    earlier = "" if row.plan == plans.get(_of_any_release(row.key)) else f", {EARLIER}"
    return (
        f"`{row.scenario}`",
        _with(row.mode, row.settings),
        row.protocol,
        row.release,
        f"{row.of} {unit}{earlier}",
        f"{row.as_stated}{f' ({row.unknown} unknown)' if row.unknown else ''}",
        limits.removeprefix("bound: ").replace(" with 95 % confidence", ""),
        f"{statistics.median(row.took_s):.0f}" if row.took_s else "-",
    )


def _with(mode: str, settings: str) -> str:
    return f"{mode}, `{settings}`" if settings else mode


def _of(row: Row) -> str:
    return f"{_with(row.mode, row.settings)} {row.protocol} {row.release}"


def _missing(keys: Iterable[Key]) -> list[str]:
    lacking: dict[str, list[str]] = {}
    for scenario, mode, protocol, release, settings in keys:
        lacking.setdefault(scenario, []).append(f"{_with(mode, settings)} {protocol} {release}")
    return _items(f"`{scenario}`: {'; '.join(kinds)}" for scenario, kinds in sorted(lacking.items()))


def _items(texts: Iterable[str]) -> list[str]:
    return [line for text in texts for line in wrapped(f"- {text}", indent="  ")]
