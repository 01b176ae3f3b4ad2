"""``fencepost replay``: a stored run again, as it was executed."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("replay")
@click.argument("run", default="latest")
@click.option("--times", type=click.IntRange(1), default=1, show_default=True, help="So many runs.")
@click.option("--mode", help="Which mode of RUN, where several ran.")
@click.option("--backend", metavar="NAME", help="local or docker; default: the run's own.")
@click.option("--results", type=click.Path(path_type=Path), help="Default: FENCEPOST_RESULTS or ./results.")
@click.option("--quiet", is_flag=True, help="Only the last line.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of text.")
def command(
    run: str,
    times: int,
    mode: str | None,
    backend: str | None,
    results: Path | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Carry RUN (a folder, a bundle, a scenario, or latest) out again: the same steps at the measured times.

    Exit codes: 0 it never failed, 3 a run that says nothing, 4 it failed, 130 Ctrl-C, 143 SIGTERM.
    """
    from harness.exploring.replay import replay
    from harness.order import default_results

    return replay(
        run,
        mode=mode,
        times=times,
        results=results or default_results(),
        quiet=quiet,
        as_json=as_json,
        backend=backend,
    )
