"""``fencepost check``: judge a stored run again, from its folder alone; or another tool's history."""

from __future__ import annotations

from pathlib import Path

import click

from harness.order import default_results


@click.command("check")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--results", type=click.Path(path_type=Path), default=None)
@click.option(
    "--history",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=None,
    help="Judge this history of Jepsen or Elle (EDN or JSON) instead of a run.",
)
@click.option(
    "--model",
    default=None,
    help="For --history: set, linearizable-set, log, or a consistency model (default strict-serializable).",
)
@click.option(
    "--master", metavar="URL", help="Spark's master that judges, spark://HOST:PORT; default: this machine."
)
@click.option("--quiet", is_flag=True, help="Only the last line.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of text.")
def command(
    runs: tuple[str, ...],
    results: Path | None,
    history: Path | None,
    model: str | None,
    master: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Collect and judge RUN again (a folder, one mode of it, a scenario, a bundle; default: latest)."""
    if history is not None:
        if runs:
            raise click.UsageError(f"--history judges a file of its own; leave out {', '.join(runs)}")
        from harness.histories import check_history

        return check_history(history, model=model, quiet=quiet, as_json=as_json)
    if model is not None:
        raise click.UsageError("--model goes with --history; a run's plan says what it is judged by")
    from harness.series import check_series

    place = results or default_results()
    return check_series(runs or ("latest",), place, master=master, quiet=quiet, as_json=as_json)
