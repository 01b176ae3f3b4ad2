"""``fencepost report``: a stored run as a page, or all of them together."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from cli.options import FILE, RESULTS
from harness.verbs import typed
from protocol.errors import EvidenceError, UsageError


@click.command("report")
@click.argument("run", required=False)
@RESULTS
@click.option("--open", "opens", is_flag=True, help="Open the page in this machine's browser.")
@click.option("--issue", is_flag=True, help="Print RUN (default: latest) as Markdown for an upstream issue.")
@click.option("--trends", is_flag=True, help="Summarise all stored runs by release, scenario and mode.")
@click.option("--csv", type=FILE, help="With --trends: CSV file to write, one row per mode of each run.")
@click.option(
    "--json", "as_json", is_flag=True, help="With --trends: print one JSON document instead of text."
)
def command(
    run: str | None, results: Path, opens: bool, issue: bool, trends: bool, csv: Path | None, as_json: bool
) -> int:
    """Write report.html of RUN (a folder, a scenario, a bundle); without RUN index.html over all runs."""
    if trends:
        for given, what in ((run, str(run)), (opens, "--open"), (issue, "--issue")):
            if given:
                raise click.UsageError(f"--trends summarises all stored runs; leave out {what}")
        return _print_trends(results, as_json=as_json, csv=csv)
    if as_json or csv is not None:
        raise click.UsageError(
            "--json and --csv go with --trends; a run's own figures are in its verdict.json"
        )
    if issue:
        if opens:
            raise click.UsageError("--issue prints text and --open opens a page: give one of them")
        from harness.bundles.reading import opened
        from reports.issue import issue_markdown

        with opened(results, run or "latest", tables=True) as found:
            click.echo(issue_markdown(found, results), nl=False)
        return 0
    path = _write_report(results, run)
    click.echo(path)
    if opens:
        click.launch(str(path))
    return 0


def _write_report(results: Path, run: str | None) -> Path:
    """Write the page of a run, or without one the index over all; return where.

    Raises ``UsageError`` when there is no such run, or there are no results at all.
    """
    from harness.bundles.reading import is_bundle, opened
    from reports.index import write_index
    from reports.page.writing import write_page

    if run is not None:
        with opened(results, run, tables=True) as found:
            beside = Path(run).with_suffix(".html") if is_bundle(run) else None
            return write_page(found, beside)
    if not results.is_dir():
        raise UsageError(
            f"there is no folder {results}", remedy="`fencepost run` makes it; --results names another folder"
        )
    return write_index(results)


def _print_trends(results: Path, *, as_json: bool, csv: Path | None) -> int:
    """Print what the runs below ``results`` say together; ``csv`` takes one row for each run and mode.

    Raises ``UsageError`` where there is no stored run, ``EvidenceError`` where ``csv`` cannot be written.
    """
    from evidence.folder import every_mode
    from harness.judging import session_in
    from pipeline.trends import LeftOut, Trend, read_trends
    from reports.trends import csv_text, json_text, trend_lines

    folders = [mode.path for mode in every_mode(results.resolve())]
    if not folders:
        raise UsageError(
            f"no stored run below {results}",
            remedy="`fencepost run` makes one; --results names another folder",
        )
    with session_in(results) as session:
        read = read_trends(session, folders)
    read = [replace(one, path=str(Path(one.path).relative_to(results.resolve()))) for one in read]
    trends = [one for one in read if isinstance(one, Trend)]
    left_out = [one for one in read if isinstance(one, LeftOut)]
    if csv is not None:
        _write(csv, csv_text(trends))
    if as_json:
        sys.stdout.write(json_text(trends, left_out))
    else:
        for line in trend_lines(trends, left_out):
            print(typed(line))
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EvidenceError(f"cannot write {path}: {error.strerror}") from error
