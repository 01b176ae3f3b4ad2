"""``scripts/bench``: measures, prints one table, judges nothing.

Absolute times of a shared machine say little, so every figure that matters is a ratio of two
things measured in turns in the same run: A B A B ...
"""

from __future__ import annotations

import click

from harness.bench.clients import client_bench
from harness.bench.scenarios import command as scenarios
from harness.bench.wall import wall_bench
from harness.bench.wire import PROTOCOLS, wire_bench


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def bench() -> None:
    """Measure Fencepost on this machine; figures are medians and ratios of one run."""


@bench.command()
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@click.option(
    "--entries", type=click.IntRange(1), default=200_000, show_default=True, help="Adds in one turn."
)
def client(rounds: int, entries: int) -> None:
    """The recording client against the same without recording, and against BookKeeper's own benchmark."""
    for line in client_bench(rounds, entries):
        click.echo(line)


@bench.command()
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@click.option(
    "--entries", type=click.IntRange(1), default=100_000, show_default=True, help="Adds in one turn."
)
@click.option(
    "--protocol", "protocols", type=click.Choice(list(PROTOCOLS)), multiple=True, default=list(PROTOCOLS)
)
def wire(rounds: int, entries: int, protocols: tuple[str, ...]) -> None:
    """One client through the links of a run, with their wire log, against the same without links."""
    for line in wire_bench(rounds, entries, protocols):
        click.echo(line)


@bench.command()
@click.option("--times", type=click.IntRange(1), default=3, show_default=True)
def run(times: int) -> None:
    """Wall time of `fencepost run bp46/truncation`: all three modes, and one."""
    for line in wall_bench(times):
        click.echo(line)


bench.add_command(scenarios)


if __name__ == "__main__":
    bench(prog_name="scripts/bench")
