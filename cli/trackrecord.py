"""``fencepost trackrecord``: known bugs of BookKeeper, found where they are and not where they are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cli.options import PARALLEL, RESULTS
from harness.verbs import typed


@click.command("trackrecord")
@click.argument("names", nargs=-1)
@click.option(
    "--list",
    "only_list",
    is_flag=True,
    help="List the bugs with the command that repeats each, and run nothing.",
)
@click.option(
    "--times", type=click.IntRange(1), default=1, show_default=True, help="Number of runs on each release."
)
@PARALLEL
@RESULTS
@click.option("--document", type=click.Path(path_type=Path), help="Markdown file to put the table into.")
@click.option("--quiet", is_flag=True, help="Print only the table and the last line.")
def command(names: tuple[str, ...], only_list: bool, **options: Any) -> int:
    """Run each bug (all, or NAMES) on an affected release and on a release without it.

    Exit codes: 0 each found and not found as recorded, 3 an inconclusive run, 4 otherwise.
    """
    from harness.campaigns.trackrecord import bugs, run_track_record

    chosen = bugs(names)
    if only_list:
        for bug in chosen:
            click.echo(f"{bug.name}: {bug.bug} ({bug.upstream})")
            click.echo(typed(f"  found: {bug.command(bug.bad)}"))
            click.echo(typed(f"  not:   {bug.command(bug.good)}"))
        return 0
    return run_track_record(chosen, **options)
