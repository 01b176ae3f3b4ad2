"""``fencepost check``: judge a stored run again, from its folder alone."""

from __future__ import annotations

from pathlib import Path

import click

from harness.order import default_results


@click.command("check")
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--results", type=click.Path(path_type=Path), default=None)
@click.option("--quiet", is_flag=True, help="Only the last line.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of text.")
def command(runs: tuple[str, ...], results: Path | None, quiet: bool, as_json: bool) -> int:
    """Collect and judge RUN again (a run's folder, one mode of it, or a scenario; default: latest)."""
    from harness.series import check_series

    return check_series(runs or ("latest",), results or default_results(), quiet=quiet, as_json=as_json)
