"""``fencepost explain``: the life of one ledger or entry, from its run's tables."""

from __future__ import annotations

import re
from pathlib import Path

import click

from cli.options import RESULTS, one_mode


@click.command("explain")
@click.argument("run")
@click.argument("subject", metavar="LEDGER[:ENTRY]")
@one_mode("Mode to show; default: every mode of RUN.")
@RESULTS
def command(run: str, subject: str, mode: str | None, results: Path) -> int:
    """Show everything that happened to LEDGER (its name in the plan, or its number) or to one ENTRY of it.

    RUN is a folder, one mode of it, a scenario, or a bundle.
    """
    from harness.bundles.reading import opened
    from reports.explain.story import explain

    matched = re.fullmatch(r"([a-z0-9._-]+)(?::(\d+))?", subject)
    numbers = [part for part in subject.split(":") if part.isdecimal()]
    if not matched or any(int(number) >= 2**63 for number in numbers):
        raise click.UsageError(f"{subject!r} is not LEDGER or LEDGER:ENTRY, for example main:49")
    entry = int(matched.group(2)) if matched.group(2) else None
    with opened(results, run, tables=True) as found:
        for line in explain(found.chosen(mode), matched.group(1), entry):
            click.echo(line)
    return 0
