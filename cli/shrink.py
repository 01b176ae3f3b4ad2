"""``fencepost shrink``: the smallest plan that fails as a stored run did."""

from __future__ import annotations

from typing import Any

import click

from cli.options import AS_JSON, DURATION, FILE, JARS, PARALLEL, QUIET, RESULTS, one_mode


@click.command("shrink")
@click.argument("run", default="latest")
@one_mode("Mode to shrink, if RUN has several.")
@click.option(
    "--finding",
    "kind",
    metavar="PROPERTY/KIND[/CLASS]",
    help="Finding that must remain; default: the most severe one, known defects last.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.6, 0.999),
    default=0.95,
    show_default=True,
    help="Confidence of each decision that a smaller plan still fails.",
)
@click.option(
    "--for", "for_s", type=DURATION, help="Time limit: 90s, 5m, 2h; the smallest plan until then is written."
)
@click.option(
    "--confirm",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    help="Number of runs that confirm the result.",
)
@click.option("--output", type=FILE, help="File to write; default: shrunk.yaml in RUN.")
@JARS
@PARALLEL
@RESULTS
@QUIET
@AS_JSON
def command(run: str, quiet: bool, as_json: bool, **options: Any) -> int:
    """Remove from RUN (a folder, a bundle, a scenario, or latest) everything that its failure does not need.

    Writes a scenario that `fencepost run FILE` runs. With --parallel, only runs that the next
    decision needs anyway are started together. Exit codes: 0 written and confirmed, 3 not confirmed
    or RUN did not fail again, 130 Ctrl-C, 143 SIGTERM (the smallest plan until then is written).
    """
    from search.shrink import Options, shrink

    return shrink(Options(run, **options), quiet=quiet, as_json=as_json)
