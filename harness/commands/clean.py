"""``fencepost clean``: remove what runs left on disk."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from harness.order import default_results


@click.command("clean")
@click.option("--results", type=click.Path(path_type=Path), default=None)
@click.option("--tables", is_flag=True, help="Remove tables too; `fencepost check` makes them again.")
@click.option("--runs", is_flag=True, help="Remove whole runs, evidence and verdicts included.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def command(results: Path | None, tables: bool, runs: bool, dry_run: bool) -> int:
    """Remove servers' directories that stored runs left; never raw evidence, unless --runs.

    A run whose servers are still alive is left alone.
    """
    from harness.cleaning import leftovers

    total = 0
    for path, size_bytes in leftovers(results or default_results(), tables=tables, runs=runs):
        total += size_bytes
        click.echo(f"{'would remove' if dry_run else 'remove'} {path} ({size_bytes / 1e6:.1f} MB)")
        if not dry_run:
            shutil.rmtree(path)
    click.echo(f"{total / 1e6:.1f} MB {'to free' if dry_run else 'freed'}")
    return 0
