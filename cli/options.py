"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path

import click

RESULTS = click.option(
    "--results",
    type=click.Path(path_type=Path),
    help="Folder of stored runs; default: FENCEPOST_RESULTS or ./results.",
)
QUIET = click.option("--quiet", is_flag=True, help="Print only the last line.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")
BOOKIE_CONF = click.option(
    "--bookie-conf",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Your bookies' settings (bk_server.conf).",
)


def _parallel(_context: click.Context, _parameter: click.Parameter, text: str) -> int:
    """A number of runs; ``auto`` is as many as the machine can run."""
    if text == "auto":
        from harness.experiments.running import affordable

        return affordable()
    if not text.isdecimal() or int(text) < 1:
        raise click.BadParameter(f"{text!r} is neither a number of runs nor auto")
    return int(text)


PARALLEL = click.option(
    "--parallel",
    default="1",
    show_default=True,
    metavar="N|auto",
    callback=_parallel,
    help="Number of runs at a time; auto: one for each core and 2 GiB of free memory.",
)
