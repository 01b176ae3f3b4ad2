"""``fencepost explore``: plans drawn from a seed, until something is found or the time is up."""

from __future__ import annotations

from pathlib import Path

import click

from harness.durations import DURATION

_DEFAULT_FOR_S = 300.0


@click.command("explore")
@click.option("--mode", help="The mode; default: as the profile says (protected).")
@click.option("--for", "for_s", type=DURATION, help="No run begins after so long: 90s, 5m, 2h. Default 5m.")
@click.option("--runs", type=click.IntRange(1), help="End after so many runs.")
@click.option("--seed", type=click.IntRange(0), help="The first plan's seed; it counts up.")
@click.option(
    "--profile", type=click.Path(path_type=Path, dir_okay=False), help="Weights and limits, a YAML file."
)
@click.option(
    "--beyond", type=click.IntRange(0), default=0, help="Let so many copies more be lost at a time."
)
@click.option("--keep-going", is_flag=True, help="Do not end at the first anomaly.")
@click.option("--bookkeeper", "version", metavar="VERSION", help="BookKeeper's version, for example 4.16.4.")
@click.option("--show", is_flag=True, help="Run nothing; print the first plan, ready for `fencepost run`.")
@click.option("--results", type=click.Path(path_type=Path), help="Default: FENCEPOST_RESULTS or ./results.")
@click.option("--quiet", is_flag=True, help="Only the last line.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of text.")
def command(
    mode: str | None,
    for_s: float | None,
    runs: int | None,
    seed: int | None,
    profile: Path | None,
    beyond: int,
    keep_going: bool,
    version: str | None,
    show: bool,
    results: Path | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Search for losses: draw plans from a seed, run and judge each, and say what was exercised.

    Exit codes: 0 nothing found, 3 a run that says nothing, 4 an anomaly, 130 Ctrl-C, 143 SIGTERM.
    """
    from harness.exploring.explore import Explorer, Search, explore
    from harness.order import default_results
    from plans.exploring.profile import DEFAULT
    from plans.nearest import unknown
    from plans.writing import plan_text
    from protocol.modes import MODES

    if mode is not None and mode not in MODES:
        raise click.UsageError(unknown("mode", mode, MODES))
    search = Search(
        profile=profile or DEFAULT,
        mode=mode,
        version=version,
        seed=seed,
        runs=runs,
        for_s=for_s if for_s is not None or runs is not None else _DEFAULT_FOR_S,
        beyond=beyond,
        keep_going=keep_going,
        results=results or default_results(),
    )
    if show:
        click.echo(plan_text(Explorer(search).tree(0)), nl=False)
        return 0
    return explore(search, quiet=quiet, as_json=as_json)
