"""``fencepost clean``: remove what runs left on disk."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import click

from cli.options import RESULTS


@click.command("clean")
@RESULTS
@click.option("--tables", is_flag=True, help="Remove tables too; `fencepost check` makes them again.")
@click.option("--runs", is_flag=True, help="Remove whole runs, evidence and verdicts included.")
@click.option("--dry-run", is_flag=True, help="List what would be removed, and remove nothing.")
def command(results: Path, tables: bool, runs: bool, dry_run: bool) -> int:
    """Remove servers' directories that stored runs left; never raw evidence, unless --runs.

    Also the containers and networks of runs whose harness and keeper were killed, and what a killed process
    unpacked from a bundle. A run that is being recorded or judged is left alone, and ZooKeeper's log while it
    is the only record of the metadata.
    """
    from evidence.folder import remove_run
    from harness.cleaning import abandoned_containers, leftovers, remove_containers, unmount_below

    for run, names in abandoned_containers().items():
        click.echo(f"{'would remove' if dry_run else 'remove'} {', '.join(names)} of {run} from Docker")
        if not dry_run:
            remove_containers(run)
    remove = partial(remove_run, results) if runs else shutil.rmtree
    total = 0
    for path, size_bytes in leftovers(results, tables=tables, runs=runs):
        total += size_bytes
        click.echo(f"{'would remove' if dry_run else 'remove'} {path} ({size_bytes / 1e6:.1f} MB)")
        if not dry_run:
            unmount_below(path)
            remove(path)
    click.echo(f"{total / 1e6:.1f} MB {'to free' if dry_run else 'freed'}")
    return 0
