"""``scripts/bench``: measures, prints one table, judges nothing.

Absolute times of a shared machine say little, so every figure that matters is a ratio of two
things measured in turns in the same run: A B A B ...
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click

from bench.calm import command as calm
from bench.clients import client_bench
from bench.judging import SHAPES, judge_bench
from bench.logs.log import log_bench
from bench.series.scenarios import command as scenarios
from bench.turns import spread
from bench.wire import PROTOCOLS, wire_bench
from bench.writes import writes_bench
from cli.main import raise_interrupts
from cli.options import Decorated
from protocol.errors import FencepostError, Interrupted

_SCENARIO = "bp46/truncation"
_HANDED_ON = {"ignore_unknown_options": True, "help_option_names": []}


def _number(
    name: str, default: int | list[int], about: str | None = None, *, least: int = 1
) -> Callable[[Decorated], Decorated]:
    """An option that takes a number; with a list of defaults it is repeatable."""
    return click.option(
        name,
        type=click.IntRange(least),
        default=default,
        multiple=isinstance(default, list),
        show_default=True,
        help=about,
    )


def _scratch(about: str) -> Callable[[Decorated], Decorated]:
    folder = click.Path(path_type=Path, exists=True, file_okay=False)
    return click.option("--scratch", type=folder, default=Path(tempfile.gettempdir()), help=about)


_transactions = _number("--transactions", [100_000, 1_000_000], "For the log checker.")


class _Bench(click.Group):
    """Errors of Fencepost are messages with their own exit codes."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except FencepostError as error:
            click.echo(f"Error: {error}{error.remedy and '; next: ' + error.remedy}", err=True)
            ctx.exit(error.exit_code)
        except Interrupted as error:
            click.echo(f"scripts/bench: {error}", err=True)
            ctx.exit(error.exit_code)


@click.group(cls=_Bench, context_settings={"help_option_names": ["-h", "--help"]})
def bench() -> None:
    """Measure Fencepost on this machine; figures are medians and ratios of one run."""


@bench.result_callback()
def _print(lines: Iterable[str]) -> None:
    """Print what a command measures, each line as it comes."""
    for line in lines:
        click.echo(line)


@bench.command()
@_number("--rounds", 5)
@_number("--entries", 200_000, "Adds in one turn.")
def client(rounds: int, entries: int) -> Iterator[str]:
    """The recording client against the same without recording, and against BookKeeper's own benchmark."""
    return client_bench(rounds, entries)


@bench.command()
@_number("--rounds", 5)
@_number("--entries", 100_000, "Adds in one turn.")
@click.option(
    "--protocol", "protocols", type=click.Choice(list(PROTOCOLS)), multiple=True, default=list(PROTOCOLS)
)
def wire(rounds: int, entries: int, protocols: tuple[str, ...]) -> Iterator[str]:
    """One client through the links of a run, with their wire log, against the same without links."""
    return wire_bench(rounds, entries, protocols)


@bench.command()
@_number("--rounds", 3)
@_number("--entries", 50_000, "Adds of 1 KiB in one turn.")
@_number("--outstanding", 1000, "Adds in flight at a time.")
@_scratch("A folder on a disk; what goes to a file system in memory is not counted.")
def writes(rounds: int, entries: int, outstanding: int, scratch: Path) -> Iterator[str]:
    """Bytes that bookies write for each acknowledged byte, with the journal and without it."""
    return writes_bench(rounds, entries, outstanding, scratch)


@bench.command()
@_number("--times", 3)
def run(times: int) -> Iterator[str]:
    """Wall time of `fencepost run bp46/truncation`: all three modes, and one."""
    for label, options in (("three modes", ()), ("one mode", ("--mode", "unprotected"))):
        took = [_timed_s(*options) for _ in range(times)]
        yield f"fencepost run {_SCENARIO}, {label}: median {spread(took, '.1f').replace(' (', ' s (')}"


def _timed_s(*options: str) -> float:
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as results:
        words = ["run", _SCENARIO, *options]
        argv = [sys.executable, "-c", "from cli.main import main; main()", *words]
        began = time.monotonic()
        done = subprocess.run([*argv, "--quiet", "--results", results], stdout=subprocess.DEVNULL)
        took_s = time.monotonic() - began
    if done.returncode:
        raise FencepostError(
            f"fencepost {' '.join(words)} ended with exit code {done.returncode}: its time says nothing",
            remedy="run it alone to see why",
        )
    return took_s


@bench.command()
@_transactions
def log(transactions: tuple[int, ...]) -> Iterator[str]:
    """The log checker: reading and judging histories of given sizes, and its peak memory."""
    return log_bench(transactions)


@bench.command()
@_number(
    "--operations",
    [1_000_000, 10_000_000],
    "100000000 needs 30 GB of disk and half an hour.",
    least=10_000,
)
@click.option("--shape", "shapes", type=click.Choice(list(SHAPES)), multiple=True, default=list(SHAPES))
@click.option("--census", is_flag=True, help="Two passes of three bookies: six rows more for each entry.")
@click.option("--frames", is_flag=True, help="A wire log of everything that was asked.")
@_number("--rounds", 3)
@click.option("--no-duckdb", is_flag=True, help="Leave DuckDB out (otherwise installed into .build/bench).")
@_scratch("Where the runs are made; each is removed when it was measured.")
@_transactions
@click.option("--no-log", is_flag=True, help="Leave the log checker out.")
def judge(
    operations: tuple[int, ...],
    shapes: tuple[str, ...],
    rounds: int,
    scratch: Path,
    transactions: tuple[int, ...],
    *,
    census: bool,
    frames: bool,
    no_duckdb: bool,
    no_log: bool,
) -> Iterator[str]:
    """Raw evidence to verdict at size, against a plain decode, no Spark, and DuckDB; and the log checker."""
    extras = [name for name, wanted in (("census", census), ("frames", frames)) if wanted]
    duckdb = not no_duckdb
    yield from judge_bench(operations, shapes, extras, rounds=rounds, duckdb=duckdb, scratch=scratch)
    yield from () if no_log else log_bench(transactions)


def _trial(verb: str, words: tuple[str, ...]) -> int:
    """The checkers' trial is a separate program beside their tests, for no room may import from ``tests``."""
    argv = [sys.executable, "-m", "tests.histories.trial", verb, *words]
    return subprocess.run(argv, cwd=Path(__file__).resolve().parent.parent, check=False).returncode


@bench.command(context_settings=_HANDED_ON)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def mutation(words: tuple[str, ...]) -> None:
    """Doctor lawful histories: how many illegal mutants the checkers catch (exit code 1 below 100 %)."""
    raise SystemExit(_trial("mutation", words))


@bench.command(context_settings=_HANDED_ON)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def valid(words: tuple[str, ...]) -> None:
    """Judge 10,000 generated and simulated valid histories: none may have an anomaly (else exit code 1)."""
    raise SystemExit(_trial("valid", words))


for command in (scenarios, calm):
    bench.add_command(command)


if __name__ == "__main__":
    raise_interrupts()
    bench(prog_name="scripts/bench")
