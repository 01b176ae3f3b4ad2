"""``fencepost report``: a stored run as a page, or all of them together."""

from __future__ import annotations

from pathlib import Path

import click

from harness.commands.options import RESULTS
from harness.order import default_results


@click.command("report")
@click.argument("run", required=False)
@RESULTS
@click.option("--open", "opens", is_flag=True, help="Open the page in this machine's browser.")
@click.option("--issue", is_flag=True, help="Print RUN (default: latest) as Markdown for an upstream issue.")
@click.option("--trends", is_flag=True, help="Summarise all stored runs by release, scenario and mode.")
@click.option(
    "--csv",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="With --trends: CSV file to write, one row per mode of each run.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="With --trends: print one JSON document instead of text."
)
def command(
    run: str | None,
    results: Path | None,
    opens: bool,
    issue: bool,
    trends: bool,
    csv: Path | None,
    as_json: bool,
) -> int:
    """Write report.html of RUN (a folder, a scenario, a bundle); without RUN index.html over all runs."""
    place = results or default_results()
    if trends:
        _refuse(run, opens=opens, issue=issue)
        from harness.trends import report_trends

        return report_trends(place, as_json=as_json, csv=csv)
    if as_json or csv is not None:
        raise click.UsageError(
            "--json and --csv go with --trends; a run's own figures are in its verdict.json"
        )
    from harness.reports.order import issue_text, report

    if issue:
        click.echo(issue_text(place, run or "latest"), nl=False)
        return 0
    path = report(place, run)
    click.echo(path)
    if opens:
        click.launch(str(path))
    return 0


def _refuse(run: str | None, *, opens: bool, issue: bool) -> None:
    """What has no meaning beside --trends: one run, and the pages made of runs."""
    for given, what in ((run, str(run)), (opens, "--open"), (issue, "--issue")):
        if given:
            raise click.UsageError(f"--trends summarises all stored runs; leave out {what}")
