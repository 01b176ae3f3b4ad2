"""``fencepost check``: judge a stored run again, from its folder alone; or another tool's history."""

from __future__ import annotations

from pathlib import Path

import click

from cli.options import AS_JSON, MASTER, PRESENT_FILE, QUIET, RESULTS


@click.command("check")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@RESULTS
@click.option(
    "--history", type=PRESENT_FILE, help="History of Jepsen or Elle (EDN or JSON) to judge instead of a run."
)
@click.option(
    "--model",
    metavar="NAME",
    help="Model for --history: set, linearizable-set, log, or a consistency model; default: "
    "strict-serializable.",
)
@MASTER
@QUIET
@AS_JSON
def command(
    runs: tuple[str, ...],
    results: Path,
    history: Path | None,
    model: str | None,
    master: str | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Collect and judge RUN again (a folder, one mode of it, a scenario, a bundle; default: latest)."""
    if history is not None:
        if others := [*runs, *(["--master"] if master else [])]:
            raise click.UsageError(f"--history judges that file alone; leave out {', '.join(others)}")
        from cli.histories import check_history

        return check_history(history, model=model, quiet=quiet, as_json=as_json)
    if model is not None:
        raise click.UsageError("--model goes with --history; a run's plan says what it is judged by")
    from harness.experiments.series import check_series

    return check_series(runs or ("latest",), results, master=master, quiet=quiet, as_json=as_json)
