"""``fencepost shrink``: the smallest plan that fails as a stored run did."""

from __future__ import annotations

from pathlib import Path

import click

from harness.durations import DURATION


@click.command("shrink")
@click.argument("run", default="latest")
@click.option("--mode", help="Which mode of RUN, where several ran.")
@click.option(
    "--finding", metavar="PROPERTY/KIND", help="What must stay; default: the severest that was found."
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.6, 0.999),
    default=0.95,
    show_default=True,
    help="Of each decision whether a smaller plan still fails.",
)
@click.option("--for", "for_s", type=DURATION, help="End after so long with what was reached: 90s, 5m, 2h.")
@click.option(
    "--confirm", type=click.IntRange(0), default=3, show_default=True, help="Last runs of the result."
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Default: shrunk.yaml in RUN."
)
@click.option("--results", type=click.Path(path_type=Path), help="Default: FENCEPOST_RESULTS or ./results.")
@click.option("--quiet", is_flag=True, help="Only the last line.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of text.")
def command(
    run: str,
    mode: str | None,
    finding: str | None,
    confidence: float,
    for_s: float | None,
    confirm: int,
    output: Path | None,
    results: Path | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Take away from RUN (a folder, a bundle, a scenario, or latest) what its failure does not need.

    Writes a scenario that `fencepost run FILE` runs. Exit codes: 0 written and confirmed, 3 not
    confirmed, 130 Ctrl-C, 143 SIGTERM (the smallest plan so far is written).
    """
    from harness.exploring.shrink import Wish, shrink
    from harness.order import default_results

    wish = Wish(run, mode, finding, confidence, for_s, confirm, output, results or default_results())
    return shrink(wish, quiet=quiet, as_json=as_json)
