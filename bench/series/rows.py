"""The counts of series as a file in the repository, ``docs/series.json``: one row a line; and its table.

The table in ``docs/series.md`` is made of these rows and of nothing else, so a test can check it. A row names
the runs that it counts: a series can be measured in parts, on several machines, and no run counts twice.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from pathlib import Path

from pydantic import TypeAdapter

from cluster.releases.versions import DEFAULT_VERSION
from harness.experiments.experiment import V2, Experiment
from plans.expected.comparison import Shown
from reports.marks import wrapped
from reports.series import below, interval, percent
from reports.trials import Tally, Trial, summed

PART = "series"
_HEADINGS = (
    "| scenario | as expected | with an earlier plan | others below | median s |",
    "|---|---|---|---:|---:|",
)
_RATES = ("| scenario | with | defect | shown | rate |", "|---|---|---|---:|---:|")
EARLIER = "earlier plan"
_RARE = 0.5
"""A defect that showed in no trial may be fixed if more often than this it would have shown."""
Key = tuple[str, str, str, str, str]
Run = tuple[Key, str, int]
"""A key, the digest of a plan, and the number of a run."""


@dataclass(frozen=True)
class Row:
    """The results of the runs of one scenario in one mode, protocol and release."""

    scenario: str
    mode: str
    protocol: str
    release: str
    settings: str
    """Other values of the plan's parameters (``percentage=0``), or the defect of a control; else empty."""
    unit: str
    """What is counted: ``runs`` or ``rounds``."""
    of: int
    """Number of trials."""
    as_stated: int
    """Trials with the plan's result."""
    unknown: int
    """Trials that show nothing."""
    took_s: tuple[float, ...]
    """Wall times of the runs; the median alone where ``plan`` was not recorded."""
    sometimes: tuple[Shown, ...]
    wrong: tuple[str, ...]
    """A line for each run that was not as expected."""
    plan: str
    """Digest of the plan that was measured; empty where it was not recorded."""
    runs: tuple[int, ...] = ()
    """Their numbers; none where ``plan`` was not recorded."""

    @property
    def key(self) -> Key:
        """What is measured, by whichever plan."""
        return (self.scenario, self.mode, self.protocol, self.release, self.settings)


def key_of(unit: Experiment) -> Key:
    """The key of the row that a unit is counted in."""
    others = [f"{name}={value}" for name, value in unit.settings if name != V2]
    others += [f"defect={defect}" for defect in unit.defects]
    return (unit.scenario, unit.mode, unit.protocol, unit.version, " ".join(others))


def rows_of(measured: Iterable[tuple[Experiment, Trial]]) -> list[Row]:
    """One row for all trials alike, in the order in which the first of each was run."""
    groups: dict[tuple[Key, str], list[tuple[int, Trial]]] = {}
    for unit, trial in measured:
        groups.setdefault((key_of(unit), unit.digest), []).append((unit.number, trial))
    return [_row(key, digest, sorted(runs, key=itemgetter(0))) for (key, digest), runs in groups.items()]


def counted_in(rows: Iterable[Row]) -> set[Run]:
    """The runs that these rows count."""
    return {(row.key, row.plan, number) for row in rows for number in row.runs}


def run_of(unit: Experiment) -> Run:
    """How :func:`counted_in` names a run."""
    return key_of(unit), unit.digest, unit.number


