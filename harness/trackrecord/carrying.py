"""The runs of the track record, judged on one Spark session."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click

from evidence.names import ledger_names
from harness.experiments.parallel import run_each
from harness.judging import judging
from harness.narrator import Narrator
from harness.preparing import Prepared, prepare
from harness.request import RunRequest
from harness.trackrecord.bugs import Bug
from harness.trackrecord.counting import Showing, Side, showing, table
from protocol.exit_codes import ExitCode
from reports.marks import put
from reports.results import RunResult

MARK = "track record"


def carry_out(
    chosen: Sequence[Bug], *, times: int, parallel: int, results: Path, document: Path | None, quiet: bool
) -> int:
    """Run both sides of every bug ``times`` times, print the table, put it into ``document``; the exit code.

    Everything is prepared before anything starts, and a failure of the harness ends all of it. ``parallel``
    runs are recorded at a time.
    """
    both = [(bug, bad) for bug in chosen for bad in (True, False)]
    seeds = range(1, times + 1)
    first = [_prepared(bug, bad, results) for bug, bad in both]
    ready = [replace(one, seed=seed) for one in first for seed in seeds]
    with (
        judging(results) as judge,
        closing(run_each(ready, judge, Narrator(quiet=quiet), parallel=parallel)) as ended,
    ):
        found = dict(ended)
    sides = [
        Side(bug, bad, [_shown(bug, found[before * times + seed]) for seed in seeds])
        for before, (bug, bad) in enumerate(both)
    ]
    lines = table(sides)
    for line in lines:
        click.echo(line)
    if document is not None:
        put(document, MARK, lines)
    return _concluded(sides)


def _prepared(bug: Bug, bad: bool, results: Path) -> Prepared:
    release = bug.bad if bad else bug.good
    return prepare(
        RunRequest(scenario=bug.scenario, modes=(bug.mode,), version=release, results=results, seed=1)
    )


def _shown(bug: Bug, result: RunResult) -> Showing:
    (mode,) = result.modes
    return showing(bug, mode.verdict, ledger_names(mode.folder), as_stated=mode.comparison.met)


def _concluded(sides: Sequence[Side]) -> int:
    wrong = [side for side in sides if not side.as_recorded]
    if not wrong:
        click.echo(f"{len(sides)} of {len(sides)} as recorded; exit {ExitCode.AS_EXPECTED}")
        return ExitCode.AS_EXPECTED
    code = ExitCode.UNKNOWN if all(side.unknown for side in wrong) else ExitCode.ANOMALY
    told = "; ".join(f"{side.bug.name} on {side.text()}" for side in wrong)
    click.echo(f"{len(sides) - len(wrong)} of {len(sides)} as recorded; exit {code}: {told}")
    return code
