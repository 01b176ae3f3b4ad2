"""``fencepost replay``: a stored run again, as it was executed."""

from __future__ import annotations

from typing import Any

import click

from cli.options import AS_JSON, JARS, PARALLEL, QUIET, RESULTS, one_mode


@click.command("replay")
@click.argument("run", default="latest")
@click.option("--times", type=click.IntRange(1), default=1, show_default=True, help="Number of runs.")
@one_mode("Mode to replay, if RUN has several.")
@click.option(
    "--backend", metavar="NAME", help="Backend of the servers, local or docker; default: that of RUN."
)
@JARS
@PARALLEL
@RESULTS
@QUIET
@AS_JSON
def command(run: str, **options: Any) -> int:
    """Repeat RUN (a folder, a bundle, a scenario, or latest): the same steps at the recorded times.

    Exit codes: 0 it never failed, 3 an inconclusive run, 4 it failed, 130 Ctrl-C, 143 SIGTERM.
    """
    from search.replay import replay

    return replay(run, **options)
