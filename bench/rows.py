"""The counts of series as a file in the repository, ``docs/series.json``: one row a line.

The table in ``docs/series.md`` is made of these rows and of nothing else, so a test can check it.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.experiments.experiment import V2, Experiment
from plans.comparison import Shown
from reports.trials import Tally, Trial

Key = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Row:
    """The results of the runs of one scenario in one mode, protocol and release.

    ``settings`` are other values of the plan's parameters (``percentage=0``), or the defect of a control;
    empty for the plan's own. Of ``of`` trials, counted in ``unit`` (``runs``, ``rounds``), ``as_stated``
    had the plan's result, ``unknown`` say nothing; ``wrong`` has a line for each run that was not as
    expected. ``median_s`` is the wall time of a run. ``plan`` is the digest of the plan that was measured,
    empty where it was not recorded.
    """

    scenario: str
    mode: str
    protocol: str
    release: str
    settings: str
    unit: str
    of: int
    as_stated: int
    unknown: int
    median_s: float | None
    sometimes: tuple[Shown, ...]
    wrong: tuple[str, ...]
    plan: str

    @property
    def key(self) -> Key:
        """What a later measurement of the same replaces."""
        return (self.scenario, self.mode, self.protocol, self.release, self.settings)


def key_of(unit: Experiment) -> Key:
    """The key of the row that a unit is counted in."""
    others = [f"{name}={value}" for name, value in unit.settings if name != V2]
    others += [f"defect={defect}" for defect in unit.defects]
    return (unit.scenario, unit.mode, unit.protocol, unit.version, " ".join(others))


def rows_of(measured: Iterable[tuple[Experiment, Trial]]) -> list[Row]:
    """One row for all trials alike, in the order in which the first of each was run."""
    groups: dict[tuple[Key, str], list[Trial]] = {}
    for unit, trial in measured:
        groups.setdefault((key_of(unit), unit.digest), []).append(trial)
    return [_row(key, digest, Tally(trials)) for (key, digest), trials in groups.items()]


def read_rows(path: Path) -> list[Row]:
    """The rows of a file, none where there is no file."""
    if not path.is_file():
        return []
    return [_from_json(tree) for tree in json.loads(path.read_text(encoding="utf-8"))]


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """All rows, by scenario; the rows of one scenario keep their order."""
    ordered = sorted(rows, key=lambda row: row.scenario)
    lines = ",\n".join(json.dumps(asdict(row), ensure_ascii=False) for row in ordered)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def merged(old: Iterable[Row], new: Iterable[Row]) -> list[Row]:
    """A new row takes the place of the old one of its key: a series is measured in parts."""
    return list(({row.key: row for row in old} | {row.key: row for row in new}).values())


def _row(key: Key, digest: str, tally: Tally) -> Row:
    took = [one.took_s for one in tally.trials if one.took_s]
    return Row(
        *key,
        unit="rounds" if tally.unit.startswith("round") else "runs",
        of=tally.of,
        as_stated=tally.as_stated,
        unknown=tally.unknown,
        median_s=round(statistics.median(took), 1) if took else None,
        sometimes=tuple(tally.sometimes()),
        wrong=tuple(_wrong(tally)),
        plan=digest,
    )


def _wrong(tally: Tally) -> Iterator[str]:
    for one in tally.trials:
        if one.as_stated < one.rounds:
            rounds = f", {one.as_stated} of {one.rounds} rounds as expected" if one.rounds > 1 else ""
            yield f"{one.verdict}{rounds}: {one.why}"


def _from_json(tree: dict[str, Any]) -> Row:
    shown = tuple(Shown(**one) for one in tree["sometimes"])
    return Row(**{**tree, "sometimes": shown, "wrong": tuple(tree["wrong"])})
