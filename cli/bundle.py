"""``fencepost bundle``: a stored run as one archive, to be attached to an issue."""

from __future__ import annotations

from pathlib import Path

import click

from cli.options import FILE, RESULTS


@click.command("bundle")
@click.argument("run", default="latest")
@click.option("-o", "--output", type=FILE, help="File to write; default: <scenario>-<run>.zip.")
@click.option("--full", is_flag=True, help="Add the bookies' directories, without a size limit.")
@click.option(
    "--limit-mb",
    type=click.IntRange(1),
    default=25,
    show_default=True,
    help="Size limit of the archive; larger parts are left out.",
)
@RESULTS
def command(run: str, output: Path | None, full: bool, limit_mb: int, results: Path) -> int:
    """Put RUN (folder, one mode of it, scenario; default: latest) into one .zip without host, user, paths."""
    from evidence.folder import find_run
    from harness.bundles.writing import write_bundle

    if output is not None and output.suffix != ".zip":
        raise click.UsageError(f"-o {output}: the name of a bundle ends in .zip")
    found = find_run(results, run)
    scenario = str(found.modes[0].run()["scenario"]).replace("/", "-")
    target = output or Path(f"{scenario}-{found.path.name}.zip")
    bundle = write_bundle(found, target, full=full, limit_bytes=limit_mb * 1_000_000)
    for what, size in bundle.left_out.items():
        click.echo(f"left out, {size / 1e6:.1f} MB packed: {what} (--limit-mb or --full keeps it)", err=True)
    click.echo(f"{target}: {bundle.size_bytes / 1e6:.1f} MB, {bundle.files} files of the run")
    return 0