def read_rows(path: Path) -> list[Row]:
    """The rows of a file, none where there is no file."""
    if not path.is_file():
        return []
    return TypeAdapter(list[Row]).validate_json(path.read_bytes())


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """All rows, by scenario; the rows of one scenario keep their order."""
    ordered = sorted(rows, key=lambda row: row.scenario)
    lines = ",\n".join(json.dumps(asdict(row), ensure_ascii=False) for row in ordered)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def merged(old: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """Old rows, and what new ones add to them; they may not count the same runs.

    A row of an earlier plan goes when the later one counts as much as it. A row with a result that was not as
    expected stays: a changed plan or statement must not make a failure disappear.
    """
    by_key: dict[Key, dict[str, Row]] = {}
    for row in (*old, *new):
        plans = by_key.setdefault(row.key, {})
        plans[row.plan] = _both(plans.pop(row.plan), row) if row.plan in plans else row
    return [row for plans in by_key.values() for row in _not_overtaken(list(plans.values()))]


def _not_overtaken(rows: Sequence[Row]) -> list[Row]:
    return [
        row
        for at, row in enumerate(rows)
        if row.as_stated < row.of or all(later.of < row.of for later in rows[at + 1 :])
    ]


def _both(one: Row, other: Row) -> Row:
    return replace(
        one,
        of=one.of + other.of,
        as_stated=one.as_stated + other.as_stated,
        unknown=one.unknown + other.unknown,
        took_s=one.took_s + other.took_s,
        sometimes=tuple(summed(one.sometimes + other.sometimes)),
        wrong=one.wrong + other.wrong,
        runs=tuple(sorted(one.runs + other.runs)),
    )


def _row(key: Key, digest: str, runs: Sequence[tuple[int, Trial]]) -> Row:
    tally = Tally([trial for _, trial in runs])
    return Row(
        *key,
        unit="rounds" if tally.unit.startswith("round") else "runs",
        of=tally.of,
        as_stated=tally.as_stated,
        unknown=tally.unknown,
        took_s=tuple(one.took_s for one in tally.trials if one.took_s),
        sometimes=tuple(tally.sometimes()),
        wrong=tuple(_wrong(tally)),
        plan=digest,
        runs=tuple(number for number, _ in runs),
    )


def _wrong(tally: Tally) -> Iterator[str]:
    for one in tally.trials:
        if one.as_stated < one.rounds:
            rounds = f", {one.as_stated} of {one.rounds} rounds as expected" if one.rounds > 1 else ""
            yield f"{one.verdict}{rounds}: {one.why.partition('; log: ')[0]}"  # a path on this machine


def series_table(rows: Iterable[Row], stated: Iterable[Experiment]) -> list[str]:
    """The lines of the tables, then what went wrong, then what of the ``stated`` units has no row.

    Rows that differ only in their mode, or in the digest of their plan, are one line of the table.
    """
    rows = sorted(rows, key=lambda row: row.scenario)
    wanted = {key_of(unit): unit.digest for unit in stated}
    plans = {_of_any_release(key): digest for key, digest in wanted.items()}
    lines: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        lines.setdefault((row.scenario, *_of_any_mode(row)), []).append(row)
    rates = [line for row in rows for line in _rates(row, plans)]
    wrong = _items(
        f"`{row.scenario}` {_of(row)}{_earlier(row, plans)}: {text}" for row in rows for text in row.wrong
    )
    measured = {row.key for row in rows}
    missing = _missing(key for key in wanted if key not in measured)
    now, before = _split(rows, plans)
    return [
        f"{len({row.scenario for row in rows})} scenarios. As expected: {_sum(now)} trials of today's plans,",
        f"{_sum(before)} of earlier plans.",
        "",
        *_HEADINGS,
        *(_line(alike, plans) for alike in lines.values()),
        *(["", "Defects that do not show in every trial:", "", *_RATES, *rates] if rates else []),
        *(["", "Not as expected:", "", *wrong] if wrong else []),
        *(["", "Not measured yet:", "", *missing] if missing else []),
    ]


def _line(rows: Sequence[Row], plans: dict[tuple[str, ...], str]) -> str:
    now, before = _split(rows, plans)
    most = max(below(row.of - row.as_stated, row.of) for row in now or before)
    medians = sorted(round(statistics.median(row.took_s)) for row in now or before if row.took_s)
    seconds = dict.fromkeys(map(str, medians[:1] + medians[-1:]))
    cells = (
        ", ".join((f"`{rows[0].scenario}`", *filter(None, _of_any_mode(rows[0])))),
        _counts(now),
        _counts(before),
        percent(most, up=True),
        "-".join(seconds),
    )
    return f"| {' | '.join(cells)} |"


def _split(rows: Sequence[Row], plans: dict[tuple[str, ...], str]) -> tuple[list[Row], list[Row]]:
    """The rows of the plans as they are, and those of earlier plans."""
    now = [row for row in rows if not _earlier(row, plans)]
    return now, [row for row in rows if _earlier(row, plans)]


def _sum(rows: Iterable[Row]) -> str:
    rows = list(rows)
    return f"{sum(row.as_stated for row in rows):,} of {sum(row.of for row in rows):,}"


def _counts(rows: Iterable[Row]) -> str:
    """``10 of 10 protected, journal; 3 of 4 (1 unknown) nosync``."""
    modes: dict[str, list[str]] = {}
    for row in rows:
        rounds = " rounds" if row.unit == "rounds" else ""
        unknown = f" ({row.unknown} unknown)" if row.unknown else ""
        modes.setdefault(f"{row.as_stated} of {row.of}{rounds}{unknown}", []).append(row.mode)
    return "; ".join(f"{count} {', '.join(named)}" for count, named in modes.items())


def _rates(row: Row, plans: dict[tuple[str, ...], str]) -> Iterator[str]:
    earlier = _earlier(row, plans)
    digest = f" `{row.plan[:4]}`" if earlier and row.plan else ""  # there may be several earlier ones
    measured = f"{_of(row)}{earlier}{digest}"
    for defect in row.sometimes:
        lowest, highest = interval(defect.shown, defect.of)
        limits = f"{percent(lowest, up=False)} to {percent(highest, up=True)}"
        if not defect.shown:
            most = below(0, defect.of)
            limits = f"below {percent(most, up=True)}{': perhaps fixed' if most < _RARE else ''}"
        shown = f"{defect.shown} of {defect.of}"
        yield f"| `{row.scenario}` | {measured} | {defect.text} | {shown} | {limits} |"


def _of_any_mode(row: Row) -> tuple[str, ...]:
    """What a line names beside its scenario: what is not the default."""
    protocol = row.protocol if row.protocol != "V3" else ""
    return (
        protocol,
        row.release if row.release != DEFAULT_VERSION else "",
        row.settings and f"`{row.settings}`",
    )


def _of_any_release(key: Key) -> tuple[str, ...]:
    """What the plan depends on: it is the same on each release."""
    scenario, _, protocol, _, settings = key
    return scenario, protocol, settings


def _earlier(row: Row, plans: dict[tuple[str, ...], str]) -> str:
    return "" if row.plan == plans.get(_of_any_release(row.key)) else f", {EARLIER}"


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
