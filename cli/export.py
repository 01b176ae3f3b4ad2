"""``fencepost export``: a stored run in the notations of other tools."""

from __future__ import annotations

from pathlib import Path

import click

from cli.options import FILE, RESULTS, one_mode


@click.command("export")
@click.argument("run", default="latest")
@click.option(
    "--edn", "form", flag_value="edn", help="Write the run's log as history.edn, for Jepsen and Elle."
)
@click.option("--json", "form", flag_value="json", help="Write the same history as JSON, one map per line.")
@click.option(
    "--trace", "form", flag_value="trace", help="Write the whole run as Chrome trace events, for Perfetto."
)
@one_mode("Mode to export, if the run has several.")
@click.option("--out", type=FILE, help="File to write; default: standard output.")
@RESULTS
def command(run: str, form: str | None, mode: str | None, out: Path | None, results: Path) -> int:
    """Write RUN (a folder, one mode of it, a scenario, a bundle; default: latest) for another tool."""
    if form is None:
        raise click.UsageError("say what to write: --edn, --json or --trace")
    from harness.bundles.reading import opened
    from reports.exporting import history, trace

    with opened(results, run, tables=True) as found:
        folder = found.one(mode)
        lines = trace(folder) if form == "trace" else history(folder, as_json=form == "json")
        with click.open_file(str(out or "-"), "w", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in lines)
    if out is not None:
        click.echo(f"written: {out}", err=True)
    return 0
