"""``fencepost campaign``: many runs by one file, kept as they come: nightly, a gate for CI, or one's own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click

from cli.completion import of_campaigns
from cli.options import FILE, PARALLEL, PRESENT_FOLDER, QUIET, RESULTS, START_UNTIL, chosen_version, release


def _part(_context: click.Context, _parameter: click.Parameter, text: str) -> tuple[int, int]:
    number, _, of = text.partition("/")
    if not (number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise click.BadParameter(
            f"{text!r} is not a part such as 2/8: the number of the part, and of how many"
        )
    return int(number), int(of)


@click.command("campaign")
@click.argument("name", required=False, shell_complete=of_campaigns)
@click.option(
    "--list", "only_list", is_flag=True, help="List the runs of NAME, or all campaigns, and run nothing."
)
@release("BookKeeper release instead of those in the file.")
@click.option("--jars", type=PRESENT_FOLDER, help="Folder of jars: run your own build of BookKeeper instead.")
@START_UNTIL
@click.option(
    "--shard",
    "part",
    default="1/1",
    callback=_part,
    metavar="N/M",
    help="Run only this part of the runs, for example 2/8.",
)
@click.option(
    "--new", is_flag=True, help="Start from the beginning instead of continuing an unfinished campaign."
)
@click.option(
    "--unknown",
    type=click.Choice(["fail", "warn"]),
    default="fail",
    show_default=True,
    help="Result of the campaign when a run is inconclusive twice.",
)
@PARALLEL
@click.option("--junit", type=FILE, help="JUnit XML file to write.")
@click.option("--markdown", type=FILE, help="Markdown file to write the summary to.")
@click.option("--annotate", is_flag=True, help="Print the workflow commands that annotate a pull request.")
@RESULTS
@QUIET
def command(
    name: str | None,
    only_list: bool,
    version: str | None,
    jars: Path | None,
    part: tuple[int, int],
    unknown: str,
    **options: Any,
) -> int:
    """Run the campaign NAME (a YAML file, or one that --list prints), or continue an unfinished one.

    Each run is stored when it ends, so a campaign can be killed and started again at any time. Exit codes:
    0 as expected, 1 a run that ended early or hung, 3 an inconclusive run, 4 an anomaly.
    """
    from harness.campaigns.campaign import Options, run_campaign
    from harness.campaigns.listing import shard, units_of
    from plans.campaign import campaigns, load_campaign

    if name is None:
        if not only_list:
            raise click.UsageError(
                f"which campaign? There are {', '.join(campaigns())}, or a YAML file's path."
            )
        for one in campaigns():
            click.echo(f"{one}: {load_campaign(one).about}")
        return 0
    version = chosen_version(version, jars)
    campaign = load_campaign(name)
    if only_list:
        with tempfile.TemporaryDirectory() as plans:
            for unit in shard(units_of(campaign, plans=Path(plans), version=version), *part):
                click.echo(str(unit))
        return 0
    asked = Options(version=version, part=part, unknown_warns=unknown == "warn", **options)
    return run_campaign(campaign, asked)
