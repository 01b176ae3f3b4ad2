"""``fencepost explore``: plans drawn from a seed, until an anomaly or the time limit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cli.options import (
    AS_JSON,
    DURATION,
    FILE,
    JARS,
    PARALLEL,
    QUIET,
    RELEASE,
    RESULTS,
    chosen_version,
    one_mode,
)

_DEFAULT_FOR_S = 300.0


@click.command("explore")
@one_mode("Mode of every run; default: the profile's (protected).")
@click.option(
    "--for",
    "for_s",
    type=DURATION,
    help="Start no run after this time: 90s, 5m, 2h; default: 5m, with --runs no limit.",
)
@click.option("--runs", type=click.IntRange(1), help="Number of runs after which the search ends.")
@click.option(
    "--seed", type=click.IntRange(0), help="Seed of the first plan; each further plan uses the next seed."
)
@click.option("--profile", type=FILE, help="YAML file with the weights and limits of plans.")
@click.option(
    "--beyond",
    type=click.IntRange(0),
    default=0,
    help="Number of simultaneous copy losses to allow beyond what replication tolerates.",
)
@click.option("--keep-going", is_flag=True, help="Continue after an anomaly.")
@RELEASE
@JARS
@click.option(
    "--show", is_flag=True, help="Print the first plan, ready for `fencepost run`, and run nothing."
)
@PARALLEL
@RESULTS
@QUIET
@AS_JSON
def command(
    mode: str | None,
    for_s: float | None,
    runs: int | None,
    profile: Path | None,
    version: str | None,
    jars: Path | None,
    show: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Search for losses: draw plans from a seed, run and judge each, and report what they exercised.

    A seed gives the same plan with any --parallel; runs that are in progress at the first anomaly are
    finished.

    Exit codes: 0 nothing found, 3 an inconclusive run, 4 an anomaly, 130 Ctrl-C, 143 SIGTERM.
    """
    from plans.exploring.profile import DEFAULT
    from plans.reading.nearest import unknown
    from plans.reading.writing import plan_text
    from protocol.modes import MODES
    from search.explore import Search, explore

    if mode is not None and mode not in MODES:
        raise click.UsageError(unknown("mode", mode, MODES))
    if for_s is None and runs is None:
        for_s = _DEFAULT_FOR_S
    options["version"] = chosen_version(version, jars)
    search = Search(file=profile or DEFAULT, mode=mode, runs=runs, for_s=for_s, **options)
    if show:
        click.echo(plan_text(search.tree(0)), nl=False)
        return 0
    return explore(search, quiet=quiet, as_json=as_json)
