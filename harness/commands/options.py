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
