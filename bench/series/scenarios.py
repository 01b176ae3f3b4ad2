"""``scripts/bench scenarios``: the series of all scenarios, until all are done.

A finished run is kept and never repeated, also when its result was not as expected: a run that is
repeated until it fits proves nothing. A changed plan is another plan and is measured again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from bench.series.rows import (
    PART,
    Row,
    counted_in,
    merged,
    read_rows,
    rows_of,
    run_of,
    series_table,
    write_rows,
)
from bench.series.units import Kept, stated_units
from cli.options import PARALLEL
from evidence.folder import remove_run
from harness.campaigns.listing import control_lines
from harness.experiments.experiment import Experiment, Outcome, Status
from harness.experiments.running import run_all
from harness.experiments.workers import WorkerPool
from harness.preparing import prepare
from harness.provenance import CHECKOUT
from harness.request import default_results
from harness.vocabulary import words
from plans.grammar.names import bookie_names
from plans.load import find, load
from plans.models import Plan
from protocol.errors import EvidenceError, FencepostError, JudgementError, PrerequisiteError, UsageError
from protocol.exit_codes import ExitCode
from reports.marks import put
from reports.trials import ENDED_EARLY, Trial, settings_text, stored_trial

_OURS = {error.__name__ for error in (PrerequisiteError, EvidenceError, JudgementError)}
"""Errors that say nothing of a scenario: the series ends and can be taken up again."""
_RUN_S = 3600.0
"""Time for recording one run, rounds included, and for judging it."""


@click.command("scenarios")
@click.option("--only", multiple=True, metavar="NAME", help="Only this scenario (repeatable).")
@click.option("--quick", is_flag=True, help="Each once, with at most two rounds; writes no document.")
@click.option("--table", "only_table", is_flag=True, help="Run nothing; make the table of what is kept.")
@click.option("--again", is_flag=True, help="Forget what is kept of the scenarios named with --only.")
@click.option("--bookkeeper", "versions", multiple=True, metavar="VERSION", help="A release (repeatable).")
@click.option("--protocol", type=click.Choice(["V2", "V3"]), help="Only this wire protocol.")
@PARALLEL
@click.option("--results", type=click.Path(path_type=Path), default=None, help="Default: results/series.")
@click.option(
    "--document",
    type=click.Path(path_type=Path),
    default=CHECKOUT / "docs" / "series.md",
    help="Where the table stands, with its counts beside it. Default: docs/series.md.",
)
def command(
    only: tuple[str, ...],
    quick: bool,
    only_table: bool,
    again: bool,
    versions: tuple[str, ...],
    protocol: str | None,
    parallel: int,
    results: Path | None,
    document: Path,
) -> None:
    """Run every scenario as often as its `series` says, and make the table with bounds."""
    place = results or default_results() / "series"
    if again and not only:
        raise UsageError("--again forgets measurements", remedy="name the scenarios with --only")
    kept, counts = Kept(place), document.with_suffix(".json")
    rows = [] if quick else [one for one in read_rows(counts) if not (again and one.scenario in only)]
    units = stated_units(only=only, versions=versions, protocol=protocol, quick=quick)
    if not only_table:
        with kept.alone():
            if again:
                click.echo(f"forgotten: {kept.drop(units)} runs")
            for line in run_units(units, kept, rows, lambda waiting: carrying_out(waiting, place, parallel)):
                click.echo(line)
    found = [trial for _, trial in kept.measured(units)]
    stated = stated_units() if only or versions or protocol or quick else units
    measured = kept.measured(stated_units(only=only, versions=kept.versions(), quick=quick))
    known = counted_in(rows)
    rows = merged(rows, rows_of(one for one in measured if run_of(one[0]) not in known))
    if not quick:
        write_rows(counts, rows)
        put(document, PART, series_table(rows, stated))
    named = {unit.scenario for unit in units}
    rows = [row for row in rows if row.scenario in named]
    asked = [unit for unit in stated if unit.scenario in named]
    for line in (*series_table(rows, asked), "", *control_lines(_plans(named), counted(rows))):
        click.echo(line)
    if not found and not any(run_of(unit) in known for unit in units):
        click.echo("nothing was measured: none of these runs has a result")
        sys.exit(ExitCode.UNKNOWN)
    runs = {run_of(unit) for unit in units}
    met = all(one.as_stated == one.rounds for one in found)
    met = met and all(row.as_stated == row.of for row in rows if runs & counted_in([row]))
    sys.exit(ExitCode.AS_EXPECTED if met else ExitCode.ANOMALY)


def _plans(names: Iterable[str]) -> Iterator[Plan]:
    return (load(find(name), words()) for name in sorted(names))


def counted(rows: Iterable[Row]) -> dict[tuple[str, ...], tuple[int, int]]:
    """Trials as expected and trials in all, both protocols together."""
    counted: dict[tuple[str, ...], tuple[int, int]] = {}
    for row in rows:
        key = (row.scenario, row.mode, row.release, row.settings)
        as_stated, of = counted.get(key, (0, 0))
        counted[key] = (as_stated + row.as_stated, of + row.of)
    return counted


def run_units(
    units: Sequence[Experiment],
    kept: Kept,
    rows: Iterable[Row],
    carrying: Callable[[Sequence[Experiment]], Iterator[tuple[Experiment, Trial]]],
) -> Iterator[str]:
    """Run what is neither kept nor counted in ``rows`` yet; a line for each run.

    The first run of each kind comes before the second of any: a series that is cut short has some of each.
    """
    known = counted_in(rows)
    waiting = [unit for unit in units if not kept.has(unit) and run_of(unit) not in known]
    waiting.sort(key=lambda unit: unit.number)
    yield f"{len(units)} runs, {len(units) - len(waiting)} of them done already"
    for done, (unit, trial) in enumerate(carrying(waiting), start=1):
        kept.add(unit, trial)
        stated = "as expected" if trial.as_stated == trial.rounds else f"NOT as expected: {trial.why}"
        yield f"{done} of {len(waiting)}  {unit}  {trial.took_s:.1f} s  {stated}"


def carrying_out(
    units: Sequence[Experiment], results: Path, parallel: int = 1
) -> Iterator[tuple[Experiment, Trial]]:
    """Run units, ``parallel`` at a time, and judge them on one Spark session.

    An error of a run is its result. Of runs with the expected result only the first of each kind keeps its
    folder.
    """
    results.mkdir(parents=True, exist_ok=True)
    of = {unit.key: unit for unit in units}
    with WorkerPool(results, results, run_s=_RUN_S, parallel=parallel) as pool:
        for outcome in run_all(units, pool.execute, parallel=parallel, stop=pool.stop):
            unit = of[outcome.key]
            if outcome.error in _OURS or outcome.status is Status.IMPOSSIBLE:
                raise FencepostError(f"{unit}: {outcome.why}", remedy="mend it and start the series again")
            if outcome.status in (Status.ERROR, Status.HUNG):
                yield unit, _ended_early(unit, outcome, results)
                continue
            run = results / outcome.folder
            trial = stored_trial(run, unit.mode, outcome.took_s)
            if unit.breaks:
                met = outcome.status is Status.AS_EXPECTED
                trial = replace(trial, as_stated=trial.rounds if met else 0, shown=(), why=outcome.why)
            if trial.as_stated == trial.rounds and unit.number > 1:
                remove_run(results, run)
            yield unit, trial


def _ended_early(unit: Experiment, outcome: Outcome, results: Path) -> Trial:
    prepared = prepare(unit.request(results))
    plan = prepared.plan
    bookies = bookie_names(plan.cluster.bookies)
    return Trial(
        scenario=plan.name,
        mode=unit.mode,
        releases=" ".join(sorted({plan.cluster.versions.get(one, prepared.version) for one in bookies})),
        settings=settings_text(plan.vary),
        rounds=plan.rounds,
        as_stated=0,
        verdict=ENDED_EARLY,
        took_s=outcome.took_s,
        why=outcome.why,
    )
