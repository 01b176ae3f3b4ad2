"""The runs of the track record, one after the other on one Spark session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from evidence.names import ledger_names
from harness.judging import Judge, judging
from harness.narrator import Narrator
from harness.preparing import Prepared, prepare
from harness.request import RunRequest
from harness.run import run
from harness.trackrecord.bugs import Bug
from harness.trackrecord.counting import Showing, Side, showing, table
from protocol.exit_codes import ExitCode
from reports.marks import put

MARK = "track record"


def carry_out(chosen: Sequence[Bug], *, times: int, results: Path, document: Path | None, quiet: bool) -> int:
    """Run both sides of every bug ``times`` times, print the table, put it into ``document``; the exit code.

    Everything is prepared before anything starts, and a failure of the harness ends all of it.
    """
    narrator = Narrator(quiet=quiet)
    prepared = [(bug, bad, _prepared(bug, bad, results)) for bug in chosen for bad in (True, False)]
    with judging(results) as judge:
        sides = [
            Side(bug, bad, [_shown(bug, replace(one, seed=seed), judge, narrator) for seed in _seeds(times)])
            for bug, bad, one in prepared
        ]
    lines = table(sides)
    for line in lines:
        click.echo(line)
    if document is not None:
        put(document, MARK, lines)
    return _concluded(sides)


def _seeds(times: int) -> range:
    return range(1, times + 1)


def _prepared(bug: Bug, bad: bool, results: Path) -> Prepared:
    release = bug.bad if bad else bug.good
    return prepare(
        RunRequest(scenario=bug.scenario, modes=(bug.mode,), version=release, results=results, seed=1)
    )


def _shown(bug: Bug, prepared: Prepared, judge: Judge, narrator: Narrator) -> Showing:
    narrator.line(f"{bug.name} on {prepared.version}, seed {prepared.seed}", style="bold")
    (mode,) = run(prepared, judge, narrator).modes
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
